/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of files: what was put comes back; cut anywhere or filled at random they are read or
 * refused, never read past their end (each view ends where its memory ends).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/files.h"

#define MANY 500

static char dir[64];
static int dir_fd = -1;

static int make_dir(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/test-files-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	return dir_fd < 0 ? -1 : 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlinkat(dir_fd, "s", 0);
	close(dir_fd);
	return rmdir(dir);
}

static uint64_t any_number(void)
{
	return ((uint64_t)random() << 33 ^ (uint64_t)random()) >> random() % 64;
}

static struct trace_file any_file(const char *path)
{
	struct trace_file file = {
		.device = any_number(),
		.inode = any_number(),
		.size = any_number(),
		.modified = (int64_t)any_number() * (random() % 2 ? 1 : -1),
		.flags = (uint32_t)random() % (TRACE_FILE_FLAGS + 1),
		.length = 1 + (uint32_t)random() % (TRACE_FILE_PATH - 1),
		.path = path,
	};

	file.hash = file.flags & TRACE_FILE_HASHED ? any_number() : 0;
	return file;
}

static void write_many(struct trace_file files[MANY], const char *path)
{
	struct trace_stream s;

	unlinkat(dir_fd, "s", 0);
	assert_int_equal(trace_stream_create(&s, dir_fd, "s", TRACE_STREAM_FILES, 0, 0, "0"), 0);
	for (int i = 0; i < MANY; i++) {
		files[i] = any_file(path);
		assert_int_equal(trace_file_put(&s, &files[i]), 0);
	}
	files[0].length = TRACE_FILE_PATH;
	assert_int_equal(trace_file_put(&s, &files[0]), -ENAMETOOLONG);
	trace_stream_close(&s);
}

static void every_record_comes_back(void **state)
{
	static struct trace_file files[MANY];
	char path[TRACE_FILE_PATH], name[TRACE_FILE_COPY_BYTES];
	struct trace_file file;
	struct trace_view v;
	const char *why;
	uint64_t at = 0;

	(void)state;
	memset(path, 'p', sizeof(path));
	write_many(files, path);
	assert_int_equal(trace_view_open(&v, dir_fd, "s", &why), 0);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(trace_file_next(&v, &at, &file), 1);
		assert_int_equal(file.device, files[i].device);
		assert_int_equal(file.inode, files[i].inode);
		assert_int_equal(file.size, files[i].size);
		assert_int_equal(file.modified, files[i].modified);
		assert_int_equal(file.flags, files[i].flags);
		assert_int_equal(file.hash, files[i].hash);
		assert_true(!i || file.length == files[i].length);
		assert_memory_equal(file.path, path, file.length);
		trace_file_copy_name(&file, name);
		assert_true(strlen(name) < sizeof(name) && !strchr(name, '/'));
	}
	assert_int_equal(trace_file_next(&v, &at, &file), 0);
	trace_view_close(&v);
}

/* Bytes at the very end of what may be read. */
static int read_all(const uint8_t *bytes, size_t n)
{
	uint8_t *exact = malloc(n ? n : 1);
	struct trace_view v = {.bytes = exact, .length = n};
	struct trace_file file;
	uint64_t at = 0;
	int rc;

	memcpy(exact, bytes, n);
	while ((rc = trace_file_next(&v, &at, &file)) == 1) {
		assert_true(at <= n && file.length && file.length < TRACE_FILE_PATH);
		assert_true((const uint8_t *)file.path + file.length <= exact + n);
	}
	free(exact);
	return rc;
}

static void damage_is_refused(void **state)
{
	static struct trace_file files[MANY];
	char path[TRACE_FILE_PATH];
	uint8_t bytes[64];
	struct trace_file file;
	struct trace_view v;
	const char *why;
	uint64_t at = 0;

	(void)state;
	memset(path, 'p', sizeof(path));
	write_many(files, path);
	assert_int_equal(trace_view_open(&v, dir_fd, "s", &why), 0);
	assert_int_equal(trace_file_next(&v, &at, &file), 1);
	for (uint64_t n = 1; n < at; n++)
		assert_int_equal(read_all(v.bytes, n), -EBADMSG);
	trace_view_close(&v);
	for (int i = 0; i < 100000; i++) {
		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (uint8_t)(random() >> 8) & (random() % 2 ? 0xff : 0x0f);
		assert_true(read_all(bytes, (size_t)random() % sizeof(bytes)) <= 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_record_comes_back),
		cmocka_unit_test(damage_is_refused),
	};

	return cmocka_run_group_tests_name("files", tests, make_dir, remove_dir);
}
