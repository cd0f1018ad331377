/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closing. Programs close all descriptors that they do not know, and must not close those of the
 * trace: for them these are not there. Ours are out of their way, from OURS on, and are known by
 * where they lead.
 */
#undef _FORTIFY_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "hook/common/text.h"
#include "hook/input/channel.h"
#include "hook/input/device.h"
#include "hook/input/file.h"
#include "hook/input/real.h"

#define SITE __builtin_return_address(0)
#define OURS 700
#define PATH_ROOM 1100

static size_t target_of(int fd, char target[PATH_ROOM])
{
	char link[48];
	struct hook_text out = hook_text_in(link, sizeof(link));
	ssize_t n;

	hook_text_add(&out, "/proc/self/fd/");
	hook_text_number(&out, fd);
	n = readlink(link, target, PATH_ROOM - 1);
	target[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

/* Beside or below the directory of the rank, which is one of several in the trace. */
static bool is_ours(int fd)
{
	char directory[PATH_ROOM], target[PATH_ROOM];
	const char *end;

	if (fd < OURS || hook_channel_kind(fd))
		return false;
	if (fd == hook_process.rank_fd || (hook_process.varied && fd == hook_process.prelude_fd))
		return true;
	if (!target_of(fd, target) || !target_of(hook_process.rank_fd, directory))
		return false;
	end = strrchr(directory, '/');
	return end && strncmp(target, directory, (size_t)(end - directory) + 1) == 0;
}

static bool is_programs(const void *site)
{
	return hook_process.claimed && hook_io_is_programs(site);
}

static int close_numbered(int fd, const void *site)
{
	bool numbers = hook_file_has_number(site);
	int rc;

	if (numbers)
		hook_file_closes();
	rc = REAL(close)(fd);
	if (numbers)
		hook_file_closed();
	return rc;
}

/* A stream of ours: for the program there is nothing. */
static bool is_kept(int fd, const void *site)
{
	return fd >= OURS && is_programs(site) && is_ours(fd);
}

static int close_one(int fd, const void *site)
{
	int error = errno;

	if (hook_channel_has(fd, site))
		return hook_channel_close(fd);
	if (hook_input_devices)
		hook_input_device_forget(fd);
	errno = error;
	return close_numbered(fd, site);
}

/* A step like any other's: in replay a stream has another number, or none. */
static int close_ours(const void *site)
{
	if (hook_file_has_number(site)) {
		hook_file_closes();
		hook_file_closed();
	}
	errno = EBADF;
	return -1;
}

HOOK_EXPORT int close(int fd)
{
	const void *site = SITE;

	return is_kept(fd, site) ? close_ours(site) : close_one(fd, site);
}

struct entry {
	uint64_t number;
	int64_t offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

/* Where no descriptor is left to look with. */
static int next_by_trying(int fd)
{
	long end = sysconf(_SC_OPEN_MAX);

	while (fd < end && syscall(SYS_fcntl, fd, F_GETFD) < 0)
		fd++;
	return fd < end ? fd : -1;
}

/* The next descriptor of the process from `fd` on, or -1. By no function that allocates. */
static int next_open(int fd)
{
	char bytes[4096] __attribute__((aligned(8)));
	int all = REAL(openat)(AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int found = -1;
	long n;

	if (all < 0)
		return next_by_trying(fd);
	while ((n = syscall(SYS_getdents64, all, bytes, sizeof(bytes))) > 0) {
		for (long at = 0; at < n;) {
			const struct entry *e = (const struct entry *)(bytes + at);
			int one = atoi(e->name);

			if (e->name[0] != '.' && one >= fd && one != all &&
			    (found < 0 || one < found))
				found = one;
			at += e->length;
		}
	}
	REAL(close)(all);
	return found;
}

static void close_all(unsigned int first, unsigned int last, const void *site)
{
	int error = errno;

	for (int fd = next_open((int)first); fd >= 0 && (unsigned int)fd <= last;
	     fd = next_open(fd + 1)) {
		if (!is_kept(fd, site))
			close_one(fd, site);
	}
	errno = error;
}

/* Each by itself: marks and turns belong to single descriptors. */
HOOK_EXPORT int close_range(unsigned int first, unsigned int last, int flags)
{
	if (!is_programs(SITE) || flags || first > last || first > INT32_MAX)
		return REAL(close_range)(first, last, flags);
	close_all(first, last, SITE);
	return 0;
}

HOOK_EXPORT void closefrom(int first)
{
	if (is_programs(SITE))
		close_all(first > 0 ? (unsigned int)first : 0, INT32_MAX, SITE);
	else
		REAL(closefrom)(first);
}
