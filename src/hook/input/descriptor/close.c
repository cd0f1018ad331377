/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closing. Programs may close all descriptors that they do not know, but must not close those of
 * the trace. So these do not exist for the program. They are out of its way (base/fd.h), and are
 * known by the files they lead to.
 */
#undef _FORTIFY_SOURCE
#include "hook/input/descriptor/close.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "hook/common/real.h"
#include "hook/input/channel/channel.h"
#include "hook/input/descriptor/device.h"
#include "hook/input/descriptor/file.h"
#include "hook/kit/proc.h"
#include "hook/kit/text.h"
#include "hook/output/output.h"
#include "hook/program/residue.h"

#define SITE __builtin_return_address(0)
#define PATH_ROOM 1100

/*
 * Beside or below the directory of the rank, which is one of several in the trace; or what tells of
 * pages that were written (hook/image/written/written.c).
 */
bool hook_close_is_ours(int fd)
{
	char directory[PATH_ROOM], target[PATH_ROOM];
	const char *end;

	if (fd < rp_fd_lowest || hook_channel_kind(fd))
		return false;
	if (fd == hook_process.rank_fd ||
	    (hook_process.explore.on && fd == hook_process.explore.prelude_fd))
		return true;
	if (!hook_proc_fd_target(fd, target, sizeof(target)) ||
	    !hook_proc_fd_target(hook_process.rank_fd, directory, sizeof(directory)))
		return false;
	if (strcmp(target, "anon_inode:[userfaultfd]") == 0)
		return true;
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
	/* A sanitizer would take what our threads do with a descriptor of ours for a race. */
	rc = hook_depth && fd >= rp_fd_lowest ? (int)syscall(SYS_close, fd) : REAL(close)(fd);
	if (numbers)
		hook_file_closed();
	return rc;
}

/* A stream of ours: for the program there is nothing. */
static bool is_kept(int fd, const void *site)
{
	return fd >= rp_fd_lowest && is_programs(site) && hook_close_is_ours(fd);
}

static HOOK_RESIDUE_BELOW int close_one(int fd, const void *site)
{
	int error = errno;

	if (hook_channel_has(fd, site))
		return hook_channel_close(fd);
	hook_output_closed(fd);
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

	return is_kept(fd, site) ? close_ours(site) : HOOK_RESIDUE_OF(close_one(fd, site));
}

struct entry {
	uint64_t number;
	int64_t offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

static void close_found(int fd, const void *site)
{
	if (is_kept(fd, site))
		return;
	hook_channel_forget(fd);
	hook_input_device_forget(fd);
	REAL(close)(fd);
}

/* Where no descriptor is left to look with. */
static void close_by_trying(unsigned int first, unsigned int last, const void *site)
{
	long end = sysconf(_SC_OPEN_MAX);

	for (unsigned int fd = first; fd <= last && fd < (unsigned long)end; fd++) {
		if (syscall(SYS_fcntl, fd, F_GETFD) >= 0)
			close_found((int)fd, site);
	}
}

/* By no function that allocates. What is closed meanwhile does not change what comes next. */
static void close_listed(int all, unsigned int first, unsigned int last, const void *site)
{
	char bytes[4096] __attribute__((aligned(8)));
	long n;

	while ((n = syscall(SYS_getdents64, all, bytes, sizeof(bytes))) > 0) {
		for (long at = 0; at < n;) {
			const struct entry *e = (const struct entry *)(bytes + at);
			unsigned int fd = (unsigned int)atoi(e->name);

			if (e->name[0] != '.' && fd >= first && fd <= last && (int)fd != all)
				close_found((int)fd, site);
			at += e->length;
		}
	}
}

/* One step, however many there are: in replay some of them may be missing. */
static void close_all(unsigned int first, unsigned int last, const void *site)
{
	bool numbers = hook_file_has_number(site);
	int error = errno, all;

	if (numbers)
		hook_file_closes();
	all = REAL(openat)(AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (all >= 0) {
		close_listed(all, first, last, site);
		REAL(close)(all);
	} else {
		close_by_trying(first, last, site);
	}
	if (numbers)
		hook_file_closed();
	errno = error;
}

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
