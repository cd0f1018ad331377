/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Covers of race graphs: thousands of small random ones against all subsets, those that cannot be
 * written out (floods) against what theory says, and hard ones for being covers at all.
 */
#include "graph/cover.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "graph/cover-exact.h"

struct races {
	uint32_t n;
	uint32_t *part;
	uint32_t *when; /* received, by vertex */
	struct graph_cover_span *span;
	size_t spans, room;
};

static uint64_t seed = 1;

static uint32_t pick(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 11) % below;
}

static void add_span(struct races *r, uint32_t v, uint32_t first, uint32_t last)
{
	if (r->spans == r->room) {
		r->room = 2 * r->room + 16;
		r->span = realloc(r->span, r->room * sizeof(*r->span));
	}
	r->span[r->spans++] = (struct graph_cover_span){v, first, last};
}

/* Vertices of a part are consecutive; they are received in any order that keeps that of a part. */
static struct races races_new(uint32_t n, uint32_t parts)
{
	struct races r = {.n = n};
	uint32_t *next = calloc(parts + 1, sizeof(*next));

	r.part = calloc(n, sizeof(*r.part));
	r.when = calloc(n, sizeof(*r.when));
	for (uint32_t v = 0; v < n; v++)
		r.part[v] = (uint32_t)((uint64_t)v * parts / n);
	for (uint32_t v = n; v-- > 0;)
		next[r.part[v]] = v;
	for (uint32_t t = 0; t < n;) {
		uint32_t p = pick(parts);

		if (next[p] < n && r.part[next[p]] == p)
			r.when[next[p]++] = t++;
	}
	free(next);
	return r;
}

static void races_free(struct races *r)
{
	free(r->part);
	free(r->when);
	free(r->span);
}

/* v races with up to `most` messages of each other part that are received later. */
static void races_fill(struct races *r, uint32_t chance, uint32_t most)
{
	for (uint32_t v = 0; v < r->n; v++) {
		for (uint32_t x = 0; x < r->n; x++) {
			uint32_t end = x;

			if (r->part[x] == r->part[v] || r->when[x] < r->when[v] ||
			    (x && r->part[x - 1] == r->part[x] && r->when[x - 1] > r->when[v]))
				continue;
			while (end + 1 < r->n && r->part[end + 1] == r->part[x] &&
			       end - x + 1 < most)
				end++;
			if (pick(100) < chance)
				add_span(r, v, x, end);
			x = end;
		}
	}
}

static bool is_cover(const struct races *r, const uint8_t *in)
{
	uint32_t *sum = calloc(r->n + 1, sizeof(*sum));
	bool good = true;

	for (uint32_t v = 0; v < r->n; v++)
		sum[v + 1] = sum[v] + in[v];
	for (size_t i = 0; i < r->spans && good; i++) {
		const struct graph_cover_span *s = &r->span[i];

		good = in[s->vertex] || sum[s->last + 1] - sum[s->first] == s->last - s->first + 1;
	}
	free(sum);
	return good;
}

static uint32_t smallest(const struct races *r)
{
	uint32_t best = r->n;

	for (uint32_t set = 0; set < 1u << r->n; set++) {
		uint32_t size = (uint32_t)__builtin_popcount(set);
		bool good = size < best;

		for (size_t i = 0; i < r->spans && good; i++) {
			const struct graph_cover_span *s = &r->span[i];
			uint32_t wanted = (2u << s->last) - (1u << s->first);

			good = set >> s->vertex & 1 || (set & wanted) == wanted;
		}
		if (good)
			best = size;
	}
	return best;
}

static void small_random_graphs_get_the_minimum(void **state)
{
	uint32_t kinds[4] = {0};

	(void)state;
	for (int round = 0; round < 4000; round++) {
		struct races r = races_new(2 + pick(11), 1 + pick(5));
		struct graph_cover cover;
		uint32_t least;

		races_fill(&r, 20 + pick(81), 1 + pick(6));
		least = smallest(&r);
		graph_cover_find(&cover, r.n, r.part, r.span, r.spans);
		assert_true(is_cover(&r, cover.chosen));
		assert_int_equal(cover.size, least);
		assert_int_equal(cover.bound, least);
		assert_true(cover.matching <= least && 2 * cover.matching >= least);
		assert_int_equal(cover.guessed, 0);
		kinds[0] += cover.transitive;
		kinds[1] += cover.bipartite;
		kinds[2] += cover.searched;
		graph_cover_free(&cover);
		races_free(&r);
	}
	for (int i = 0; i < 3; i++)
		assert_true(kinds[i] > 100);
}

/* A flood from every side: all but the messages of one sender must be traced. */
static void a_flood_is_solved_without_its_edges(void **state)
{
	const uint32_t n = 300000, parts = 3;
	struct races r = races_new(n, parts);
	struct graph_cover cover;
	uint32_t *next = calloc(parts, sizeof(*next));
	uint32_t *by_time = calloc(n, sizeof(*by_time));

	(void)state;
	for (uint32_t v = n; v-- > 0;) {
		by_time[r.when[v]] = v;
		next[r.part[v]] = v;
	}
	for (uint32_t t = 0; t < n; t++) {
		uint32_t v = by_time[t];

		next[r.part[v]] = v + 1;
		for (uint32_t p = 0; p < parts; p++) {
			if (p != r.part[v] && next[p] < (p + 1) * (n / parts))
				add_span(&r, v, next[p], (p + 1) * (n / parts) - 1);
		}
	}
	graph_cover_find(&cover, n, r.part, r.span, r.spans);
	assert_int_equal(cover.size, n / parts * (parts - 1));
	assert_int_equal(cover.bound, cover.size);
	assert_int_equal(cover.transitive, 1);
	assert_int_equal(cover.races, (uint64_t)n / parts * (n / parts) * 3);
	assert_true(is_cover(&r, cover.chosen));
	graph_cover_free(&cover);
	/* One race less, and it is too large for anything but a guess. */
	r.span[0].first++;
	graph_cover_find(&cover, n, r.part, r.span, r.spans);
	assert_int_equal(cover.guessed, 1);
	assert_true(is_cover(&r, cover.chosen));
	assert_true(cover.size <= n / parts * (parts - 1));
	assert_true(cover.bound <= cover.size && 2 * cover.bound >= n / 2);
	graph_cover_free(&cover);
	free(next);
	free(by_time);
	races_free(&r);
}

/* Two senders make a bipartite graph, whatever is missing in it. */
static void two_senders_are_bipartite(void **state)
{
	struct races r = races_new(20000, 2);
	struct graph_cover cover;

	(void)state;
	for (uint32_t v = 0; v + 40 < r.n / 2; v++)
		add_span(&r, v, r.n / 2 + v, r.n / 2 + v + pick(40));
	graph_cover_find(&cover, r.n, r.part, r.span, r.spans);
	assert_true(is_cover(&r, cover.chosen));
	assert_true(cover.bipartite >= 1);
	assert_int_equal(cover.searched + cover.guessed, 0);
	assert_int_equal(cover.size, cover.bound);
	assert_int_equal(cover.size, cover.matching);
	graph_cover_free(&cover);
	races_free(&r);
}

static void hard_graphs_get_a_cover_and_a_bound(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		struct races r = races_new(600 + pick(600), 40);
		struct graph_cover cover;

		races_fill(&r, 5, 2);
		graph_cover_find(&cover, r.n, r.part, r.span, r.spans);
		assert_true(is_cover(&r, cover.chosen));
		assert_true(cover.bound <= cover.size && cover.bound >= cover.matching);
		assert_true(cover.size <= 2 * cover.bound);
		graph_cover_free(&cover);
		races_free(&r);
	}
}

static void nothing_races(void **state)
{
	struct graph_cover cover;
	uint32_t part[3] = {0, 1, 2};

	(void)state;
	graph_cover_find(&cover, 3, part, NULL, 0);
	assert_int_equal(cover.size + cover.bound + cover.racing, 0);
	graph_cover_free(&cover);
	graph_cover_find(&cover, 0, NULL, NULL, 0);
	assert_int_equal(cover.size, 0);
	graph_cover_free(&cover);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_random_graphs_get_the_minimum),
		cmocka_unit_test(a_flood_is_solved_without_its_edges),
		cmocka_unit_test(two_senders_are_bipartite),
		cmocka_unit_test(hard_graphs_get_a_cover_and_a_bound),
		cmocka_unit_test(nothing_races),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
