/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed logs: what is unpacked for a part of the events has all that is read there, also the head
 * of the record that follows; and a changed byte is noticed by whoever unpacks its block.
 */
#include "replay/packed.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "scratch.h"

#define NAME "0.log"
#define PACKED "0.log.zst"
#define RECORDS 300
#define LARGE (3u << 20)
#define HEAD 16 /* of a record, at most */

static uint64_t event[RECORDS], at[RECORDS + 1]; /* of records, and where they are in the file */
static uint8_t contents[LARGE];

static void make_log(const struct scratch *dir, uint64_t seed)
{
	struct trace_log_writer w;

	for (size_t i = 0; i < LARGE; i++)
		contents[i] = (uint8_t)(random_next(&seed) >> (i % 3 ? 60 : 56));
	assert_int_equal(trace_log_create(&w, dir->fd, NAME, 1, 0, "0"), 0);
	for (int i = 0; i < RECORDS; i++) {
		struct trace_log_rec rec = {.kind = TRACE_LOG_RESULT};

		rec.event = event[i] = (i ? event[i - 1] : 1) + random_next(&seed) % 3;
		rec.bytes = i % 100 == 50 ? LARGE : random_next(&seed) % 60000;
		at[i] = TRACE_HEADER_BYTES + w.stream.length;
		assert_int_equal(trace_log_put(&w, &rec), 0);
		assert_int_equal(trace_log_contents(&w, contents, rec.bytes), 0);
	}
	at[RECORDS] = TRACE_HEADER_BYTES + w.stream.length;
	trace_stream_close(&w.stream);
	assert_int_equal(replay_packed_make(dir->fd, NAME, dir->fd, PACKED), 0);
}

static void *map(const struct scratch *dir, const char *name, size_t *size)
{
	int fd = openat(dir->fd, name, O_RDONLY);
	struct stat st;
	void *p;

	assert_int_equal(fstat(fd, &st), 0);
	*size = (size_t)st.st_size;
	p = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	close(fd);
	return p;
}

static void check_part(const struct scratch *dir, const struct replay_packed *p,
		       const uint8_t *whole, size_t size, uint64_t from, uint64_t to)
{
	int fd = openat(dir->fd, "part", O_RDWR | O_CREAT | O_TRUNC, 0600);
	size_t first = replay_packed_first(p, from), behind = replay_packed_behind(p, to), n;
	uint8_t *part;

	assert_int_equal(ftruncate(fd, (off_t)p->raw), 0);
	assert_int_equal(replay_packed_unpack(p, first, behind, fd), 0);
	close(fd);
	part = map(dir, "part", &n);
	assert_int_equal(n, size);
	for (int i = 0; i < RECORDS; i++) {
		size_t bytes = at[i + 1] - at[i];

		if (event[i] < from)
			continue;
		/* The first that is not wanted any more. */
		if (event[i] > to)
			bytes = bytes < HEAD ? bytes : HEAD;
		assert_memory_equal(part + at[i], whole + at[i], bytes);
		if (event[i] > to)
			break;
	}
	munmap(part, n);
}

static void test_parts(void **state)
{
	const struct scratch *dir = *state;
	struct replay_packed p;
	uint64_t seed = 5;
	size_t size;
	uint8_t *whole;

	make_log(dir, 11);
	whole = map(dir, NAME, &size);
	assert_int_equal(replay_packed_open(&p, dir->fd, PACKED), 0);
	assert_int_equal(p.raw, size);
	assert_true(p.blocks > 8);
	/* A part is less than all of it. */
	assert_true(replay_packed_first(&p, event[RECORDS - 1]) > p.blocks / 2);
	assert_true(replay_packed_behind(&p, event[10]) < p.blocks / 2);
	check_part(dir, &p, whole, size, 0, UINT64_MAX);
	for (int i = 0; i < 40; i++) {
		uint64_t from = random_next(&seed) % (event[RECORDS - 1] + 2);

		check_part(dir, &p, whole, size, from, from + random_next(&seed) % 40);
	}
	replay_packed_close(&p);
	munmap(whole, size);
}

/* Unpacks all of it; true if that gives what was packed, or says that it does not. */
static bool is_noticed(const struct scratch *dir, const uint8_t *whole, size_t size)
{
	int fd = openat(dir->fd, "all", O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct replay_packed p;
	bool good = true;
	size_t n;
	uint8_t *all;
	int rc = replay_packed_open(&p, dir->fd, PACKED);

	if (!rc) {
		assert_int_equal(p.raw, size);
		rc = replay_packed_unpack(&p, 0, p.blocks, fd);
		replay_packed_close(&p);
	}
	close(fd);
	if (!rc) {
		all = map(dir, "all", &n);
		good = n == size && memcmp(all, whole, n) == 0;
		munmap(all, n);
	}
	return rc ? rc == -EBADMSG : good;
}

static void test_changed(void **state)
{
	const struct scratch *dir = *state;
	uint64_t seed = 7;
	size_t size;
	uint8_t *whole;
	struct stat st;
	int fd;

	make_log(dir, 12);
	whole = map(dir, NAME, &size);
	fd = openat(dir->fd, PACKED, O_RDWR);
	assert_int_equal(fstat(fd, &st), 0);
	for (int i = 0; i < 60; i++) {
		/* Half of them in the index, at the end. */
		off_t place = i % 2 ? st.st_size - 1 - (off_t)(random_next(&seed) % 200)
				    : (off_t)(random_next(&seed) % (uint64_t)st.st_size);
		uint8_t byte, other;

		assert_int_equal(pread(fd, &byte, 1, place), 1);
		other = byte ^ (uint8_t)(1u << i % 8);
		assert_int_equal(pwrite(fd, &other, 1, place), 1);
		assert_true(is_noticed(dir, whole, size));
		assert_int_equal(pwrite(fd, &byte, 1, place), 1);
	}
	for (off_t cut = 1; cut < st.st_size; cut *= 2) {
		struct replay_packed p;

		assert_int_equal(ftruncate(fd, st.st_size - cut), 0);
		assert_int_equal(replay_packed_open(&p, dir->fd, PACKED), -EBADMSG);
	}
	close(fd);
	munmap(whole, size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(test_parts),
		scratch_test(test_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
