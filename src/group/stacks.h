/* SPDX-License-Identifier: Apache-2.0 */
/* Where ranks are: frames of the program, without those of MPI, of libc and of ours. */
#ifndef GROUP_STACKS_H
#define GROUP_STACKS_H

#include "group/group.h"

/*
 * Symbols of all libraries that MPI consists of, and of ours, take gdb most of its time to come up.
 * This reads those of libc and of the program's own; the rest is read when a stack needs it. False
 * if Ctrl-C came before.
 */
bool group_read_symbols(struct group *g);

/* Those of ours, by rank: calls of MPI are functions there, and may have breakpoints. */
void group_read_ours(struct group *g, const bool *wanted);

/* Makes sure that frames of all ranks of the set are known, and that the program's is selected. */
void group_look(struct group *g, const struct group_set *set);

/* The thread that gdb speaks of. */
const char *group_thread(const struct group_gdb *gdb);

/* It stopped for a reason of its own (a breakpoint, a signal), and not as a step ends. */
bool group_stopped_early(const struct group_gdb *gdb);

/*
 * The frames of the program, the outermost first, "file.c:12 function()"; the last one says the
 * call into a library that it is in. Ended by NULL; rp_strings_free() frees.
 */
char **group_frames(const struct group_gdb *gdb);

/* The innermost of these, or what else is known; the caller frees. */
char *group_place(const struct group_gdb *gdb);

/* Why it stopped, and where; the caller frees. */
char *group_stop_text(const struct group *g, unsigned rank);

#endif
