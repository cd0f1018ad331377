/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files the program writes: their paths are records of the stream of what it prints, so that
 * whoever compares a replay with its recording knows them. Each is noted at its first open.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/kit/text.h"
#include "hook/output/note.h"
#include "hook/output/output.h"
#include "hook/output/theirs.h"
#include "trace/output.h"

#define FILES_KNOWN 64
#define FILES_MOST 4096

static uint64_t files[FILES_KNOWN]; /* hashes of the paths noted last */
static size_t files_noted;

bool hook_output_has_files(void)
{
	return files_noted > 0;
}

static bool is_noted(uint64_t hash)
{
	for (size_t i = 0; i < FILES_KNOWN; i++) {
		if (files[i] == hash)
			return true;
	}
	return false;
}

/* The path from the root, as the kernel sees it now. */
static size_t whole_path(const char *path, char out[PATH_MAX])
{
	size_t n = strlen(path), length = 0;
	long rc;

	if (path[0] != '/') {
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

	if (is_noted(hash))
		return;
	files[files_noted++ % FILES_KNOWN] = hash;
	hook_output_put((uint64_t)n << 2 | TRACE_OUTPUT_FILE, path, n);
}

static bool keeps_files(void)
{
	return !hook_depth && hook_output_keeps() && files_noted < FILES_MOST;
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

/* `size` is that of a file to which the program appends, or -1. */
static void note_opened(const char *path, int64_t size)
{
	char whole[PATH_MAX + 32];
	struct hook_text text;
	int error = errno;
	size_t length, n;

	hook_depth = HOOK_CLOSED;
	hook_output_lock();
	n = length = whole_path(path, whole);
	if (length && size >= 0) {
		text = hook_text_in(whole + length + 1, sizeof(whole) - length - 1);
		whole[length] = '\0';
		hook_text_number(&text, size);
		n = (size_t)(text.at - whole);
	}
	if (length)
		note_file(whole, length, n);
	hook_output_unlock();
	hook_depth = 0;
	errno = error;
}

void hook_output_writes(const char *path)
{
	if (!is_device(path) && keeps_files())
		note_opened(path, -1);
}

void hook_output_appends(const char *path, int fd)
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
		note_opened(path, st.st_size);
}

void hook_output_child_writes(int fd)
{
	if (hook_output_of_child())
		hook_output_theirs_by_descriptor(fd);
}

/* One that was written gets another name, often that by which people know it. */
void hook_output_renamed(const char *from, const char *to)
{
	char whole[PATH_MAX];
	int error = errno;
	size_t n;

	if (hook_output_of_child())
		hook_output_theirs_by_path(to);
	if (!files_noted || !keeps_files())
		return;
	hook_depth = HOOK_CLOSED;
	hook_output_lock();
	n = whole_path(from, whole);
	if (n && is_noted(XXH3_64bits(whole, n))) {
		n = whole_path(to, whole);
		if (n)
			note_file(whole, n, n);
	}
	hook_output_unlock();
	hook_depth = 0;
	errno = error;
}
