/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last collective operations that a process entered on a communicator. The n-th is to be the
 * same one in all of its processes; where it is not, they wait for each other in different ones.
 */
#ifndef GRAPH_STUCK_ORDER_H
#define GRAPH_STUCK_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#define GRAPH_ORDER 16 /* of them are kept */

struct graph_entry {
	uint64_t nth; /* 0: none */
	uint32_t thread, site;
	uint16_t call;
};

struct graph_order {
	struct graph_entry entry[GRAPH_ORDER];
};

void graph_order_add(struct graph_order *o, const struct graph_entry *entry);

/* The first ones up to the n-th that are not the same; false if all that are kept are. */
bool graph_order_differ(const struct graph_order *a, const struct graph_order *b, uint64_t nth,
			struct graph_entry *of_a, struct graph_entry *of_b);

#endif
