/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of posted receives is read from all order streams of a process, whichever thread has
 * which, and from no stream of another process. Numbers of a stream follow each other, or jump.
 */
#include <errno.h>

#include "base/varint.h"
#include "hook/common/process.h"
#include "hook/mpi/object/posts.h"
#include "scratch.h"
#include "trace/window.h"

#define POSTS 40000 /* more than stay in memory */

struct hook_process hook_process;

int hook_high_fd(int fd)
{
	return fd;
}

static void open_stream(struct trace_order_writer *w, const struct scratch *dir, const char *name)
{
	memset(w, 0, sizeof(*w));
	assert_int_equal(
		trace_stream_create(&w->stream, dir->fd, name, TRACE_STREAM_ORDER, 0, 0, "0"), 0);
}

/* The receive number `wild` of the process; *next is the one that would follow in this stream. */
static void put_post(struct trace_order_writer *w, uint64_t *next, uint64_t wild, uint64_t code)
{
	w->events++;
	assert_int_equal(
		trace_order_put(w, TRACE_POST, code, rp_zigzag((int64_t)wild - (int64_t)*next)), 0);
	trace_stream_set_events(&w->stream, w->events, false);
	*next = wild + 1;
}

static uint64_t code_of(uint64_t wild)
{
	return wild % 7 == 3   ? TRACE_POST_UNKNOWN
	       : wild % 7 == 5 ? TRACE_POST_CANCELLED
			       : TRACE_POST_SOURCE + wild % 11;
}

static void posts_of_two_threads_are_one_list(void **state)
{
	const struct scratch *dir = *state;
	struct trace_order_writer w[2], other;
	uint64_t next[2] = {0, 0}, seed = 5, none = 0;
	uint32_t threads = 0;

	open_stream(&w[0], dir, "0.order");
	open_stream(&w[1], dir, "0.1.order");
	open_stream(&other, dir, "p1-0.order");
	for (uint64_t i = 0; i < POSTS; i++) {
		int who = (int)(seed >> 40 & 1);

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		put_post(&w[who], &next[who], i, code_of(i));
	}
	put_post(&other, &none, POSTS + 5, TRACE_POST_SOURCE + 1);
	assert_int_equal(trace_order_put(&w[0], TRACE_CANCEL, 17, 0), 0);
	assert_int_equal(trace_order_put(&w[1], TRACE_CANCEL, POSTS + 40, 0), 0);
	trace_stream_close(&w[0].stream);
	trace_stream_close(&w[1].stream);
	trace_stream_close(&other.stream);
	hook_process.process = 0;
	snprintf(hook_process.session, sizeof(hook_process.session), "/proc/self/fd/%d", dir->fd);
	assert_null(hook_posts_load(dir->fd, &threads));
	assert_int_equal(threads, 2);
	for (uint64_t i = 0; i < POSTS; i++)
		assert_int_equal(hook_posts_wild(i), code_of(i));
	assert_int_equal(hook_posts_wild(POSTS + 5), TRACE_POST_UNKNOWN);
	assert_int_equal(hook_posts_wild(UINT64_C(1) << 40), TRACE_POST_UNKNOWN);
	assert_true(hook_posts_cancelled(17));
	assert_true(hook_posts_cancelled(POSTS + 40));
	assert_false(hook_posts_cancelled(18));
	/* A second process of the rank has its own. */
	hook_process.process = 1;
	threads = 0;
	assert_null(hook_posts_load(dir->fd, &threads));
	assert_int_equal(threads, 1);
	assert_int_equal(hook_posts_wild(POSTS + 5), TRACE_POST_SOURCE + 1);
}

/* A number or a source that no recording has is refused, and nothing is written far out. */
static void impossible_posts_are_refused(void **state)
{
	const struct scratch *dir = *state;
	uint64_t bad[][2] = {{UINT64_C(1) << 50, TRACE_POST_SOURCE}, {0, UINT64_C(1) << 40}};

	hook_process.process = 0;
	for (size_t i = 0; i < 2; i++) {
		struct trace_order_writer w;
		uint64_t next = 0;
		uint32_t threads = 0;
		const char *why;

		open_stream(&w, dir, "0.order");
		put_post(&w, &next, bad[i][0], bad[i][1]);
		trace_stream_close(&w.stream);
		why = hook_posts_load(dir->fd, &threads);
		assert_non_null(why);
		assert_non_null(strstr(why, "impossible number or source"));
		assert_int_equal(unlinkat(dir->fd, "0.order", 0), 0);
	}
}

static void damage_is_told(void **state)
{
	const struct scratch *dir = *state;
	uint32_t threads = 0;
	int fd = openat(dir->fd, "0.order", O_WRONLY | O_CREAT, 0600);

	hook_process.process = 0;
	assert_int_equal(write(fd, "no stream", 9), 9);
	close(fd);
	assert_non_null(hook_posts_load(dir->fd, &threads));
	assert_non_null(hook_posts_load(-1, &threads));
}

/* What a racing recording had not decided when it ended counts as written. */
static void undecided_outcomes_count(void **state)
{
	const struct scratch *dir = *state;
	struct trace_window window;
	uint32_t threads = 0;

	hook_process.process = 0;
	assert_int_equal(trace_window_create(&window, dir->fd, "0.window", 4), 0);
	trace_window_set(&window, 1, POSTS + 100, 6, 1);
	trace_window_set(&window, 2, POSTS + 150, 5, 1);
	trace_window_clear(&window, 2);
	trace_window_set(&window, 3, POSTS + 200, 2, 3);
	trace_window_close(&window);
	assert_null(hook_posts_load(dir->fd, &threads));
	assert_int_equal(threads, 0);
	assert_int_equal(hook_posts_wild(POSTS + 100), TRACE_POST_SOURCE + 6);
	assert_int_equal(hook_posts_wild(POSTS + 150), TRACE_POST_UNKNOWN);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(hook_posts_wild(POSTS + 200 + i), TRACE_POST_SOURCE + 2);
	assert_int_equal(hook_posts_wild(POSTS + 199), TRACE_POST_UNKNOWN);
	assert_int_equal(hook_posts_wild(POSTS + 203), TRACE_POST_UNKNOWN);
	assert_int_equal(unlinkat(dir->fd, "0.window", 0), 0);
	close(openat(dir->fd, "0.window", O_WRONLY | O_CREAT, 0600));
	assert_non_null(hook_posts_load(dir->fd, &threads));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(posts_of_two_threads_are_one_list, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(impossible_posts_are_refused, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(damage_is_told, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(undecided_outcomes_count, scratch_setup,
						scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
