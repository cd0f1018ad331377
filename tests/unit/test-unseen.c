/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording does not hold comes back with its place and count; two writers of one key are
 * one for the reader; a file that is cut or changed anywhere is refused or tells of less, never of
 * else.
 */
#include "trace/unseen.h"

#include <errno.h>
#include <sys/stat.h>

#include "scratch.h"

static struct trace_unseen filled(const char *key, uint64_t event)
{
	struct trace_unseen f = {.event = event, .ns = 5};

	snprintf(f.key, sizeof(f.key), "%s", key);
	snprintf(f.what, sizeof(f.what), "what %s is", key);
	strcpy(f.thread, "0.1");
	return f;
}

static void test_comes_back(void **state)
{
	const struct scratch *dir = *state;
	struct trace_unseen a = filled("a", 7), b = filled("b", 9), out[TRACE_UNSEEN_SLOTS];
	struct trace_unseen *slots = trace_unseen_map(dir->fd, TRACE_UNSEEN_NAME), *again, *slot;
	const char *why = NULL;

	assert_non_null(slots);
	slot = trace_unseen_take(slots, &a);
	slot->count += 2;
	trace_unseen_take(slots, &b)->count++;
	/* another process of the rank, later in its own events */
	again = trace_unseen_map(dir->fd, TRACE_UNSEEN_NAME);
	a.event = 100;
	trace_unseen_take(again, &a)->count += 3;
	assert_int_equal(trace_unseen_read(dir->fd, out, &why), 2);
	assert_string_equal(out[0].what, "what a is");
	assert_int_equal(out[0].event, 7);
	assert_int_equal(out[0].count, 5);
	assert_string_equal(out[1].key, "b");
}

static void test_nothing(void **state)
{
	const struct scratch *dir = *state;
	struct trace_unseen out[TRACE_UNSEEN_SLOTS];
	const char *why = NULL;

	assert_int_equal(trace_unseen_read(dir->fd, out, &why), 0);
	assert_non_null(trace_unseen_map(dir->fd, TRACE_UNSEEN_NAME));
	assert_int_equal(trace_unseen_read(dir->fd, out, &why), 0);
}

static void test_full(void **state)
{
	const struct scratch *dir = *state;
	struct trace_unseen *slots = trace_unseen_map(dir->fd, TRACE_UNSEEN_NAME), f,
			    out[TRACE_UNSEEN_SLOTS];
	const char *why = NULL;
	char key[16];

	for (int i = 0; i <= TRACE_UNSEEN_SLOTS; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		f = filled(key, 1);
		assert_true((trace_unseen_take(slots, &f) != NULL) == (i < TRACE_UNSEEN_SLOTS));
	}
	assert_int_equal(trace_unseen_read(dir->fd, out, &why), TRACE_UNSEEN_SLOTS);
}

static void test_damage(void **state)
{
	const struct scratch *dir = *state;
	struct trace_unseen a = filled("a", 7), out[TRACE_UNSEEN_SLOTS];
	struct trace_unseen *slots = trace_unseen_map(dir->fd, TRACE_UNSEEN_NAME);
	const char *why;
	struct stat st;
	int fd;

	trace_unseen_take(slots, &a)->count = 1;
	fd = openat(dir->fd, TRACE_UNSEEN_NAME, O_RDWR);
	assert_int_equal(fstat(fd, &st), 0);
	for (size_t i = 0; i < sizeof(a); i++) {
		((uint8_t *)slots)[i] ^= 0x55;
		why = NULL;
		if (i >= offsetof(struct trace_unseen, count) &&
		    i < offsetof(struct trace_unseen, event))
			assert_int_equal(trace_unseen_read(dir->fd, out, &why), 1);
		else
			assert_int_equal(trace_unseen_read(dir->fd, out, &why), -EBADMSG);
		((uint8_t *)slots)[i] ^= 0x55;
	}
	assert_int_equal(ftruncate(fd, st.st_size - 1), 0);
	assert_int_equal(trace_unseen_read(dir->fd, out, &why), -EBADMSG);
	assert_non_null(why);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(test_comes_back),
		scratch_test(test_nothing),
		scratch_test(test_full),
		scratch_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
