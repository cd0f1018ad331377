/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the user's gdb on a target of ours, in his terminal, directory and environment. */
#ifndef REMOTE_GDB_H
#define REMOTE_GDB_H

#include <stdbool.h>

struct remote_gdb {
	const char *trace;
	unsigned rank;
	const char *program; /* the file, for its symbols */
	bool force;
	const char *at;   /* for "monitor goto"; NULL: where the history begins */
	bool at_crash;    /* `at` is just before the signal */
	bool at_main;     /* the history begins with main, which is gone to */
	char **arguments; /* the user's, or NULL */
};

/* gdb's exit code, or 120 if the program did not do what it did. */
int remote_gdb_run(const struct remote_gdb *how);

#endif
