/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the user's gdb on a target of ours, in his terminal, directory and environment. */
#ifndef REMOTE_GDB_H
#define REMOTE_GDB_H

#include <stdbool.h>

#include "trace/run.h"

struct remote_gdb {
	const char *trace;
	unsigned rank;
	const char *program; /* the file, for its symbols */
	bool force;
	double patience;  /* seconds; 0: the usual ones */
	bool threads;     /* the rank has several */
	const char *at;   /* for "monitor goto"; NULL: main, where the history begins */
	bool at_crash;    /* `at` is just before the signal */
	bool behind_init; /* the history begins where MPI_Init returned, not before main */
	char **arguments; /* the user's, or NULL */
};

/*
 * Why can the rank not be gone through in both directions? With MPI it has to run alone, which
 * replay_from_alone() makes possible, and threads of MPI's own cannot be told from the program's.
 * NULL: it can.
 */
const char *remote_unsuited(const struct trace_run *trace);

/*
 * For others who start gdb: what it is told first, and what of ranks with several threads; and how
 * it takes the target, "target remote …", whose exit code and whose program's output go to these
 * descriptors, or -1. The caller frees.
 */
extern const char remote_gdb_first[], remote_gdb_threads[];
char *remote_gdb_target(const struct remote_gdb *how, int tell, int print);

/* gdb's exit code, or 120 if the program did not do what it did. */
int remote_gdb_run(const struct remote_gdb *how);

#endif
