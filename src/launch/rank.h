/* SPDX-License-Identifier: Apache-2.0 */
/* The last steps of a process on its way to become a rank of the recorded or replayed program. */
#ifndef LAUNCH_RANK_H
#define LAUNCH_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "launch/flavour.h"

struct launch_rank {
	const char *trace;   /* the trace directory */
	const char *session; /* replay: the session directory; NULL to record */
	unsigned rank;
	bool claimed;       /* record: rank-NNNN is already ours */
	bool discard;       /* record: the last rank that ends well removes the trace */
	bool explore;       /* along the prelude in the trace, with a session, but recording */
	const char *output; /* a directory for the standard output and error of the rank, or NULL */
	const char *restore; /* replay: the image from which it goes on, or NULL */
	const char *twin;    /* replay: runs in place of the program, or NULL */
	bool valgrind;       /* replay: the program runs in our Valgrind tool */
	bool force;          /* replay: a changed program is replayed all the same */
	bool system_heap;    /* record: the program's malloc stays libc's */
	uint64_t snapshot;   /* record: so many bytes of the files it reads are copied */
	bool noisy;
	uint64_t noise;
	unsigned tracing;    /* record: enum trace_mode */
	unsigned threads;    /* record: enum trace_threads */
	enum launch_mpi mpi; /* told by the user; else LAUNCH_MPI_UNKNOWN */
	char **argv;         /* of the program */
};

/* Becomes the program. Returns only if it cannot: the exit code, after saying why. */
int launch_rank_run(const struct launch_rank *how);

#endif
