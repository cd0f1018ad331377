/* SPDX-License-Identifier: Apache-2.0 */
/* Where a replay begins that does not begin at the start: the image before a position. */
#ifndef REPLAY_FROM_H
#define REPLAY_FROM_H

#include "replay/front.h"

/*
 * Sets f->image to the last good image before that position: "R@E", "end" or "crash"; it stays NULL
 * if there is none, which is said. Checkpoints are made first if the trace has none. 0, or the exit
 * code after saying what is wrong.
 */
int replay_from_choose(struct replay_front *f, const char *position)
	__attribute__((warn_unused_result));

#endif
