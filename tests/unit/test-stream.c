/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream gives back every byte, or says why not: across moving windows, on file systems without
 * fallocate, on a full disk, cut at every length, with every byte changed. The fallocate below
 * stands before libc's, so that each answer of a file system can be had at will.
 */
#include "trace/stream.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "scratch.h"

static int fallocate_errno;

int fallocate(int fd, int mode, off_t offset, off_t length)
{
	if (fallocate_errno) {
		errno = fallocate_errno;
		return -1;
	}
	return (int)syscall(SYS_fallocate, fd, mode, offset, length);
}

static void create(struct trace_stream *s, const struct scratch *dir, const char *name)
{
	assert_int_equal(trace_stream_create(s, dir->fd, name, TRACE_STREAM_ORDER, 7, 2, "0.3"), 0);
}

static void view(struct trace_view *v, const struct scratch *dir, const char *name)
{
	const char *why = NULL;
	int rc = trace_view_open(v, dir->fd, name, &why);

	if (rc)
		fail_msg("%s %s", name, why);
}

static void assert_refused(const struct scratch *dir, const char *name)
{
	struct trace_view v;
	const char *why = NULL;

	assert_true(trace_view_open(&v, dir->fd, name, &why) < 0);
	assert_non_null(why);
}

static void test_header_comes_back(void **state)
{
	struct trace_stream s;
	struct trace_view v;

	create(&s, *state, "s");
	trace_stream_set_events(&s, 0x123456789abcull, true);
	trace_stream_set_run(&s, UINT32_MAX);
	trace_stream_close(&s);
	view(&v, *state, "s");
	assert_int_equal(v.header->kind, TRACE_STREAM_ORDER);
	assert_int_equal(v.header->rank, 7);
	assert_int_equal(v.header->process, 2);
	assert_string_equal(v.header->thread, "0.3");
	assert_int_equal(v.length, 0);
	assert_int_equal(v.events, 0x123456789abcull);
	assert_true(v.inside);
	assert_int_equal(v.run, UINT32_MAX);
	assert_int_equal(v.polls, 0);
	trace_view_close(&v);
}

static void test_a_name_is_claimed_once(void **state)
{
	struct scratch *dir = *state;
	struct trace_stream first, second;

	create(&first, dir, "s");
	assert_int_equal(trace_stream_create(&second, dir->fd, "s", TRACE_STREAM_ORDER, 0, 0, "0"),
			 -EEXIST);
	trace_stream_append(&first, "abc", 3);
	trace_stream_close(&first);
	assert_int_equal(faccessat(dir->fd, "s", R_OK, 0), 0);
}

static void write_pieces(struct trace_stream *s, uint8_t *all, size_t size)
{
	uint64_t seed = 3;
	size_t n;

	for (size_t i = 0; i < size; i++)
		all[i] = (uint8_t)random_next(&seed);
	for (size_t at = 0; at < size; at += n) {
		n = 1 + random_next(&seed) % (random_next(&seed) % 8 ? 40 : 65536);
		if (n > size - at)
			n = size - at;
		assert_int_equal(trace_stream_reserve(s, n), 0);
		trace_stream_append(s, all + at, n);
	}
}

static void check_windows(const struct scratch *dir, const char *name)
{
	const size_t size = 5u << 20;
	uint8_t *all = malloc(size);
	struct trace_stream s;
	struct trace_view v;
	struct stat st;

	create(&s, dir, name);
	write_pieces(&s, all, size);
	view(&v, dir, name);
	assert_int_equal(v.length, size);
	assert_memory_equal(v.bytes, all, size);
	trace_view_close(&v);
	trace_stream_close(&s);
	assert_int_equal(fstatat(dir->fd, name, &st, 0), 0);
	assert_int_equal(st.st_size, TRACE_HEADER_BYTES + size);
	view(&v, dir, name);
	assert_memory_equal(v.bytes, all, size);
	trace_view_close(&v);
	free(all);
}

static void test_windows_move(void **state)
{
	check_windows(*state, "s");
}

static void test_windows_move_without_fallocate(void **state)
{
	fallocate_errno = EOPNOTSUPP;
	check_windows(*state, "s");
	fallocate_errno = 0;
}

static void test_creation_fails_cleanly(void **state)
{
	struct scratch *dir = *state;
	struct trace_stream s;
	int gone;

	fallocate_errno = ENOSPC;
	assert_int_equal(trace_stream_create(&s, dir->fd, "s", TRACE_STREAM_ORDER, 0, 0, "0"),
			 -ENOSPC);
	fallocate_errno = 0;
	assert_int_equal(faccessat(dir->fd, "s", F_OK, 0), -1);
	assert_null(s.header);
	trace_stream_close(&s);
	assert_int_equal(mkdirat(dir->fd, "gone", 0700), 0);
	gone = openat(dir->fd, "gone", O_RDONLY | O_DIRECTORY);
	assert_int_equal(unlinkat(dir->fd, "gone", AT_REMOVEDIR), 0);
	assert_int_equal(trace_stream_create(&s, gone, "s", TRACE_STREAM_ORDER, 0, 0, "0"),
			 -ENOENT);
	close(gone);
	assert_true(trace_stream_create(&s, -1, "s", TRACE_STREAM_ORDER, 0, 0, "0") < 0);
}

/* The disk fills up: what was written stays, and the spare bytes take one last record. */
static void test_full_disk_leaves_room_for_the_last_record(void **state)
{
	uint8_t last[TRACE_STREAM_SPARE];
	struct trace_stream s;
	struct trace_view v;
	uint64_t before;

	create(&s, *state, "s");
	fallocate_errno = ENOSPC;
	while (trace_stream_reserve(&s, 3) == 0)
		trace_stream_append(&s, "xyz", 3);
	assert_int_equal(trace_stream_reserve(&s, 3), -ENOSPC);
	fallocate_errno = 0;
	before = s.length;
	assert_true(before > 32768);
	memset(last, 0xee, sizeof(last));
	trace_stream_append_spare(&s, last, sizeof(last));
	trace_stream_append_spare(&s, last, sizeof(last));
	trace_stream_close(&s);
	view(&v, *state, "s");
	assert_int_equal(v.length, before + sizeof(last));
	assert_memory_equal(v.bytes, "xyzxyz", 6);
	assert_memory_equal(v.bytes + before, last, sizeof(last));
	trace_view_close(&v);
}

/* A program that closes all descriptors and opens its own must not find our bytes in its file. */
static void test_a_stolen_descriptor_is_left_alone(void **state)
{
	struct scratch *dir = *state;
	struct trace_stream s;
	struct trace_view v;
	struct stat st;
	int theirs = openat(dir->fd, "theirs", O_RDWR | O_CREAT, 0600);

	create(&s, dir, "s");
	trace_stream_append(&s, "abc", 3);
	assert_int_equal(dup2(theirs, s.fd), s.fd);
	assert_int_equal(trace_stream_reserve(&s, 65536), -EBADF);
	trace_stream_append(&s, "def", 3);
	trace_stream_close(&s);
	assert_int_equal(fstat(theirs, &st), 0);
	assert_int_equal(st.st_size, 0);
	close(theirs);
	view(&v, dir, "s");
	assert_int_equal(v.length, 6);
	assert_memory_equal(v.bytes, "abcdef", 6);
	trace_view_close(&v);
}

static void test_a_forked_child_lets_go(void **state)
{
	struct trace_stream s;
	struct trace_view v;
	int status;
	pid_t child;

	create(&s, *state, "s");
	child = fork();
	if (child == 0) {
		trace_stream_forget(&s);
		trace_stream_close(&s);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	trace_stream_append(&s, "abc", 3);
	trace_stream_close(&s);
	view(&v, *state, "s");
	assert_int_equal(v.length, 3);
	trace_view_close(&v);
}

/* A damaged copy of a stream, and what it says beside the original. */
struct damage {
	uint8_t *bytes;
	size_t size;
	struct trace_view original;
	const struct scratch *dir;
	int fd;
};

static void damage_open(struct damage *d, const struct scratch *dir, const char *name)
{
	view(&d->original, dir, name);
	d->dir = dir;
	d->size = d->original.mapped;
	d->bytes = malloc(d->size);
	memcpy(d->bytes, d->original.header, d->size);
	d->fd = openat(dir->fd, "damaged", O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(d->fd >= 0);
	assert_int_equal(pwrite(d->fd, d->bytes, d->size, 0), d->size);
}

static void damage_close(struct damage *d)
{
	trace_view_close(&d->original);
	free(d->bytes);
	close(d->fd);
}

/* True if it was refused; otherwise it must be the original. */
static bool damage_is_noticed(struct damage *d)
{
	struct trace_view v;
	const char *why = NULL;

	if (trace_view_open(&v, d->dir->fd, "damaged", &why)) {
		assert_non_null(why);
		return true;
	}
	assert_int_equal(v.length, d->original.length);
	assert_memory_equal(v.bytes, d->original.bytes, v.length);
	assert_memory_equal(v.header, d->original.header, offsetof(struct trace_header, check));
	assert_int_equal(v.events, d->original.events);
	assert_int_equal(v.inside, d->original.inside);
	assert_int_equal(v.run, d->original.run);
	assert_int_equal(v.polls, d->original.polls);
	assert_int_equal(v.digest, d->original.digest);
	trace_view_close(&v);
	return false;
}

static bool is_read(size_t at)
{
	return at < sizeof(struct trace_header) || at >= TRACE_HEADER_BYTES ||
	       (at >= TRACE_BEGUN_AT && at < TRACE_BEGUN_AT + sizeof(uint64_t));
}

static void check_every_byte(struct damage *d, size_t from, size_t to, unsigned step)
{
	for (size_t at = from; at < to; at++) {
		for (unsigned x = 1; x < 256; x += step) {
			uint8_t byte = d->bytes[at] ^ (uint8_t)x;
			bool noticed;

			assert_int_equal(pwrite(d->fd, &byte, 1, (off_t)at), 1);
			noticed = damage_is_noticed(d);
			if (noticed != is_read(at))
				fail_msg("byte %zu changed by %#x: %s", at, x,
					 noticed ? "refused" : "not noticed");
		}
		assert_int_equal(pwrite(d->fd, &d->bytes[at], 1, (off_t)at), 1);
	}
}

static void check_every_cut(struct damage *d)
{
	for (size_t size = d->size; size-- > 0;) {
		assert_int_equal(ftruncate(d->fd, (off_t)size), 0);
		assert_true(damage_is_noticed(d));
	}
}

static void check_damage(const struct scratch *dir, const void *bytes, size_t n)
{
	struct trace_stream s;
	struct damage d;

	create(&s, dir, "s");
	if (n)
		trace_stream_append(&s, bytes, n);
	trace_stream_set_events(&s, 1000, false);
	trace_stream_set_run(&s, 17);
	trace_stream_set_polls(&s, 4711, 17);
	trace_stream_close(&s);
	damage_open(&d, dir, "s");
	check_every_byte(&d, 0, sizeof(struct trace_header), 1);
	check_every_byte(&d, sizeof(struct trace_header), TRACE_HEADER_BYTES, 100);
	check_every_byte(&d, TRACE_HEADER_BYTES, d.size, 1);
	check_every_cut(&d);
	damage_close(&d);
	assert_int_equal(unlinkat(dir->fd, "s", 0), 0);
}

static void test_damage_is_noticed(void **state)
{
	uint8_t bytes[100];
	uint64_t seed = 4;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)random_next(&seed);
	check_damage(*state, bytes, sizeof(bytes));
	memset(bytes, 0, sizeof(bytes));
	check_damage(*state, bytes, 50);
	check_damage(*state, bytes, 0);
}

/* A killed writer leaves allocated zeros behind the records: damage must not count them in. */
static void test_damage_of_a_killed_stream_is_noticed(void **state)
{
	static const uint8_t zeros[9];
	struct trace_stream s;
	struct damage d;

	create(&s, *state, "s");
	trace_stream_append(&s, zeros, sizeof(zeros));
	damage_open(&d, *state, "s");
	check_every_byte(&d, 0, sizeof(struct trace_header), 1);
	damage_close(&d);
	trace_stream_close(&s);
}

/* Each count of events is a different word: every byte of it protects itself. */
static void test_counters_protect_themselves(void **state)
{
	struct trace_stream s;
	struct damage d;
	uint64_t seed = 5, events;
	uint32_t run;

	create(&s, *state, "s");
	for (int i = 0; i < 20; i++) {
		events = random_value(&seed) >> 17;
		trace_stream_begin_event(&s, events + i % 3, (uint32_t)random_value(&seed));
		trace_stream_set_events(&s, events, i & 1);
		run = (uint32_t)random_value(&seed);
		trace_stream_set_run(&s, run);
		trace_stream_set_polls(&s, (uint32_t)random_value(&seed), run);
		damage_open(&d, *state, "s");
		check_every_byte(&d, offsetof(struct trace_header, events),
				 TRACE_BEGUN_AT + sizeof(uint64_t), 1);
		damage_close(&d);
	}
	trace_stream_close(&s);
}

/* What is known at any instruction of an event. */
static void check_begun(const struct scratch *dir, uint64_t events, bool inside, bool has,
			uint32_t digest)
{
	struct trace_view v;

	view(&v, dir, "s");
	assert_int_equal(v.events, events);
	assert_int_equal(v.inside, inside);
	assert_int_equal(v.has_digest, has);
	if (has)
		assert_int_equal(v.digest, digest);
	trace_view_close(&v);
}

static void test_events_have_digests(void **state)
{
	struct trace_stream s;

	create(&s, *state, "s");
	check_begun(*state, 0, false, false, 0);
	for (uint64_t event = 1; event < 70000; event++) {
		bool look = event < 3 || event > 65533;

		trace_stream_begin_event(&s, event, (uint32_t)event * 3);
		if (look)
			check_begun(*state, event, true, true, (uint32_t)event * 3);
		trace_stream_set_events(&s, event, false);
		if (look)
			check_begun(*state, event, false, true, (uint32_t)event * 3);
	}
	trace_stream_set_events(&s, 7, true); /* written off line */
	check_begun(*state, 7, true, false, 0);
	trace_stream_close(&s);
}

static void test_foreign_files_are_refused(void **state)
{
	struct scratch *dir = *state;
	uint8_t page[TRACE_HEADER_BYTES] = {0};
	int fd = openat(dir->fd, "zeros", O_RDWR | O_CREAT, 0600);

	assert_int_equal(write(fd, page, sizeof(page)), sizeof(page));
	close(fd);
	assert_refused(dir, "zeros");
	assert_refused(dir, "absent");
	assert_refused(dir, ".");
	assert_int_equal(mknodat(dir->fd, "fifo", S_IFIFO | 0600, 0), 0);
	assert_refused(dir, "fifo");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(test_header_comes_back),
		scratch_test(test_a_name_is_claimed_once),
		scratch_test(test_windows_move),
		scratch_test(test_windows_move_without_fallocate),
		scratch_test(test_creation_fails_cleanly),
		scratch_test(test_full_disk_leaves_room_for_the_last_record),
		scratch_test(test_a_stolen_descriptor_is_left_alone),
		scratch_test(test_a_forked_child_lets_go),
		scratch_test(test_damage_is_noticed),
		scratch_test(test_damage_of_a_killed_stream_is_noticed),
		scratch_test(test_counters_protect_themselves),
		scratch_test(test_events_have_digests),
		scratch_test(test_foreign_files_are_refused),
	};

	return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
