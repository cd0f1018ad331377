/* SPDX-License-Identifier: Apache-2.0 */
/* Covers of a component whose edges are written out. */
#ifndef GRAPH_COVER_EXACT_H
#define GRAPH_COVER_EXACT_H

#include <stdbool.h>
#include <stdint.h>

/* Neighbours of v are near[start[v]] to near[start[v + 1] - 1]; every edge is there twice. */
struct graph_adjacency {
	uint32_t count;
	uint64_t *start;
	uint32_t *near;
};

/* A bipartite graph: true, and the smallest cover and a largest matching, which are as large. */
bool graph_cover_bipartite(const struct graph_adjacency *g, uint8_t chosen[], uint64_t *size);

/*
 * Any graph: what linear programming settles, and a search for the rest. True if the search came
 * to its end, and the cover is the smallest; otherwise chosen[] is not set. *bound is a lower bound
 * in either case, not below the size of the largest matching.
 */
bool graph_cover_search(const struct graph_adjacency *g, uint8_t chosen[], uint64_t *bound);

#endif
