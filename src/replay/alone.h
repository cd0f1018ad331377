/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks alone: each goes on from an image of its own and is served from its log. There is no
 * launcher, and nothing between the ranks: so one, some or all of them can be replayed.
 */
#ifndef REPLAY_ALONE_H
#define REPLAY_ALONE_H

#include "replay/front.h"

/* Does that rank take part? */
bool replay_alone_is_in(const struct replay_front *f, size_t rank);

/*
 * In an open session: its log for each rank that has an image; the others count as if they had come
 * to their ends. 0, or the exit code after saying why not.
 */
int replay_alone_prepare(struct replay_front *f) __attribute__((warn_unused_result));

/*
 * In a process of its own, with a struct replay_front: becomes the rank if it is only one, else
 * starts them all, and returns an exit code when they have ended. As a launcher does, it ends the
 * others when one has died and the front has let them go.
 */
int replay_alone_run(void *front);

#endif
