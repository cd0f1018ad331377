/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks of all events, on disk (trace/clocks.h): cuts are found by looking at a few blocks,
 * however long the run was, where graph/cut.h walks over all of it. The answers are the same.
 *
 * Functions return 0, or -EBADMSG if the file is damaged.
 */
#ifndef GRAPH_CLOCKS_H
#define GRAPH_CLOCKS_H

#include "graph/cut.h"

#define GRAPH_CLOCKS_BLOCK 4096

/*
 * Walks over the events once and writes the file, `block` events in each block. 0; -EBADMSG after
 * saying what is wrong with the events; or another -errno.
 */
int graph_clocks_make(const struct graph_source *source, uint64_t block, int fd)
	__attribute__((warn_unused_result));

struct graph_clocks;

/* NULL if there is nothing of use in the file. It may be closed then. */
struct graph_clocks *graph_clocks_open(int fd);
void graph_clocks_close(struct graph_clocks *c);

unsigned graph_clocks_ranks(const struct graph_clocks *c);
uint32_t graph_clocks_threads(const struct graph_clocks *c, unsigned rank);
/* "0.2" for a number of a thread. */
const char *graph_clocks_thread(const struct graph_clocks *c, unsigned rank, uint32_t thread);

/* As graph_cut_place, graph_cut_position, graph_cut_grow, graph_cut_shrink. */
int graph_clocks_place(const struct graph_clocks *c, unsigned rank,
		       const struct graph_position *position, uint32_t *count)
	__attribute__((warn_unused_result));
int graph_clocks_position(const struct graph_clocks *c, unsigned rank, uint32_t count,
			  struct graph_position *position) __attribute__((warn_unused_result));
int graph_clocks_grow(const struct graph_clocks *c, struct graph_cut *cut)
	__attribute__((warn_unused_result));
int graph_clocks_shrink(const struct graph_clocks *c, struct graph_cut *cut)
	__attribute__((warn_unused_result));

/* As graph_cut_past, graph_cut_frontier. */
int graph_clocks_past(const struct graph_clocks *c, unsigned rank,
		      const struct graph_position *position, struct graph_cut *cut)
	__attribute__((warn_unused_result));
int graph_clocks_frontier(const struct graph_clocks *c, unsigned rank,
			  const struct graph_position *position, struct graph_cut *cut)
	__attribute__((warn_unused_result));

/* As graph_cut_is_consistent; the flaw may be another one. */
int graph_clocks_is_consistent(const struct graph_clocks *c, const struct graph_cut *cut,
			       bool *consistent, struct graph_cut_flaw *flaw)
	__attribute__((warn_unused_result));

/* By thread, the number of its last event among the first `count` of the process; 0: none. */
int graph_clocks_last(const struct graph_clocks *c, unsigned rank, uint32_t count, uint64_t last[])
	__attribute__((warn_unused_result));

#endif
