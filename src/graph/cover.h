/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The race graph of the messages that one process received, and its smallest vertex cover: of two
 * messages that race one at least must be traced (Netzer and Miller, theorem 3). Vertices are
 * messages, edges are races.
 *
 * Race graphs may be huge: in a flood every message races with every message of the other senders.
 * So edges come as spans: one message races with all those from `first` to `last`. A receive and
 * the messages of one sender give such spans if the messages are numbered in the order of sends.
 * Messages of one part (one sender) never race with each other: they do not overtake.
 */
#ifndef GRAPH_COVER_H
#define GRAPH_COVER_H

#include <stddef.h>
#include <stdint.h>

struct graph_cover_span {
	uint32_t vertex;
	uint32_t first, last;
};

struct graph_cover {
	uint8_t *chosen;   /* by vertex: 1 if it is in the cover */
	uint64_t racing;   /* vertices that have an edge */
	uint64_t races;    /* edges */
	uint64_t size;     /* vertices in the cover */
	uint64_t bound;    /* no cover is smaller; equal to size: it is proved minimal */
	uint64_t matching; /* edges of a matching: the bound of the paper */
	/* components of the graph, by how they were solved */
	uint32_t transitive; /* complete but for the parts: all of them but the largest part */
	uint32_t bipartite;
	uint32_t searched;
	uint32_t guessed; /* the cover is good, but not proved minimal */
};

/*
 * `spans` are sorted and those that overlap are merged, in place. No edge may be given from both of
 * its ends. Whatever is found is a cover.
 */
void graph_cover_find(struct graph_cover *cover, uint32_t vertices, const uint32_t part[],
		      struct graph_cover_span span[], size_t spans);
void graph_cover_free(struct graph_cover *cover);

/* Adds up what was found for several processes; `chosen` is left alone. */
void graph_cover_add(struct graph_cover *sum, const struct graph_cover *one);

#endif
