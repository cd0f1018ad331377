/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files the program writes: their paths are records of the stream of what it prints, so that
 * whoever compares a replay with its recording knows them. Each is noted at its first open. What it
 * does to names ("mkdir /tmp/a") is noted there, too. Threads do that in any order: the records are
 * a set.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/kit/proc.h"
#include "hook/kit/text.h"
#include "hook/output/note.h"
#include "hook/output/output.h"
#include "hook/output/theirs.h"
#include "hook/program/residue.h"
#include "trace/output.h"

#define KNOWN 256

/* What was noted: hashes of the last ones, and how many there are. */
struct noted {
	uint64_t last[KNOWN];
	size_t count;
};

static struct noted files, names;
static bool marked;

bool hook_output_has_files(void)
{
	return files.count > 0;
}

static bool is_in(const struct noted *noted, uint64_t hash)
{
	for (size_t i = 0; i < KNOWN; i++) {
		if (noted->last[i] == hash)
			return true;
	}
	return false;
}

static void cut(void)
{
	static const char words[] = TRACE_OUTPUT_NAMES_CUT;
	static bool is_cut;

	if (is_cut)
		return;
	is_cut = true;
	hook_output_put((sizeof(words) - 1) << 2 | TRACE_OUTPUT_FILE, words, sizeof(words) - 1);
}

/* Of what is more than may be noted, one record says so. */
static void put(struct noted *noted, uint64_t hash, const char *record, size_t n)
{
	static const char mark[] = TRACE_OUTPUT_NAMES;

	if (!marked)
		hook_output_put((sizeof(mark) - 1) << 2 | TRACE_OUTPUT_FILE, mark,
				sizeof(mark) - 1);
	marked = true;
	noted->last[noted->count++ % KNOWN] = hash;
	if (noted->count < TRACE_OUTPUT_MOST_NAMES)
		hook_output_put((uint64_t)n << 2 | TRACE_OUTPUT_FILE, record, n);
	else
		cut();
}

/* The path from the root, as the kernel sees it now. */
static size_t whole_path(int dir, const char *path, char out[PATH_MAX])
{
	size_t n = strlen(path), length = 0;
	long rc;

	if (path[0] != '/' && dir != AT_FDCWD) {
		length = hook_proc_fd_target(dir, out, PATH_MAX);
		if (!length || length >= PATH_MAX - 1 || out[0] != '/')
			return 0;
		out[length++] = '/';
	} else if (path[0] != '/') {
		rc = syscall(SYS_getcwd, out, PATH_MAX);
		if (rc <= 1)
			return 0;
		length = (size_t)rc - 1;
		out[length++] = '/';
	}
	if (length + n >= PATH_MAX)
		return 0;
	memcpy(out + length, path, n);
	return length + n;
}

/* `n` bytes, of which the first are the path. */
static void note_file(const char *path, size_t length, size_t n)
{
	uint64_t hash = XXH3_64bits(path, length) + (n > length);

	if (!is_in(&files, hash))
		put(&files, hash, path, n);
}

static bool keeps(const struct noted *noted)
{
	return !hook_depth && hook_output_keeps() && noted->count < TRACE_OUTPUT_MOST_NAMES;
}

static bool keeps_files(void)
{
	if (files.count >= TRACE_OUTPUT_MOST_NAMES)
		hook_say_once("many-files", "the program writes thousands of files: only the first",
			      " 4096 are compared with those of a replay", NULL);
	return keeps(&files);
}

static bool is_device(const char *path)
{
	static const char *const others[] = {"/dev/", "/proc/", "/sys/"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (strncmp(path, others[i], strlen(others[i])) == 0)
			return true;
	}
	return false;
}

/* Around what is done here, which is not the program's. */
static int begin(void)
{
	int error = errno;

	hook_depth = HOOK_CLOSED;
	hook_output_lock();
	return error;
}

static void end(int error)
{
	hook_output_unlock();
	hook_depth = 0;
	errno = error;
	hook_residue_end();
}

/* `size` is that of a file to which the program appends, or -1. */
static void note_opened(int dir, const char *path, int64_t size)
{
	char whole[PATH_MAX + 32];
	struct hook_text text;
	int error = begin();
	size_t length, n;

	n = length = whole_path(dir, path, whole);
	if (length && size >= 0) {
		text = hook_text_in(whole + length + 1, sizeof(whole) - length - 1);
		whole[length] = '\0';
		hook_text_number(&text, size);
		n = (size_t)(text.at - whole);
	}
	if (length)
		note_file(whole, length, n);
	end(error);
}

void hook_output_writes(int dir, const char *path)
{
	if (!is_device(path) && keeps_files())
		note_opened(dir, path, -1);
}

void hook_output_appends(int dir, const char *path, int fd)
{
	int error = errno;
	struct stat st;

	if (is_device(path) || !keeps_files())
		return;
	hook_depth = HOOK_CLOSED;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		st.st_size = -1;
	hook_depth = 0;
	errno = error;
	if (st.st_size >= 0)
		note_opened(dir, path, st.st_size);
}

void hook_output_child_writes(int fd)
{
	if (hook_output_of_child())
		hook_output_theirs_by_descriptor(fd);
}

/* A file without a name may have been written, too. */
static bool was_written(int dir, const char *path, char whole[PATH_MAX])
{
	size_t n = whole_path(dir, path, whole);

	return n && (is_in(&files, XXH3_64bits(whole, n)) || strncmp(whole, "/proc/", 6) == 0);
}

/* One that was written gets another name, often that by which people know it. */
void hook_output_renamed(int from_dir, const char *from, int to_dir, const char *to)
{
	char whole[PATH_MAX];
	size_t n;
	int error;

	if (hook_output_of_child())
		hook_output_theirs_by_path(to_dir, to);
	if (!keeps_files())
		return;
	error = begin();
	if (was_written(from_dir, from, whole)) {
		n = whole_path(to_dir, to, whole);
		if (n)
			note_file(whole, n, n);
	} else if (files.count > KNOWN) {
		cut(); /* it may have been, and is forgotten */
	}
	end(error);
}

void hook_output_names_vary(void)
{
	int error;

	if (hook_depth || !hook_output_keeps())
		return;
	error = begin();
	cut();
	end(error);
}

void hook_output_did(const char *what, int dir, const char *path)
{
	char record[HOOK_OUTPUT_WORDS + 2 + PATH_MAX];
	struct hook_text text = hook_text_in(record, HOOK_OUTPUT_WORDS);
	uint64_t hash;
	size_t n, at;
	int error;

	if (is_device(path) || !keeps(&names))
		return;
	error = begin();
	hook_text_add(&text, what);
	hook_text_add(&text, " ");
	at = (size_t)(text.at - record);
	/* Where a directory's descriptor leads is not asked: another one may have its place. */
	if (path[0] != '/' && dir != AT_FDCWD) {
		record[at++] = '*';
		record[at++] = '/';
		n = strnlen(path, PATH_MAX - 4);
		memcpy(record + at, path, n);
	} else {
		n = whole_path(dir, path, record + at);
	}
	hash = XXH3_64bits(record, at + n);
	if (n && !is_in(&names, hash))
		put(&names, hash, record, at + n);
	end(error);
}

/* The hash is of all; what is shown is the beginning. */
void hook_output_ran(char *const argv[], const char *file)
{
	char *const one[] = {(char *)file, NULL};
	char record[HOOK_OUTPUT_WORDS + 32];
	struct hook_text text = hook_text_in(record, HOOK_OUTPUT_WORDS);
	uint64_t hash = 0;
	int error;

	if (!keeps(&names) && !hook_output_of_forked())
		return;
	argv = argv ? argv : one;
	for (char *const *p = argv; *p; p++)
		hash = XXH3_64bits_withSeed(*p, strlen(*p), hash);
	if (hook_output_of_forked()) {
		hook_output_child_ran(hash);
		return;
	}
	error = begin();
	hook_text_add(&text, "run");
	for (char *const *p = argv; *p; p++) {
		hook_text_add(&text, " ");
		hook_text_add(&text, *p);
	}
	text.end = record + sizeof(record) - 1;
	hook_text_add(&text, " #");
	hook_text_hex(&text, hash);
	hash = XXH3_64bits(record, (size_t)(text.at - record));
	if (!is_in(&names, hash))
		put(&names, hash, record, (size_t)(text.at - record));
	end(error);
}
