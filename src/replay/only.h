/* SPDX-License-Identifier: Apache-2.0 */
/* One rank alone: restored from its image where MPI_Init returned, and served from its log. */
#ifndef REPLAY_ONLY_H
#define REPLAY_ONLY_H

#include "replay/front.h"

/* The rank in words. Makes checkpoints if there are none; 0, or the exit code after saying why. */
int replay_only_choose(struct replay_front *f, const char *rank)
	__attribute__((warn_unused_result));

#endif
