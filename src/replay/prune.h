/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --log=mrt, and --ranks: images where the rules of MRT want checkpoints (graph/logging.h), and
 * then a log that has only what these rules name, for the images that were really taken. What else
 * is not certain to be sent again stays in the log, too, and so does what comes from ranks that
 * have no images (f->group).
 */
#ifndef REPLAY_PRUNE_H
#define REPLAY_PRUNE_H

#include "replay/front.h"

struct replay_prune;

/*
 * The run is evaluated first, if it was not. *prune is NULL, after saying why, if all must be
 * logged. 0, or the exit code after saying why not.
 */
int replay_prune_open(const struct replay_front *f, struct replay_prune **prune)
	__attribute__((warn_unused_result));
void replay_prune_close(struct replay_prune *prune);

/* Before images are taken, in the session: S/ckpt/rank-NNNN/at. 0 or -errno. */
int replay_prune_place(const struct replay_prune *prune, const struct replay_front *f)
	__attribute__((warn_unused_result));

/*
 * When they are in the trace: of the logs that the session has served, S/log becomes what is to be
 * published. 0, or the exit code after saying why not.
 */
int replay_prune_log(struct replay_prune *prune, const struct replay_front *f)
	__attribute__((warn_unused_result));

#endif
