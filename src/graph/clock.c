/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariant: `copy`, if there is one, equals the process's clock but for its own entry. Learning
 * anything new lets go of it.
 */
#include "graph/clock.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void graph_clock_init(struct graph_clock_now *now, unsigned ranks)
{
	now->entry = rp_alloc(ranks, sizeof(*now->entry));
	now->copy = NULL;
}

void graph_clock_free(struct graph_clock_now *now)
{
	graph_clock_drop(now->copy);
	free(now->entry);
}

struct graph_clock *graph_clock_share(struct graph_clock_now *now, unsigned ranks)
{
	size_t bytes = ranks * sizeof(now->entry[0]);

	if (!now->copy) {
		now->copy = rp_realloc(NULL, 1, sizeof(*now->copy) + bytes);
		now->copy->users = 1;
		memcpy(now->copy->entry, now->entry, bytes);
	}
	now->copy->users++;
	return now->copy;
}

void graph_clock_drop(struct graph_clock *clock)
{
	if (clock && --clock->users == 0)
		free(clock);
}

void graph_clock_max(uint32_t sum[], const uint32_t entry[], unsigned ranks)
{
	for (unsigned i = 0; i < ranks; i++)
		sum[i] = sum[i] > entry[i] ? sum[i] : entry[i];
}

void graph_clock_learn(struct graph_clock_now *now, unsigned ranks, const uint32_t entry[],
		       unsigned from, uint32_t index)
{
	/* Who knows of an event knows all that happened before it. */
	if (now->entry[from] >= index)
		return;
	graph_clock_max(now->entry, entry, ranks);
	now->entry[from] = index;
	graph_clock_drop(now->copy);
	now->copy = NULL;
}
