/* SPDX-License-Identifier: Apache-2.0 */
/* The kit of the hooks: lock, pages, random numbers, text, time and the reader of /proc. Its table
 * has a test of its own. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "hook/kit/lock.h"
#include "hook/kit/pages.h"
#include "hook/kit/proc.h"
#include "hook/kit/random.h"
#include "hook/kit/text.h"
#include "hook/kit/time.h"

#define THREADS 4
#define ROUNDS 20000
#define PAGE 4096

static struct hook_lock lock;
static uint64_t counter; /* not atomic: only the lock keeps it right */
static void (*how)(void);

static void take_plainly(void)
{
	hook_lock_take(&lock);
}

static void take_by_trying(void)
{
	while (!hook_lock_try(&lock))
		sched_yield();
}

static void take_with_patience(void)
{
	while (!hook_lock_take_within(&lock, 3))
		continue;
}

static void take_as_process(void)
{
	hook_lock_take_as(&lock, getpid());
}

static void *count_up(void *unused)
{
	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		how();
		counter++;
		hook_lock_give(&lock);
	}
	return NULL;
}

static void lock_keeps_apart(void **state)
{
	void (*ways[])(void) = {take_plainly, take_by_trying, take_with_patience, take_as_process};
	pthread_t threads[THREADS];

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		how = ways[i];
		counter = 0;
		for (int j = 0; j < THREADS; j++)
			assert_int_equal(pthread_create(&threads[j], NULL, count_up, NULL), 0);
		for (int j = 0; j < THREADS; j++)
			pthread_join(threads[j], NULL);
		assert_int_equal(counter, THREADS * ROUNDS);
	}
}

static void lock_is_not_had_twice(void **state)
{
	(void)state;
	hook_lock_take(&lock);
	assert_false(hook_lock_try(&lock));
	assert_false(hook_lock_take_within(&lock, 5));
	hook_lock_give(&lock);
	assert_true(hook_lock_take_within(&lock, 1));
	hook_lock_give(&lock);
}

/* A child of fork has a lock that a thread held which it has not. */
static void lock_of_another_process_is_taken_over(void **state)
{
	int status = 0;
	pid_t child;

	(void)state;
	hook_lock_take_as(&lock, getpid());
	child = fork();
	if (child == 0) {
		alarm(20);
		hook_lock_take_as(&lock, getpid());
		_exit(lock.holder == getpid() ? 7 : 8);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	hook_lock_give(&lock);
}

static bool is_zero(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i])
			return false;
	}
	return true;
}

static void pages_are_empty_and_widen(void **state)
{
	char *p = hook_pages(3 * PAGE), *sparse = hook_pages_sparse((size_t)1 << 40), *wide;

	(void)state;
	assert_non_null(p);
	assert_true(is_zero(p, 3 * PAGE));
	assert_non_null(sparse);
	sparse[(size_t)1 << 39] = 1;
	hook_pages_free(sparse, (size_t)1 << 40);
	memset(p, 'x', 3 * PAGE);
	wide = hook_pages_widen(p, 3 * PAGE, 8 * PAGE);
	assert_non_null(wide);
	assert_true(wide[0] == 'x' && wide[3 * PAGE - 1] == 'x');
	assert_true(is_zero(wide + 3 * PAGE, 5 * PAGE));
	assert_null(hook_pages_widen(wide, 8 * PAGE, SIZE_MAX / 2));
	assert_true(wide[0] == 'x');
	hook_pages_free(wide, 8 * PAGE);
	hook_pages_free(NULL, PAGE);
	wide = hook_pages_widen(NULL, 0, PAGE);
	assert_true(is_zero(wide, PAGE));
	hook_pages_free(wide, PAGE);
	assert_null(hook_pages(SIZE_MAX / 2));
}

static void pages_are_where_they_were_asked_for(void **state)
{
	char *p = hook_pages(4 * PAGE);

	(void)state;
	assert_non_null(p);
	strcpy(p, "here");
	assert_int_equal(hook_pages_at(p, PAGE, 0), -EEXIST);
	assert_int_equal(hook_pages_at(p, PAGE, MAP_NORESERVE), -EEXIST);
	assert_string_equal(p, "here");
	hook_pages_free(p, 4 * PAGE);
	assert_int_equal(hook_pages_at(p, 4 * PAGE, 0), 0);
	assert_true(is_zero(p, 4 * PAGE));
	hook_pages_free(p, 4 * PAGE);
}

/* Recordings with noise are told by their seed: the row stays what it is. */
static void random_numbers_follow_from_the_seed(void **state)
{
	uint64_t seed = 1, other = 1, ones[64] = {0};

	(void)state;
	assert_int_equal(hook_random_next(&seed), 0x40822041u);
	for (int i = 0; i < 1000; i++) {
		uint64_t x = hook_random_next(&seed);

		assert_true(x != 0 && x == seed);
		for (int b = 0; b < 64; b++)
			ones[b] += x >> b & 1;
	}
	hook_random_next(&other);
	for (int i = 0; i < 1000; i++)
		hook_random_next(&other);
	assert_int_equal(seed, other);
	for (int b = 0; b < 64; b++)
		assert_in_range(ones[b], 400, 600);
}

static void spread_reaches_the_highest_bits(void **state)
{
	bool seen[256] = {false};
	int different = 0;

	(void)state;
	for (uint64_t i = 0; i < 256; i++) {
		different += !seen[hook_random_spread(i * 64) >> 56];
		seen[hook_random_spread(i * 64) >> 56] = true;
	}
	assert_in_range(different, 128, 256);
}

static void proc_is_read(void **state)
{
	char text[4096], path[HOOK_PROC_PATH], small[5];
	pid_t tid = (pid_t)syscall(SYS_gettid);

	(void)state;
	errno = 77;
	assert_int_equal(hook_proc_of_thread(tid, "comm", text, sizeof(text)),
			 strlen("test-kit\n"));
	assert_string_equal(text, "test-kit\n");
	assert_int_equal(hook_proc_of_process(getpid(), "comm", small, sizeof(small)), 4);
	assert_string_equal(small, "test");
	assert_int_equal(hook_proc_read("/proc/none", text, sizeof(text)), 0);
	assert_string_equal(text, "");
	hook_proc_read("/proc/self/status", text, sizeof(text));
	assert_int_equal(atoi(hook_proc_value(text, "\nPid:")), getpid());
	assert_null(hook_proc_value(text, "Nothing:"));
	assert_int_equal(errno, 77);
	hook_proc_fd_path(12, path);
	assert_string_equal(path, "/proc/self/fd/12");
}

static void descriptors_lead_somewhere(void **state)
{
	char target[256], small[5];
	int fd = open("/dev/null", O_RDONLY);

	(void)state;
	errno = 77;
	assert_int_equal(hook_proc_fd_target(fd, target, sizeof(target)), strlen("/dev/null"));
	assert_string_equal(target, "/dev/null");
	assert_int_equal(hook_proc_fd_target(fd, small, sizeof(small)), 4);
	assert_string_equal(small, "/dev");
	close(fd);
	errno = 77;
	assert_int_equal(hook_proc_fd_target(fd, target, sizeof(target)), 0);
	assert_string_equal(target, "");
	assert_int_equal(errno, 77);
}

static void text_is_put_together(void **state)
{
	static const char *const words[] = {"OMPI_", "PMI", NULL};
	char room[64];
	struct hook_text text = hook_text_in(room, sizeof(room));

	(void)state;
	assert_string_equal(room, "");
	hook_text_add(&text, "rank ");
	hook_text_padded(&text, 7, 4);
	hook_text_add(&text, " ");
	hook_text_number(&text, -3);
	hook_text_add(&text, " ");
	hook_text_hex(&text, 0xfeed);
	assert_string_equal(room, "rank 0007 -3 0xfeed");
	text = hook_text_in(room, sizeof(room));
	hook_text_number(&text, INT64_MIN);
	hook_text_hex(&text, UINT64_MAX);
	hook_text_hex(&text, 0);
	assert_string_equal(room, "-92233720368547758080xffffffffffffffff0x0");
	text = hook_text_in(room, sizeof(room));
	hook_text_padded(&text, 12345, 4);
	hook_text_padded(&text, 1234, 4);
	hook_text_padded(&text, 0, 1);
	hook_text_padded(&text, UINT32_MAX, 12);
	assert_string_equal(room, "1234512340004294967295");
	assert_true(hook_text_begins_with("PMI_RANK", words));
	assert_true(hook_text_begins_with("OMPI_", words));
	assert_false(hook_text_begins_with("OMPI", words));
	assert_false(hook_text_begins_with("", words));
}

/* What does not fit is left out, and nothing behind the room is touched. */
static void text_stays_in_its_room(void **state)
{
	char room[16];

	(void)state;
	for (size_t size = 1; size < sizeof(room); size++) {
		struct hook_text text;

		memset(room, '#', sizeof(room));
		text = hook_text_in(room, size);
		hook_text_add(&text, "abc");
		hook_text_number(&text, 123456);
		hook_text_padded(&text, 1, 9);
		hook_text_hex(&text, 1);
		assert_memory_equal(room, "abc123456000000", size - 1);
		assert_int_equal(room[size - 1], '\0');
		for (size_t i = size; i < sizeof(room); i++)
			assert_int_equal(room[i], '#');
	}
}

static void time_goes_on(void **state)
{
	uint64_t before = hook_time_now(), after, day = hook_time_of(CLOCK_REALTIME);

	(void)state;
	assert_true(day / 1000000000u <= (uint64_t)time(NULL));
	hook_time_nap(2000000);
	after = hook_time_now();
	assert_true(after - before >= 2000000);
	assert_true(after - before < 60000000000u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lock_keeps_apart),
		cmocka_unit_test(lock_is_not_had_twice),
		cmocka_unit_test(lock_of_another_process_is_taken_over),
		cmocka_unit_test(pages_are_empty_and_widen),
		cmocka_unit_test(pages_are_where_they_were_asked_for),
		cmocka_unit_test(random_numbers_follow_from_the_seed),
		cmocka_unit_test(spread_reaches_the_highest_bits),
		cmocka_unit_test(text_is_put_together),
		cmocka_unit_test(text_stays_in_its_room),
		cmocka_unit_test(time_goes_on),
		cmocka_unit_test(proc_is_read),
		cmocka_unit_test(descriptors_lead_somewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
