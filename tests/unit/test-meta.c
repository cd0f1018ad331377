/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meta.json and start.json: what is written is read back, any damage is noticed, nothing crashes.
 * Also the trace directory around them: made once, joined by key, listed, removed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "trace/dir.h"
#include "trace/format.h"
#include "trace/meta.h"

static char place[] = "/tmp/reprise-test-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(place) || chdir(place) != 0)
		return -1;
	unsetenv("REPRISE_TRACE_DIR");
	/* Words about damaged files are expected thousands of times. */
	return freopen("/dev/null", "w", stderr) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return chdir("/") == 0 && rmdir(place) == 0 ? 0 : -1;
}

static char *words[] = {"mpirun",      "-n",           "4",      "./a b", "",
			"caf\xc3\xa9", "\xff\xfe\x01", "q\"'\n", NULL};

static struct trace_meta sample(void)
{
	return (struct trace_meta){
		.version = "0.1.0",
		.argv = words,
		.mpi = "openmpi",
		.front = true,
		.cwd = "/tmp/\xff",
		.host = "h",
		.start = "2026-01-31T12:00:00Z",
		.noisy = true,
		.noise = UINT64_MAX,
		.ended = TRACE_ENDED_SIGNAL,
		.status = 11,
		.seconds = 1.25,
	};
}

static void make_trace(struct trace_dir *dir)
{
	struct trace_meta meta = sample();

	assert_int_equal(trace_dir_create(dir, NULL, "some/dir/a b"), 0);
	assert_int_equal(trace_meta_write(dir, &meta), 0);
}

static void remove_trace(struct trace_dir *dir)
{
	assert_int_equal(trace_dir_remove(dir), 0);
	trace_dir_close(dir);
	assert_int_equal(access("reprise-latest", F_OK), -1);
}

static void assert_strings(char **a, char **b)
{
	size_t i;

	for (i = 0; a[i] && b[i]; i++)
		assert_string_equal(a[i], b[i]);
	assert_null(a[i]);
	assert_null(b[i]);
}

static void meta_round_trip(void **state)
{
	struct trace_meta meta = sample(), back;
	struct trace_dir dir, found;

	(void)state;
	make_trace(&dir);
	assert_string_equal(dir.show, "./reprise-a_b-1");
	assert_int_equal(trace_dir_open(&found, NULL), 0);
	assert_string_equal(found.path, dir.path);
	assert_int_equal(trace_meta_read(&found, &back), 0);
	trace_dir_close(&found);
	assert_strings(back.argv, words);
	assert_string_equal(back.cwd, "/tmp/\xff");
	assert_true(back.front && back.noisy && back.noise == UINT64_MAX);
	assert_int_equal(back.ended, TRACE_ENDED_SIGNAL);
	assert_int_equal(back.status, 11);
	assert_null(back.env);
	trace_meta_free(&back);

	meta.env = words;
	meta.noisy = false;
	meta.ended = TRACE_ENDED_UNKNOWN;
	assert_int_equal(trace_meta_write(&dir, &meta), 0);
	assert_int_equal(trace_meta_read(&dir, &back), 0);
	assert_false(back.noisy);
	assert_strings(back.env, words);
	assert_int_equal(back.ended, TRACE_ENDED_UNKNOWN);
	trace_meta_free(&back);
	remove_trace(&dir);
}

static void start_round_trip(void **state)
{
	struct trace_start start = {
		.rank = 3,
		.argv = words,
		.env = words,
		.cwd = "/",
		.host = "h",
		.program = "/bin/sh",
		.build_id = "xxh64:00",
		.mpi = "none",
		.input = "kept",
		.stack = 4104,
	};
	struct trace_start back;
	struct trace_dir dir;
	int fd;

	(void)state;
	make_trace(&dir);
	fd = trace_dir_claim_rank(&dir, 3);
	assert_true(fd >= 0);
	assert_int_equal(trace_start_write(fd, &start), 0);
	assert_int_equal(trace_start_read(&dir, 3, &back), 0);
	assert_strings(back.env, words);
	assert_string_equal(back.input, "kept");
	assert_int_equal(back.stack, 4104);
	trace_start_free(&back);
	assert_int_equal(trace_start_read(&dir, 0, &back), 2);
	close(fd);
	remove_trace(&dir);
}

static size_t read_meta(char *text, size_t room)
{
	FILE *file = fopen("reprise-latest/meta.json", "r");
	size_t n = fread(text, 1, room, file);

	fclose(file);
	return n;
}

static void write_meta(const char *text, size_t n)
{
	FILE *file = fopen("reprise-latest/meta.json", "w");

	fwrite(text, 1, n, file);
	fclose(file);
}

/* Read what is there: either refused, or the very thing that was written. */
static int read_back(const struct trace_dir *dir)
{
	struct trace_meta back;
	int rc = trace_meta_read(dir, &back);

	if (rc == 0) {
		assert_strings(back.argv, words);
		assert_int_equal(back.status, 11);
		trace_meta_free(&back);
	}
	return rc;
}

static void damage(void **state)
{
	char text[4096], changed[4096];
	struct trace_dir dir;
	size_t n, accepted = 0;

	(void)state;
	make_trace(&dir);
	n = read_meta(text, sizeof(text));
	for (size_t cut = 0; cut < n - 2; cut++) {
		write_meta(text, cut);
		assert_int_equal(read_back(&dir), 2);
	}
	for (size_t i = 0; i < n; i++) {
		for (int bit = 0; bit < 8; bit++) {
			memcpy(changed, text, n);
			changed[i] = (char)(changed[i] ^ 1 << bit);
			write_meta(changed, n);
			accepted += read_back(&dir) == 0;
		}
	}
	/* Only white space may change without harm. */
	assert_true(accepted < n / 4);
	remove_trace(&dir);
}

static void other_files(void **state)
{
	static const char *const texts[] = {
		"",
		"{}",
		"[]",
		"null",
		"\"x\"",
		"{\"format\": 2}",
		"{\"format\": \"1\"}",
		"{\"format\": 1, \"check\": 5}",
		"{\"format\": 1, \"check\": \"0000000000000000\"}",
		"{\"format\": 99999999999999999999}",
	};
	char deep[8192];
	struct trace_dir dir;

	(void)state;
	make_trace(&dir);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_meta(texts[i], strlen(texts[i]));
		assert_int_equal(read_back(&dir), 2);
	}
	memset(deep, '[', sizeof(deep));
	write_meta(deep, sizeof(deep));
	assert_int_equal(read_back(&dir), 2);
	remove_trace(&dir);
}

static void names_are_never_shared(void **state)
{
	struct trace_dir one, two, three;

	(void)state;
	assert_int_equal(trace_dir_create(&one, NULL, "app"), 0);
	assert_int_equal(trace_dir_create(&two, NULL, "app"), 0);
	assert_string_equal(two.show, "./reprise-app-2");
	assert_int_equal(trace_dir_create(&three, "reprise-app-2", "app"), 2);
	assert_int_equal(trace_dir_create(&three, "nosuch/x", "app"), 125);
	assert_int_equal(trace_dir_open(&three, "reprise-app-1"), 2);
	assert_int_equal(trace_dir_open(&three, "nosuch"), 2);
	assert_int_equal(trace_dir_remove(&one), 0);
	trace_dir_close(&one);
	remove_trace(&two);
	assert_int_equal(trace_dir_open(&three, NULL), 2);
}

static void expect_latest(const char *expected)
{
	char target[256];
	ssize_t n = readlink("reprise-latest", target, sizeof(target) - 1);

	assert_true(n > 0);
	target[n] = '\0';
	assert_string_equal(target, expected);
}

/* The link is where a reader looks, and a removed trace gives it back. */
static void latest(void **state)
{
	struct trace_dir one, two, three;

	(void)state;
	assert_int_equal(mkdir("sub", 0700), 0);
	assert_int_equal(trace_dir_create(&one, NULL, "app"), 0);
	expect_latest("reprise-app-1");
	assert_int_equal(trace_dir_create(&two, "sub/x", "app"), 0);
	expect_latest("sub/x");
	assert_int_equal(trace_dir_create(&three, NULL, "app"), 0);
	expect_latest("reprise-app-2");
	/* Another has it by now: it stays. */
	assert_int_equal(trace_dir_remove(&one), 0);
	expect_latest("reprise-app-2");
	assert_int_equal(trace_dir_remove(&three), 0);
	expect_latest("sub/x");
	trace_dir_close(&one);
	trace_dir_close(&three);
	remove_trace(&two);
	assert_int_equal(rmdir("sub"), 0);
}

static void joining(void **state)
{
	struct trace_dir dir[5];
	bool first;

	(void)state;
	assert_int_equal(trace_dir_join(&dir[0], NULL, "app", "key one", 0, &first), 0);
	assert_true(first);
	assert_int_equal(trace_dir_join(&dir[1], NULL, "app", "key one", 1, &first), 0);
	assert_false(first);
	assert_string_equal(dir[0].path, dir[1].path);
	/* Another job, and the same job a second time, go elsewhere. */
	assert_int_equal(trace_dir_join(&dir[2], NULL, "app", "key two", 0, &first), 0);
	assert_string_equal(dir[2].show, "./reprise-app-2");
	assert_int_equal(trace_dir_join(&dir[3], NULL, "app", "key one", 1, &first), 0);
	assert_string_equal(dir[3].show, "./reprise-app-3");
	assert_int_equal(trace_dir_join(&dir[4], "reprise-app-2", "app", "key one", 1, &first), 2);
	trace_dir_close(&dir[1]);
	assert_int_equal(trace_dir_remove(&dir[0]), 0);
	trace_dir_close(&dir[0]);
	assert_int_equal(trace_dir_remove(&dir[2]), 0);
	trace_dir_close(&dir[2]);
	remove_trace(&dir[3]);
}

static void listing(void **state)
{
	static const char *const files[] = {
		"0.order",   "0.input",    "0.10.order", "0.2.order",  "p1-0.order",
		"stdin",     "start.json", "00.order",   "p0-0.order", "0..order",
		"0.x.order", "p-0.order",  "0.order.gz", ".order",
	};
	static const char *const expected[] = {"stdin",     "0.order",    "0.input",
					       "0.2.order", "0.10.order", "p1-0.order"};
	struct trace_streams streams;
	struct trace_ranks ranks;
	struct trace_dir dir;
	int fd;

	(void)state;
	make_trace(&dir);
	assert_int_equal(mkdirat(dir.fd, "rank-00001", 0700), 0);
	assert_int_equal(mkdirat(dir.fd, "rank-x", 0700), 0);
	close(trace_dir_claim_rank(&dir, 10000));
	close(trace_dir_claim_rank(&dir, 0));
	assert_int_equal(trace_dir_ranks(&dir, &ranks), 0);
	assert_int_equal(ranks.n, 2);
	assert_int_equal(ranks.rank[1], 10000);
	assert_false(ranks.contiguous);
	trace_ranks_free(&ranks);

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *path = rp_format("reprise-latest/rank-0000/%s", files[i]);

		close(open(path, O_WRONLY | O_CREAT, 0600));
		free(path);
	}
	assert_int_equal(trace_dir_streams(&dir, 0, &streams, &fd), 0);
	close(fd);
	assert_int_equal(streams.n, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < streams.n; i++)
		assert_string_equal(streams.stream[i].name, expected[i]);
	assert_string_equal(streams.stream[4].thread, "0.10");
	assert_int_equal(streams.stream[5].process, 1);
	trace_streams_free(&streams);
	remove_trace(&dir);
}

/* Links in a trace are removed, what they point to stays. */
static void removal_follows_no_link(void **state)
{
	struct trace_dir dir;

	(void)state;
	assert_int_equal(mkdir("precious", 0700), 0);
	close(open("precious/file", O_WRONLY | O_CREAT, 0600));
	make_trace(&dir);
	assert_int_equal(symlinkat("../precious", dir.fd, "link"), 0);
	assert_int_equal(mkdirat(dir.fd, "sub", 0700), 0);
	assert_int_equal(symlinkat("../../precious", dir.fd, "sub/link"), 0);
	remove_trace(&dir);
	assert_int_equal(unlink("precious/file"), 0);
	assert_int_equal(rmdir("precious"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(meta_round_trip),
		cmocka_unit_test(start_round_trip),
		cmocka_unit_test(damage),
		cmocka_unit_test(other_files),
		cmocka_unit_test(names_are_never_shared),
		cmocka_unit_test(latest),
		cmocka_unit_test(joining),
		cmocka_unit_test(listing),
		cmocka_unit_test(removal_follows_no_link),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
