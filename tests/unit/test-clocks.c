/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks on disk against the walks over all events (graph/cut.h), for random runs and cuts, in
 * blocks of a few events and of many; and with any byte changed: the answer is the same, or there
 * is none.
 */
#include "graph-random.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "graph/clocks.h"

static struct sim_program program;
static struct sim_state state;
static struct sim_log run_log;
static struct graph_source source;

static void make_run(uint64_t seed)
{
	static const struct sim_style styles[] = {{.ranks = 4, .ops = 20, .colls = 6},
						  {.ranks = 3, .ops = 12, .colls = 0},
						  {.ranks = 5, .ops = 16, .colls = 12}};

	random_program(&program, &seed, &styles[seed % 3]);
	random_run(&program, &state, &run_log, &seed, true);
	source = sim_source(&program, &run_log);
}

static int make_file(uint64_t block)
{
	int fd = memfd_create("clocks", 0);

	assert_true(fd >= 0);
	assert_int_equal(graph_clocks_make(&source, block, fd), 0);
	return fd;
}

static void random_cut(struct graph_cut *cut, uint64_t *seed)
{
	for (unsigned i = 0; i < source.ranks; i++)
		cut->count[i] = (uint32_t)random_below(seed, run_log.events[i] + 1);
}

static bool is_same(const struct graph_cut *a, const struct graph_cut *b)
{
	return memcmp(a->count, b->count, source.ranks * sizeof(*a->count)) == 0;
}

/* What may come out of a file that is damaged: the right answer or none. */
static bool agrees(int rc, bool same)
{
	return rc ? rc == -EBADMSG : same;
}

static bool check_cuts(const struct graph_clocks *c, const struct graph_cut *wanted)
{
	struct graph_cut cut, other;
	bool good, consistent, found = true;
	struct graph_cut_flaw flaw = {0};
	int rc;

	graph_cut_init(&cut, source.ranks);
	graph_cut_init(&other, source.ranks);
	memcpy(cut.count, wanted->count, source.ranks * sizeof(*cut.count));
	memcpy(other.count, wanted->count, source.ranks * sizeof(*cut.count));
	assert_int_equal(graph_cut_is_consistent(&source, &cut, &consistent, NULL), 0);
	rc = graph_clocks_is_consistent(c, &cut, &found, &flaw);
	good = agrees(rc, found == consistent && (found || (flaw.index <= cut.count[flaw.rank] &&
							    flaw.needs > cut.count[flaw.missing])));
	assert_int_equal(graph_cut_grow(&source, &cut), 0);
	rc = graph_clocks_grow(c, &other);
	good = good && agrees(rc, is_same(&cut, &other));
	memcpy(cut.count, wanted->count, source.ranks * sizeof(*cut.count));
	memcpy(other.count, wanted->count, source.ranks * sizeof(*cut.count));
	assert_int_equal(graph_cut_shrink(&source, &cut), 0);
	rc = graph_clocks_shrink(c, &other);
	good = good && agrees(rc, is_same(&cut, &other));
	graph_cut_free(&cut);
	graph_cut_free(&other);
	return good;
}

static bool check_positions(const struct graph_clocks *c, unsigned rank, uint32_t place)
{
	struct graph_position position, other = {0};
	struct graph_cut cut, found;
	uint64_t last[2] = {0};
	uint32_t count, counted = 0;
	bool good;
	int rc;

	graph_cut_init(&cut, source.ranks);
	graph_cut_init(&found, source.ranks);
	assert_int_equal(graph_cut_position(&source, rank, place, &position), 0);
	rc = graph_clocks_position(c, rank, place, &other);
	good = agrees(rc, position.number == other.number && position.thread == other.thread);
	assert_int_equal(graph_cut_place(&source, rank, &position, &count), 0);
	rc = graph_clocks_place(c, rank, &position, &counted);
	good = good && agrees(rc, count == counted);
	rc = graph_clocks_last(c, rank, place, last);
	good = good && agrees(rc, last[0] == (place ? run_log.event[rank][place].e.number : 0));
	assert_int_equal(graph_cut_past(&source, rank, &position, &cut), 0);
	rc = graph_clocks_past(c, rank, &position, &found);
	good = good && agrees(rc, is_same(&cut, &found));
	assert_int_equal(graph_cut_frontier(&source, rank, &position, &cut), 0);
	rc = graph_clocks_frontier(c, rank, &position, &found);
	good = good && agrees(rc, is_same(&cut, &found));
	graph_cut_free(&cut);
	graph_cut_free(&found);
	return good;
}

static bool check(const struct graph_clocks *c, uint64_t seed)
{
	struct graph_cut cut;
	unsigned rank = (unsigned)random_below(&seed, (int)source.ranks);
	bool good;

	graph_cut_init(&cut, source.ranks);
	random_cut(&cut, &seed);
	good = check_cuts(c, &cut) && check_positions(c, rank, cut.count[rank]);
	graph_cut_free(&cut);
	return good;
}

static void test_random_runs(void **unused)
{
	static const uint64_t blocks[] = {1, 3, 7, GRAPH_CLOCKS_BLOCK};
	int n = seed_count(600);

	(void)unused;
	for (int i = 0; i < n; i++) {
		uint64_t seed = first_seed(700000) + (uint64_t)i;
		struct graph_clocks *c;
		int fd;

		make_run(seed);
		fd = make_file(blocks[i % 4]);
		c = graph_clocks_open(fd);
		assert_non_null(c);
		assert_int_equal(graph_clocks_ranks(c), source.ranks);
		assert_string_equal(graph_clocks_thread(c, 0, 0), sim_thread(NULL, 0, 0));
		for (uint64_t k = 0; k < 4; k++) {
			if (!check(c, seed * 4 + k))
				fail_msg("seed %llu", (unsigned long long)seed);
		}
		graph_clocks_close(c);
		close(fd);
	}
}

static void test_any_byte(void **unused)
{
	off_t size;
	int fd, opened = 0;

	(void)unused;
	make_run(3);
	fd = make_file(5);
	size = lseek(fd, 0, SEEK_END);
	for (off_t at = 0; at < size; at++) {
		struct graph_clocks *c;
		uint8_t byte, other;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		other = byte ^ (uint8_t)(1u << at % 8);
		assert_int_equal(pwrite(fd, &other, 1, at), 1);
		c = graph_clocks_open(fd);
		if (c) {
			opened++;
			for (uint64_t k = 0; k < 3; k++)
				assert_true(check(c, (uint64_t)at * 3 + k));
			graph_clocks_close(c);
		}
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_true(opened > 0);
	for (off_t cut = 0; cut < size; cut++) {
		assert_int_equal(ftruncate(fd, size - 1 - cut), 0);
		assert_null(graph_clocks_open(fd));
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_runs),
		cmocka_unit_test(test_any_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
