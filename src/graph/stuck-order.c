/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/stuck-order.h"

void graph_order_add(struct graph_order *o, const struct graph_entry *entry)
{
	o->entry[entry->nth % GRAPH_ORDER] = *entry;
}

bool graph_order_differ(const struct graph_order *a, const struct graph_order *b, uint64_t nth,
			struct graph_entry *of_a, struct graph_entry *of_b)
{
	uint64_t first = nth > GRAPH_ORDER ? nth - GRAPH_ORDER + 1 : 1;

	for (uint64_t n = first; n <= nth; n++) {
		*of_a = a->entry[n % GRAPH_ORDER];
		*of_b = b->entry[n % GRAPH_ORDER];
		if (of_a->nth == n && of_b->nth == n && of_a->call != of_b->call)
			return true;
	}
	return false;
}
