/* SPDX-License-Identifier: Apache-2.0 */
/* The race graph as spans, and what can be computed without writing its edges out. */
#ifndef GRAPH_COVER_GUESS_H
#define GRAPH_COVER_GUESS_H

#include "graph/cover.h"

struct graph_races {
	uint32_t vertices;
	const struct graph_cover_span *span; /* sorted by vertex and place */
	size_t spans;
	size_t *start;  /* by vertex: its first span */
	uint32_t *link; /* scratch: link[v] == v between uses */
	uint32_t *tree; /* scratch: sums over chosen vertices; all 0 between uses */
};

void graph_races_init(struct graph_races *races, uint32_t vertices,
		      const struct graph_cover_span *span, size_t spans);
void graph_races_free(struct graph_races *races);

static inline void graph_races_of(const struct graph_races *races, uint32_t v,
				  const struct graph_cover_span **first,
				  const struct graph_cover_span **end)
{
	/* Without a span there is no array either. */
	*first = races->spans ? races->span + races->start[v] : NULL;
	*end = races->spans ? races->span + races->start[v + 1] : NULL;
}

/* The first vertex from v on that is not linked further; halves the way for those who follow. */
static inline uint32_t graph_races_skip(uint32_t *link, uint32_t v)
{
	while (link[v] != v) {
		link[v] = link[link[v]];
		v = link[v];
	}
	return v;
}

/* The size of a matching to which no edge can be added: at least half of the largest. */
uint64_t graph_guess_matching(struct graph_races *races, const uint32_t vertex[], uint32_t count);

/* A good cover of the component: all but an independent set that cannot be extended. */
void graph_guess_cover(struct graph_races *races, const uint32_t vertex[], uint32_t count,
		       const uint32_t part[], uint8_t chosen[]);

#endif
