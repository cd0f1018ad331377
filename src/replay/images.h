/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images in the middle of a run of MPI: the second half of a checkpoint run. A rank that runs with
 * the others has state in MPI that is theirs, too, and an image of that could never be put back. So
 * the images are taken of ranks alone: each goes on from where MPI_Init returned and is served from
 * its log, and what is in such a process is all there is of it.
 */
#ifndef REPLAY_IMAGES_H
#define REPLAY_IMAGES_H

#include "replay/front.h"

/*
 * Takes images of those of the ranks (f->group) that can be replayed alone, every f->every seconds,
 * into TRACE/ckpt, behind those that are there. With f->prune they are where that
 * wants them, and the log is pruned then. Nothing to do without MPI. The exit code after saying
 * why.
 */
int replay_images_take(const struct replay_front *f) __attribute__((warn_unused_result));

/* In the trace, once they are all there. */
#define REPLAY_IMAGES_DONE "ckpt/middle"

/* What a rank has, or several have together. */
struct replay_images_sum {
	size_t images;
	uint64_t image_bytes, log_bytes;
};

/* Adds what that rank of the trace has; and what all of them have. */
void replay_images_measure(const struct trace_dir *dir, unsigned rank,
			   struct replay_images_sum *sum);
void replay_images_measure_all(const struct trace_dir *dir, struct replay_images_sum *sum);

/* Seconds from the begin of the process to its end where images were taken of it; 0: not known. */
double replay_images_length(const struct trace_dir *dir, unsigned rank);

/* S/checkpoint: what the ranks are asked for; 0 or -errno. */
int replay_images_ask(const struct replay_front *f) __attribute__((warn_unused_result));

/* A rank that could not take an image, once or always, has left word in the session. */
void replay_images_say_refused(const struct replay_front *f);

#endif
