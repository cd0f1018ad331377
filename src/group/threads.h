/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of a rank. One of them is looked at: who stopped, or who was chosen since. Of a rank
 * alone they have the names that the recording gave them.
 */
#ifndef GROUP_THREADS_H
#define GROUP_THREADS_H

#include "group/group.h"

struct group_thread {
	char *id;   /* gdb's number, which is another one if the thread comes again */
	char *name; /* "0.1"; the number where that is not known */
};

/* Has the recorded rank several, and do they take turns now? */
bool group_has_threads(const struct group *g, unsigned rank);

/* The program's own, of a rank that is stopped; the list has to be freed. */
size_t group_threads(struct group *g, unsigned rank, struct group_thread **out);
void group_threads_free(struct group_thread *list, size_t n);

/* That one is looked at, and makes the next steps; by gdb's number. False if gdb says no. */
bool group_threads_choose(struct group *g, unsigned rank, const char *id);

/* Of ranks that have gone elsewhere without a word of gdb: who has the turn is looked at. */
void group_threads_in_turn(struct group *g);

/* Finds the names of those that are looked at. */
void group_threads_name(struct group *g, const struct group_set *set);

#endif
