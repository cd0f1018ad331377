/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says where every thread of every rank is, one line each; threads in the same place share a line.
 * Threads are examined in the living processes of this host. Otherwise the last words of the ranks
 * are used.
 */
#ifndef REPLAY_WHERE_H
#define REPLAY_WHERE_H

#include "replay/front.h"

struct replay_kind_of_line;

struct replay_where {
	struct replay_kind_of_line *line;
	size_t lines;
	size_t looked_at; /* threads */
};

/*
 * Where the main thread is, " at file.c:12 (function)"; "" if that cannot be found out. The caller
 * frees.
 */
char *replay_where_main(const struct replay_front *f, size_t rank);

/* Lines of all threads of the rank but one; the caller frees. */
char *replay_where_threads(struct replay_where *w, const struct replay_front *f, size_t rank,
			   const char *but);
void replay_where_say_lines(const char *lines);

/* Adds a text about this thread of a rank, such as "in event 7: MPI_Recv at …". */
void replay_where_add(struct replay_where *w, const struct replay_front *f, size_t rank,
		      const char *thread, const char *text);

/* Prints all texts, each rank's line with those of its other threads, and forgets them. */
void replay_where_say(struct replay_where *w);

#endif
