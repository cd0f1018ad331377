/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace summed up: counts are those of the records, ends are those that were written, and any
 * damage is either found or harmless.
 */
#include "trace/run.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "scratch.h"
#include "trace/input.h"
#include "trace/order.h"
#include "trace/rewrite.h"

static void write_meta(const struct scratch *dir)
{
	static char *argv[] = {"mpirun", "./app", NULL};
	struct trace_meta meta = {.version = "1",
				  .argv = argv,
				  .mpi = "openmpi",
				  .front = true,
				  .cwd = "/",
				  .host = "here",
				  .start = "2026-01-31T12:00:00Z",
				  .ended = TRACE_ENDED_EXIT};
	struct trace_dir trace;

	assert_int_equal(trace_dir_enter(&trace, dir->path), 0);
	assert_int_equal(trace_meta_write(&trace, &meta), 0);
	trace_dir_close(&trace);
}

/* Makes the rank's directory and returns it open. */
static int write_start(const struct scratch *dir, unsigned rank)
{
	static char *argv[] = {"./app", NULL}, *env[] = {NULL};
	struct trace_start start = {.rank = rank,
				    .argv = argv,
				    .env = env,
				    .cwd = "/",
				    .host = "here",
				    .program = "/app",
				    .build_id = "0",
				    .mpi = "openmpi",
				    .input = "kept"};
	struct trace_dir trace;
	int rankfd;

	assert_int_equal(trace_dir_enter(&trace, dir->path), 0);
	rankfd = trace_dir_claim_rank(&trace, rank);
	assert_true(rankfd >= 0);
	assert_int_equal(trace_start_write(rankfd, &start), 0);
	trace_dir_close(&trace);
	return rankfd;
}

static void order_open(struct trace_order_writer *w, int rankfd, const char *name, unsigned rank,
		       unsigned process, const char *thread)
{
	memset(w, 0, sizeof(*w));
	assert_int_equal(trace_stream_create(&w->stream, rankfd, name, TRACE_STREAM_ORDER, rank,
					     process, thread),
			 0);
}

static void put(struct trace_order_writer *w, uint32_t kind, uint64_t a, uint64_t b)
{
	trace_stream_set_events(&w->stream, ++w->events, true);
	assert_int_equal(trace_order_put(w, kind, a, b), 0);
	trace_stream_set_events(&w->stream, w->events, false);
}

/* Ten wildcard receives, a few polls, an end if one is given. */
static void write_order(int rankfd, unsigned rank, unsigned world, uint32_t last, uint64_t a,
			uint64_t b)
{
	struct trace_order_writer *w = malloc(sizeof(*w));

	order_open(w, rankfd, "0.order", rank, 0, "0");
	put(w, TRACE_WORLD, world, 0);
	for (int i = 0; i < 10; i++)
		put(w, TRACE_SRC, (uint64_t)i % 3, 0);
	for (int i = 0; i < 5; i++)
		trace_order_fail(w);
	put(w, TRACE_HIT, 2, 0);
	put(w, TRACE_INDEX, 1, 0);
	if (last)
		trace_order_put_last(w, last, a, b);
	trace_stream_close(&w->stream);
	free(w);
}

static void write_input(int rankfd, unsigned rank, const char *note)
{
	struct trace_input_writer w;

	memset(&w, 0, sizeof(w));
	assert_int_equal(
		trace_stream_create(&w.stream, rankfd, "0.input", TRACE_STREAM_INPUT, rank, 0, "0"),
		0);
	assert_int_equal(trace_input_put_number(&w, TRACE_IN_PID, 17), 0);
	assert_int_equal(trace_input_put_bytes(&w, TRACE_IN_NOTE, note, strlen(note)), 0);
	trace_stream_close(&w.stream);
}

static void write_rank(const struct scratch *dir, unsigned rank, unsigned world, uint32_t last,
		       uint64_t a, uint64_t b)
{
	int rankfd = write_start(dir, rank);

	write_order(rankfd, rank, world, last, a, b);
	write_input(rankfd, rank, "threads=1");
	close(rankfd);
}

static void open_run(struct trace_run *run, const struct scratch *dir)
{
	assert_int_equal(trace_run_open(run, dir->path), 0);
}

static void assert_end(const struct trace_run *run, size_t i, bool exact, const char *want)
{
	char *end = trace_run_rank_end(run, &run->rank[i], exact);

	assert_string_equal(end, want);
	free(end);
}

static void test_counts(void **state)
{
	struct trace_run_rank sum;
	struct trace_run run;

	write_meta(*state);
	write_rank(*state, 0, 2, TRACE_END, TRACE_END_EXIT, 0);
	write_rank(*state, 1, 2, TRACE_END, TRACE_END_EXIT, 0);
	open_run(&run, *state);
	assert_int_equal(run.ranks, 2);
	assert_int_equal(run.damaged, 0);
	assert_int_equal(run.rank[1].events, 13);
	assert_int_equal(run.rank[1].outcomes, 12);
	assert_int_equal(run.rank[1].wildcards, 11);
	assert_int_equal(run.rank[1].polls, 5);
	assert_int_equal(run.rank[1].inputs, 1);
	assert_int_equal(run.rank[1].world, 2);
	assert_int_equal(run.rank[1].threads, 1);
	assert_string_equal(run.rank[1].notes[0], "threads=1");
	assert_null(run.rank[1].notes[1]);
	trace_run_total(&run, &sum);
	assert_int_equal(sum.outcomes, 24);
	assert_int_equal(sum.bytes[TRACE_STREAM_ORDER], 2 * run.rank[0].bytes[TRACE_STREAM_ORDER]);
	assert_null(trace_run_obstacle(&run));
	trace_run_close(&run);
}

/* Longer than one record of bytes may be. */
static void test_a_long_note_is_one_note(void **state)
{
	char *note = malloc(3 * TRACE_INPUT_CHUNK + 1);
	struct trace_run run;
	int rankfd = write_start(*state, 0);

	memset(note, 'x', 3 * TRACE_INPUT_CHUNK);
	note[3 * TRACE_INPUT_CHUNK] = '\0';
	write_meta(*state);
	write_input(rankfd, 0, note);
	close(rankfd);
	open_run(&run, *state);
	assert_string_equal(run.rank[0].notes[0], note);
	assert_null(run.rank[0].notes[1]);
	assert_int_equal(run.rank[0].inputs, 1);
	trace_run_close(&run);
	free(note);
}

static void test_ends(void **state)
{
	struct trace_run run;
	char *obstacle;

	write_meta(*state);
	write_rank(*state, 0, 5, TRACE_END, TRACE_END_EARLY, 3);
	write_rank(*state, 1, 5, TRACE_END, TRACE_END_SIGNAL, SIGSEGV);
	write_rank(*state, 2, 5, TRACE_END, TRACE_END_ABORT, (uint64_t)-7);
	write_rank(*state, 3, 5, 0, 0, 0);
	write_rank(*state, 4, 5, TRACE_STOP, TRACE_STOP_TABLE, 0);
	open_run(&run, *state);
	assert_end(&run, 0, true, "exit 3 without MPI_Finalize");
	assert_end(&run, 1, true, "killed by SIGSEGV");
	assert_end(&run, 2, true, "MPI_Abort -7");
	assert_end(&run, 3, true, "killed after event 13");
	assert_end(&run, 3, false, "killed after an event");
	obstacle = trace_run_obstacle(&run);
	assert_non_null(strstr(obstacle, "event 13 of rank 4"));
	free(obstacle);
	trace_run_close(&run);
}

/* The second process has the pid of the first: the program was replaced, and its end counts. */
static void test_a_rank_that_became_another_program(void **state)
{
	struct trace_order_writer *w = malloc(sizeof(*w));
	struct trace_run run;
	int rankfd = write_start(*state, 0);

	write_meta(*state);
	write_order(rankfd, 0, 1, 0, 0, 0);
	write_input(rankfd, 0, "threads=1");
	order_open(w, rankfd, "p1-0.order", 0, 1, "0");
	trace_order_put_last(w, TRACE_END, TRACE_END_EXIT, 4);
	trace_stream_close(&w->stream);
	order_open(w, rankfd, "p1-0.1.order", 0, 1, "0.1");
	trace_stream_close(&w->stream);
	close(rankfd);
	free(w);
	open_run(&run, *state);
	assert_int_equal(run.damaged, 0);
	assert_int_equal(run.rank[0].processes, 2);
	assert_int_equal(run.rank[0].threads, 3);
	assert_end(&run, 0, true, "exit 4");
	trace_run_close(&run);
}

static void test_missing_ranks_are_noticed(void **state)
{
	struct trace_run run;
	char *obstacle;

	write_meta(*state);
	open_run(&run, *state);
	obstacle = trace_run_obstacle(&run);
	assert_string_equal(obstacle, "no rank was recorded");
	free(obstacle);
	trace_run_close(&run);
	write_rank(*state, 0, 3, TRACE_END, TRACE_END_EXIT, 0);
	write_rank(*state, 2, 3, TRACE_END, TRACE_END_EXIT, 0);
	open_run(&run, *state);
	obstacle = trace_run_obstacle(&run);
	assert_string_equal(obstacle, "2 of 3 ranks are here");
	free(obstacle);
	assert_false(run.contiguous);
	trace_run_close(&run);
}

static void test_a_stream_under_a_false_name_is_refused(void **state)
{
	struct scratch *dir = *state;
	struct trace_run run;

	write_meta(dir);
	write_rank(dir, 0, 2, TRACE_END, TRACE_END_EXIT, 0);
	write_rank(dir, 1, 2, TRACE_END, TRACE_END_EXIT, 0);
	assert_int_equal(renameat(dir->fd, "rank-0000/0.order", dir->fd, "rank-0001/0.order"), 0);
	open_run(&run, dir);
	assert_int_equal(run.damaged, 2);
	assert_string_equal(run.rank[0].missing, "0.order");
	assert_null(run.rank[0].last);
	assert_true(run.rank[1].damaged);
	trace_run_close(&run);
}

static void check_missing(const struct scratch *dir, const char *file, const char *want)
{
	struct trace_run run;
	char *obstacle;

	assert_int_equal(renameat(dir->fd, file, dir->fd, "kept"), 0);
	open_run(&run, dir);
	assert_int_equal(run.damaged, 1);
	assert_true(run.rank[1].damaged);
	assert_string_equal(run.rank[1].missing, want);
	obstacle = trace_run_obstacle(&run);
	assert_string_equal(obstacle, "1 of its files cannot be read or are missing");
	free(obstacle);
	trace_run_close(&run);
	assert_int_equal(renameat(dir->fd, "kept", dir->fd, file), 0);
}

static void test_missing_streams_are_noticed(void **state)
{
	write_meta(*state);
	write_rank(*state, 0, 2, TRACE_END, TRACE_END_EXIT, 0);
	write_rank(*state, 1, 2, TRACE_END, TRACE_END_EXIT, 0);
	check_missing(*state, "rank-0001/0.order", "0.order");
	check_missing(*state, "rank-0001/0.input", "0.input");
}

/* Killed, or stopped by a full disk, between its first two files: nothing is lost of it. */
static void test_a_rank_that_came_not_far_is_whole(void **state)
{
	struct trace_order_writer *w = malloc(sizeof(*w));
	struct trace_run run;
	int rankfd = write_start(*state, 0);

	write_meta(*state);
	order_open(w, rankfd, "0.order", 0, 0, "0");
	trace_stream_close(&w->stream);
	close(rankfd);
	rankfd = write_start(*state, 1);
	order_open(w, rankfd, "0.order", 1, 0, "0");
	trace_order_put_last(w, TRACE_STOP, TRACE_STOP_NOSPACE, ENOSPC);
	trace_stream_close(&w->stream);
	close(rankfd);
	free(w);
	open_run(&run, *state);
	assert_int_equal(run.damaged, 0);
	assert_null(trace_run_gap(&run));
	trace_run_close(&run);
}

static void test_many_ranks(void **state)
{
	struct trace_run run;

	write_meta(*state);
	for (unsigned rank = 0; rank < 300; rank++)
		write_rank(*state, rank, 300, TRACE_END, TRACE_END_EXIT, 0);
	open_run(&run, *state);
	assert_int_equal(run.ranks, 300);
	assert_null(trace_run_obstacle(&run));
	trace_run_close(&run);
}

/* Changes each byte of a file in turn; the run is found damaged or is what it was. */
static void damage_file(const struct scratch *dir, const char *name, size_t from, size_t to)
{
	int fd = openat(dir->fd, name, O_RDWR);
	uint8_t good, bad;

	assert_true(fd >= 0);
	for (size_t at = from; at < to && pread(fd, &good, 1, (off_t)at) == 1; at++) {
		struct trace_run run;

		bad = good ^ (uint8_t)(1u << (at % 8));
		assert_int_equal(pwrite(fd, &bad, 1, (off_t)at), 1);
		open_run(&run, dir);
		if (!run.damaged) {
			assert_int_equal(run.rank[0].outcomes, 12);
			assert_int_equal(run.rank[0].polls, 5);
			assert_int_equal(run.rank[0].events, 13);
			assert_end(&run, 0, true, "exit 0");
		}
		trace_run_close(&run);
		assert_int_equal(pwrite(fd, &good, 1, (off_t)at), 1);
	}
	close(fd);
}

static void test_damage_anywhere_is_survived(void **state)
{
	int quiet = open("/dev/null", O_WRONLY), words = dup(STDERR_FILENO);

	write_meta(*state);
	write_rank(*state, 0, 1, TRACE_END, TRACE_END_EXIT, 0);
	dup2(quiet, STDERR_FILENO);
	damage_file(*state, "meta.json", 0, 1000);
	damage_file(*state, "rank-0000/start.json", 0, 1000);
	damage_file(*state, "rank-0000/0.order", 0, 200);
	damage_file(*state, "rank-0000/0.order", TRACE_HEADER_BYTES, 5000);
	damage_file(*state, "rank-0000/0.input", 0, 200);
	damage_file(*state, "rank-0000/0.input", TRACE_HEADER_BYTES, 5000);
	dup2(words, STDERR_FILENO);
	close(words);
	close(quiet);
}

#define MANY_POLLS (5ull << 32 | 7)

static bool keeps_source(void *context, unsigned rank, const char *thread, uint64_t event)
{
	(void)context, (void)rank, (void)thread, (void)event;
	return true;
}

static bool keeps_post(void *context, unsigned rank, uint64_t number)
{
	(void)context, (void)rank, (void)number;
	return true;
}

/* Some of them behind the first event, the rest at the end. */
static const struct trace_rewrite_outcome *outcomes(void *context, unsigned rank, uint32_t process,
						    const char *thread, size_t *count)
{
	static const struct trace_rewrite_outcome some = {
		.event = 1, .kind = TRACE_FAIL, .a = 1ull << 33};

	(void)context, (void)rank, (void)process, (void)thread;
	*count = 1;
	return &some;
}

static void check_rewritten(const struct scratch *dir, const char *name, struct trace_rewrite *how)
{
	char path[128];
	struct trace_dir to;
	struct trace_run run;

	snprintf(path, sizeof(path), "%s/%s", dir->path, name);
	assert_int_equal(mkdir(path, 0700), 0);
	open_run(&run, dir);
	assert_int_equal(run.rank[0].polls, MANY_POLLS);
	assert_int_equal(trace_dir_enter(&to, path), 0);
	assert_int_equal(trace_rewrite(&run, &to, how), 0);
	trace_dir_close(&to);
	trace_run_close(&run);
	assert_int_equal(trace_run_open(&run, path), 0);
	assert_int_equal(run.damaged, 0);
	assert_int_equal(run.rank[0].polls, MANY_POLLS);
	assert_int_equal(run.rank[0].events, 2);
	trace_run_close(&run);
}

static void test_more_polls_than_32_bits_are_rewritten(void **state)
{
	struct trace_rewrite all = {
		.mode = TRACE_MODE_REDUCED, .keeps_source = keeps_source, .keeps_post = keeps_post};
	struct trace_rewrite whole = {.mode = TRACE_MODE_ORDER, .outcomes = outcomes};
	struct trace_order_writer *w = malloc(sizeof(*w));
	int rankfd = write_start(*state, 0);

	write_meta(*state);
	order_open(w, rankfd, "0.order", 0, 0, "0");
	put(w, TRACE_WORLD, 1, 0);
	assert_int_equal(trace_order_put_polls(w, MANY_POLLS), 0);
	put(w, TRACE_INDEX, 1, 0);
	trace_order_put_last(w, TRACE_END, TRACE_END_EXIT, 0);
	trace_stream_close(&w->stream);
	free(w);
	write_input(rankfd, 0, "threads=1");
	close(rankfd);
	check_rewritten(*state, "all", &all);
	check_rewritten(*state, "whole", &whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(test_counts),
		scratch_test(test_a_long_note_is_one_note),
		scratch_test(test_ends),
		scratch_test(test_a_rank_that_became_another_program),
		scratch_test(test_missing_ranks_are_noticed),
		scratch_test(test_a_stream_under_a_false_name_is_refused),
		scratch_test(test_missing_streams_are_noticed),
		scratch_test(test_a_rank_that_came_not_far_is_whole),
		scratch_test(test_many_ranks),
		scratch_test(test_damage_anywhere_is_survived),
		scratch_test(test_more_polls_than_32_bits_are_rewritten),
	};

	return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
