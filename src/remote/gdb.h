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
	const char *at;   /* for "monitor goto"; NULL: main, where the history begins */
	bool at_crash;    /* `at` is just before the signal */
	char **arguments; /* the user's, or NULL */
};

/*
 * Can the run be gone through in both directions? Where a program of one thread is, its registers
 * and memory tell; among threads, or beside MPI's own, they do not tell enough.
 */
bool remote_suits(const struct trace_run *trace);

/* gdb's exit code, or 120 if the program did not do what it did. */
int remote_gdb_run(const struct remote_gdb *how);

#endif
