/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vector clocks. Entry q of the clock of an event e of process p says how many of the first events
 * of q happened before e (for q = p: its own index). What a sender knew at its send is kept as a
 * shared copy: sends with no receive between them differ in the sender's own entry alone, which
 * therefore is not taken from the copy but stands beside it.
 */
#ifndef GRAPH_CLOCK_H
#define GRAPH_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct graph_clock {
	uint32_t users;
	uint32_t entry[];
};

/* A process's own clock, and the copy of it that its sends share until it learns something. */
struct graph_clock_now {
	uint32_t *entry;
	struct graph_clock *copy;
};

void graph_clock_init(struct graph_clock_now *now, unsigned ranks);
void graph_clock_free(struct graph_clock_now *now);

/* The clock as it is; give it back with graph_clock_drop(). */
struct graph_clock *graph_clock_share(struct graph_clock_now *now, unsigned ranks);
void graph_clock_drop(struct graph_clock *clock);

/* Learns all that `from` knew at its event `index`. */
void graph_clock_learn(struct graph_clock_now *now, unsigned ranks, const uint32_t entry[],
		       unsigned from, uint32_t index);

/* sum[] becomes the larger of both, entry by entry. */
void graph_clock_max(uint32_t sum[], const uint32_t entry[], unsigned ranks);

#endif
