/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a replay begins that does not begin at the start, and who takes part in it. A program
 * without MPI goes on from its last image before a position. Of a run of MPI each rank goes on from
 * its own last image before the causal cut of the position, alone (replay/alone.h): what it needs
 * of the others is in its log. So any cut would do; the causal one is what the user can make sense
 * of.
 */
#ifndef REPLAY_FROM_H
#define REPLAY_FROM_H

#include "replay/front.h"
#include "replay/halt.h"

struct replay_from {
	const char *position; /* "R@E", "R.T@E", "end" or "crash"; NULL: where MPI_Init returned */
	const char *only;     /* a rank; or NULL */
	const char *ranks;    /* "0-3,7"; or NULL: all */
	bool stop;            /* at the position */
	bool refused;         /* the program is not what the images are of, which was said */
	struct replay_halt halt;
};

/*
 * Chooses the images; where there is none that is of any use the replay begins at the start, which
 * is said, or is refused if it is not of all ranks. Checkpoints are made first if the trace has
 * none. 0, or the exit code after saying what is wrong.
 */
int replay_from_choose(struct replay_front *f, struct replay_from *from)
	__attribute__((warn_unused_result));

struct ckpt_image;

/*
 * Before which event of its own the thread of that name (and length of it) is in the image; behind
 * all of them if it has ended, 0 if it was not there yet.
 */
uint64_t replay_from_event(const struct ckpt_image *image, const struct trace_run_rank *rank,
			   enum replay_halt_unit unit, const char *name, size_t length);

/* The same of its main thread, of which calls are known as well. */
uint64_t replay_from_main(const struct ckpt_image *image, const struct trace_run *run,
			  const struct trace_run_rank *rank);

/*
 * from-log.c: can these ranks be served? *live is what they send each other again; the caller frees
 * it in any case. 0, or the exit code after saying why not.
 */
struct replay_live;
int replay_from_look_at_log(const struct replay_front *f, const bool chosen[],
			    struct replay_live *live) __attribute__((warn_unused_result));

/*
 * After replay_run: a log was damaged where it was needed, no earlier image would help, and all
 * ranks together can come there from the start. Says so, and makes `f` ready to be run once more.
 */
bool replay_from_otherwise(struct replay_front *f, const struct replay_from *from);

/*
 * The rank alone, from where MPI_Init returned; its log is made first if there is none. 0, or the
 * exit code after saying why it cannot be.
 */
int replay_from_alone(struct replay_front *f, size_t rank) __attribute__((warn_unused_result));

/* An image of a rank alone. */
struct replay_from_image {
	char *path;      /* the caller frees */
	uint64_t event;  /* of the main thread: it was taken before this one */
	uint64_t resume; /* where the restored process goes on in our own code */
	bool first;      /* where MPI_Init returned */
	double elapsed;  /* seconds that the run had taken by then */
};

/* The last one that was taken before that event, and that is of use. False: there is none. */
bool replay_from_last(const struct replay_front *f, size_t rank, uint64_t event,
		      struct replay_from_image *found);

/* from-files.c: may the rank read what the run has written? Then what it finds may not be what it
   found, if it goes on from an image. */
bool replay_from_rereads(const struct trace_run *run, size_t rank);

/* Is it a run of MPI? Others are whole processes by themselves. */
bool replay_from_is_mpi(const struct trace_run *run);

/* The image of where MPI_Init returned; NULL if it is not there, or damaged, which is said. */
char *replay_from_first(const struct replay_front *f, size_t rank);

#endif
