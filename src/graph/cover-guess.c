/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Greedy answers for components that are too large or too hard. Each vertex is passed over once:
 * link[] leads past those that are done with, one place beyond the last vertex included.
 */
#include "graph/cover-guess.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

void graph_races_init(struct graph_races *races, uint32_t vertices,
		      const struct graph_cover_span *span, size_t spans)
{
	size_t i = 0;

	races->vertices = vertices;
	races->span = span;
	races->spans = spans;
	races->start = rp_alloc((size_t)vertices + 1, sizeof(*races->start));
	races->link = rp_alloc((size_t)vertices + 1, sizeof(*races->link));
	races->tree = rp_alloc((size_t)vertices + 1, sizeof(*races->tree));
	for (uint32_t v = 0; v <= vertices; v++) {
		races->link[v] = v;
		races->start[v] = i;
		while (i < spans && span[i].vertex == v)
			i++;
	}
}

void graph_races_free(struct graph_races *races)
{
	free(races->start);
	free(races->link);
	free(races->tree);
}

static void relink(struct graph_races *races, const uint32_t vertex[], uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		races->link[vertex[i]] = vertex[i];
}

uint64_t graph_guess_matching(struct graph_races *races, const uint32_t vertex[], uint32_t count)
{
	uint32_t *link = races->link;
	uint64_t size = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct graph_cover_span *s, *end;
		uint32_t v = vertex[i];

		graph_races_of(races, v, &s, &end);
		for (; s < end && link[v] == v; s++) {
			uint32_t mate = graph_races_skip(link, s->first);

			if (mate > s->last)
				continue;
			link[v] = v + 1;
			link[mate] = mate + 1;
			size++;
		}
	}
	relink(races, vertex, count);
	return size;
}

static void tree_add(struct graph_races *races, uint32_t v, uint32_t n)
{
	for (v++; v <= races->vertices; v += v & -v)
		races->tree[v] += n;
}

/* How many were added before v. */
static uint32_t tree_sum(const struct graph_races *races, uint32_t v)
{
	uint32_t sum = 0;

	for (; v; v -= v & -v)
		sum += races->tree[v];
	return sum;
}

static bool touches(const struct graph_races *races, uint32_t v)
{
	const struct graph_cover_span *s, *end;

	graph_races_of(races, v, &s, &end);
	for (; s < end; s++) {
		if (tree_sum(races, s->last + 1) != tree_sum(races, s->first))
			return true;
	}
	return false;
}

static void shut_out(struct graph_races *races, uint32_t v)
{
	const struct graph_cover_span *s, *end;

	graph_races_of(races, v, &s, &end);
	for (; s < end; s++) {
		uint32_t x = graph_races_skip(races->link, s->first);

		while (x <= s->last) {
			races->link[x] = x + 1;
			x = graph_races_skip(races->link, x);
		}
	}
}

/* Takes vertices in the given order where they do not race with those taken: in[] is set. */
static uint32_t independent(struct graph_races *races, const uint32_t order[], uint32_t count,
			    uint8_t in[])
{
	uint32_t size = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t v = order[i];

		in[v] = races->link[v] == v && !touches(races, v);
		if (!in[v])
			continue;
		tree_add(races, v, 1);
		shut_out(races, v);
		size++;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (in[order[i]])
			tree_add(races, order[i], UINT32_MAX);
	}
	relink(races, order, count);
	return size;
}

struct weighed {
	uint64_t weight;
	uint32_t vertex;
};

static int by_weight(const void *a, const void *b)
{
	const struct weighed *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? -1 : 1;
	return x->vertex < y->vertex ? -1 : x->vertex > y->vertex;
}

static void sort_by(struct weighed *list, uint32_t count, uint32_t order[])
{
	qsort(list, count, sizeof(*list), by_weight);
	for (uint32_t i = 0; i < count; i++)
		order[i] = list[i].vertex;
}

/* Those of few races first. */
static void order_by_degree(const struct graph_races *races, const uint32_t vertex[],
			    uint32_t count, uint32_t order[])
{
	int64_t *change = rp_alloc((size_t)races->vertices + 1, sizeof(*change));
	struct weighed *list = rp_alloc(count, sizeof(*list));
	int64_t open = 0;
	uint32_t place = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct graph_cover_span *s, *end;

		list[i].vertex = vertex[i];
		graph_races_of(races, vertex[i], &s, &end);
		for (; s < end; s++) {
			list[i].weight += s->last - s->first + 1;
			change[s->first]++;
			change[s->last + 1]--;
		}
	}
	for (uint32_t i = 0; i < count; i++) {
		while (place <= vertex[i])
			open += change[place++];
		list[i].weight += (uint64_t)open;
	}
	sort_by(list, count, order);
	free(list);
	free(change);
}

/* Those of the largest part first. */
static void order_by_part(const uint32_t vertex[], uint32_t count, const uint32_t part[],
			  uint32_t order[])
{
	struct weighed *list = rp_alloc(count, sizeof(*list));
	uint32_t *size, parts = 0;

	for (uint32_t i = 0; i < count; i++)
		parts = part[vertex[i]] >= parts ? part[vertex[i]] + 1 : parts;
	size = rp_alloc(parts, sizeof(*size));
	for (uint32_t i = 0; i < count; i++)
		size[part[vertex[i]]]++;
	for (uint32_t i = 0; i < count; i++) {
		list[i].vertex = vertex[i];
		list[i].weight =
			(uint64_t)(UINT32_MAX - size[part[vertex[i]]]) << 32 | part[vertex[i]];
	}
	sort_by(list, count, order);
	free(size);
	free(list);
}

void graph_guess_cover(struct graph_races *races, const uint32_t vertex[], uint32_t count,
		       const uint32_t part[], uint8_t chosen[])
{
	uint32_t *order = rp_alloc(count, sizeof(*order));
	uint8_t *other = rp_alloc(races->vertices, 1);
	uint32_t first, second;

	order_by_degree(races, vertex, count, order);
	first = independent(races, order, count, chosen);
	order_by_part(vertex, count, part, order);
	second = independent(races, order, count, other);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t v = vertex[i];

		chosen[v] = second > first ? !other[v] : !chosen[v];
	}
	free(order);
	free(other);
}
