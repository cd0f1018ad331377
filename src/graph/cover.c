/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Components of the race graph, each solved by what fits it. Nothing here is quadratic: spans are
 * followed with links that skip what was visited, and edges are written out only where there
 * are few of them. Invariant: a component's vertices, and the spans of its vertices, are its own.
 */
#include "graph/cover.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/cover-exact.h"
#include "graph/cover-guess.h"

#define FEW_EDGES 4000000

struct work {
	struct graph_races races;
	uint32_t *root;      /* union-find */
	uint32_t *local;     /* number in its component */
	uint32_t *part_size; /* all 0 between uses */
	const uint32_t *part;
	struct graph_cover *cover;
};

struct component {
	const uint32_t *vertex; /* ascending */
	uint32_t count;
	uint64_t edges;
};

static int by_place(const void *a, const void *b)
{
	const struct graph_cover_span *x = a, *y = b;

	if (x->vertex != y->vertex)
		return x->vertex < y->vertex ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static size_t merge(struct graph_cover_span span[], size_t spans)
{
	size_t n = 0;

	if (spans)
		qsort(span, spans, sizeof(*span), by_place);
	for (size_t i = 0; i < spans; i++) {
		struct graph_cover_span *last = n ? &span[n - 1] : NULL;

		if (last && last->vertex == span[i].vertex && span[i].first <= last->last) {
			if (span[i].last > last->last)
				last->last = span[i].last;
		} else {
			span[n++] = span[i];
		}
	}
	return n;
}

static uint32_t find(uint32_t *root, uint32_t v)
{
	while (root[v] != v) {
		root[v] = root[root[v]];
		v = root[v];
	}
	return v;
}

/* The smaller number becomes the root. */
static void join(uint32_t *root, uint32_t a, uint32_t b)
{
	a = find(root, a);
	b = find(root, b);
	if (a < b)
		root[b] = a;
	else
		root[a] = b;
}

static void join_all(struct work *w)
{
	uint32_t *end = rp_alloc(w->races.vertices, sizeof(*end)); /* of a stretch that is joined */

	for (uint32_t v = 0; v < w->races.vertices; v++)
		w->root[v] = end[v] = v;
	for (size_t i = 0; i < w->races.spans; i++) {
		const struct graph_cover_span *s = &w->races.span[i];
		uint32_t v = graph_races_skip(end, s->first);

		join(w->root, s->vertex, s->first);
		while (v < s->last) {
			join(w->root, v, v + 1);
			end[v] = v + 1;
			v = graph_races_skip(end, v);
		}
	}
	free(end);
}

/* All that differ in their part race: every cover leaves out messages of one part at most. */
static bool solve_transitive(struct work *w, const struct component *c)
{
	uint64_t squares = 0;
	uint32_t largest = w->part[c->vertex[0]];
	uint64_t rest;

	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t size = ++w->part_size[w->part[c->vertex[i]]];

		squares += 2 * (uint64_t)size - 1;
		if (size > w->part_size[largest])
			largest = w->part[c->vertex[i]];
	}
	rest = c->count - w->part_size[largest];
	for (uint32_t i = 0; i < c->count; i++)
		w->part_size[w->part[c->vertex[i]]] = 0;
	if (((uint64_t)c->count * c->count - squares) / 2 != c->edges)
		return false;
	for (uint32_t i = 0; i < c->count; i++)
		w->cover->chosen[c->vertex[i]] = w->part[c->vertex[i]] != largest;
	w->cover->bound += rest;
	w->cover->matching += rest < c->count / 2 ? rest : c->count / 2;
	w->cover->transitive++;
	return true;
}

/* Writes the edges out, with the numbers that vertices have in their component. */
static struct graph_adjacency write_out(struct work *w, const struct component *c)
{
	struct graph_adjacency g = {.count = c->count};
	uint64_t *fill;

	g.start = rp_alloc((size_t)c->count + 2, sizeof(*g.start));
	g.near = rp_alloc(2 * c->edges, sizeof(*g.near));
	for (uint32_t i = 0; i < c->count; i++)
		w->local[c->vertex[i]] = i;
	fill = g.start + 1;
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < c->count; i++) {
			const struct graph_cover_span *s, *end;

			graph_races_of(&w->races, c->vertex[i], &s, &end);
			for (; s < end; s++) {
				for (uint32_t x = s->first; x <= s->last; x++) {
					uint32_t k = w->local[x];

					if (pass) {
						g.near[fill[i]++] = k;
						g.near[fill[k]++] = i;
					} else {
						fill[i + 1]++;
						fill[k + 1]++;
					}
				}
			}
		}
		/* Counts become starts; in the second pass fill[v] moves on to start[v + 1]. */
		for (uint32_t i = 0; i < c->count && !pass; i++)
			fill[i + 1] += fill[i];
	}
	return g;
}

static bool solve_exactly(struct work *w, const struct component *c)
{
	struct graph_cover *cover = w->cover;
	struct graph_adjacency g;
	uint8_t *chosen;
	uint64_t size = 0;
	bool two, done;

	if (c->edges > FEW_EDGES)
		return false;
	g = write_out(w, c);
	chosen = rp_alloc(c->count, 1);
	two = graph_cover_bipartite(&g, chosen, &size);
	done = two || graph_cover_search(&g, chosen, &size);
	for (uint32_t i = 0; i < c->count && done; i++)
		cover->chosen[c->vertex[i]] = chosen[i];
	cover->bipartite += two;
	cover->searched += done && !two;
	cover->matching += two ? size : graph_guess_matching(&w->races, c->vertex, c->count);
	cover->bound += size;
	if (!done) {
		graph_guess_cover(&w->races, c->vertex, c->count, w->part, cover->chosen);
		cover->guessed++;
	}
	free(chosen);
	free(g.start);
	free(g.near);
	return true;
}

static void solve(struct work *w, const struct component *c)
{
	uint64_t matching;

	w->cover->racing += c->count;
	w->cover->races += c->edges;
	if (solve_transitive(w, c) || solve_exactly(w, c))
		return;
	matching = graph_guess_matching(&w->races, c->vertex, c->count);
	w->cover->matching += matching;
	w->cover->bound += matching;
	graph_guess_cover(&w->races, c->vertex, c->count, w->part, w->cover->chosen);
	w->cover->guessed++;
}

static uint64_t edges_of(const struct graph_races *races, uint32_t v)
{
	const struct graph_cover_span *s, *end;
	uint64_t n = 0;

	graph_races_of(races, v, &s, &end);
	for (; s < end; s++)
		n += (uint64_t)s->last - s->first + 1;
	return n;
}

/* Sorts vertices by component, by counting, and solves each. */
static void solve_all(struct work *w)
{
	uint32_t n = w->races.vertices;
	uint32_t *start = rp_alloc((size_t)n + 1, sizeof(*start));
	uint32_t *sorted = rp_alloc(n, sizeof(*sorted));

	for (uint32_t v = 0; v < n; v++)
		start[find(w->root, v) + 1]++;
	for (uint32_t v = 0; v < n; v++)
		start[v + 1] += start[v];
	for (uint32_t v = 0; v < n; v++)
		sorted[start[find(w->root, v)]++] = v;
	for (uint32_t i = 0; i < n;) {
		struct component c = {.vertex = sorted + i};

		while (i < n && find(w->root, sorted[i]) == c.vertex[0]) {
			c.edges += edges_of(&w->races, sorted[i++]);
			c.count++;
		}
		if (c.count > 1)
			solve(w, &c);
	}
	free(start);
	free(sorted);
}

void graph_cover_find(struct graph_cover *cover, uint32_t vertices, const uint32_t part[],
		      struct graph_cover_span span[], size_t spans)
{
	struct work w = {.part = part, .cover = cover};
	uint32_t parts = 0;

	memset(cover, 0, sizeof(*cover));
	cover->chosen = rp_alloc(vertices, 1);
	for (uint32_t v = 0; v < vertices; v++)
		parts = part[v] >= parts ? part[v] + 1 : parts;
	w.root = rp_alloc(vertices, sizeof(*w.root));
	w.local = rp_alloc(vertices, sizeof(*w.local));
	w.part_size = rp_alloc(parts, sizeof(*w.part_size));
	graph_races_init(&w.races, vertices, span, merge(span, spans));
	join_all(&w);
	solve_all(&w);
	for (uint32_t v = 0; v < vertices; v++)
		cover->size += cover->chosen[v];
	graph_races_free(&w.races);
	free(w.root);
	free(w.local);
	free(w.part_size);
}

void graph_cover_free(struct graph_cover *cover)
{
	free(cover->chosen);
	cover->chosen = NULL;
}

void graph_cover_add(struct graph_cover *sum, const struct graph_cover *one)
{
	sum->racing += one->racing;
	sum->races += one->races;
	sum->size += one->size;
	sum->bound += one->bound;
	sum->matching += one->matching;
	sum->transitive += one->transitive;
	sum->bipartite += one->bipartite;
	sum->searched += one->searched;
	sum->guessed += one->guessed;
}
