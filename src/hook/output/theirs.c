/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that child processes may write: those they have inherited open, and those they open or name
 * themselves. In the page of the rank's stream a bit stands for each, by a hash of the path that
 * the kernel knows: a file of the rank's without its bit is the rank's alone, and must be as
 * recorded.
 */
#include "hook/output/theirs.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/common/process.h"
#include "hook/kit/proc.h"
#include "hook/kit/text.h"
#include "replay/session.h"
#include "trace/theirs.h"

static struct trace_theirs *theirs;

/* In the trace, or in the session. */
static void name_file(char *path, size_t size)
{
	struct hook_text text = hook_text_in(path, size);

	if (hook_process.mode == HOOK_RECORD) {
		hook_rank_path(path, size, TRACE_THEIRS);
		return;
	}
	hook_text_add(&text, hook_process.session);
	hook_text_add(&text, "/" REPLAY_THEIRS);
	hook_text_padded(&text, hook_process.rank, 4);
}

static bool map_file(void)
{
	char path[PATH_MAX];
	long at = -1;
	int fd;

	if (theirs)
		return true;
	name_file(path, sizeof(path));
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	if (syscall(SYS_ftruncate, fd, sizeof(*theirs)) == 0)
		at = syscall(SYS_mmap, 0, sizeof(*theirs), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			     0);
	syscall(SYS_close, fd);
	if (at == -1)
		return false;
	theirs = (struct trace_theirs *)at;
	theirs->version = TRACE_THEIRS_VERSION;
	return true;
}

static void note(const char *path, size_t n)
{
	unsigned word;
	uint64_t bit = trace_theirs_bit(XXH3_64bits(path, n), &word);

	__atomic_fetch_or(&theirs->word[word], bit, __ATOMIC_RELAXED);
}

static bool is_of_trace(const char *path)
{
	size_t n = strlen(hook_process.dir);

	return n && strncmp(path, hook_process.dir, n) == 0;
}

static void note_descriptor(int fd)
{
	char path[PATH_MAX];
	size_t n = hook_proc_fd_target(fd, path, sizeof(path));

	if (path[0] == '/' && !is_of_trace(path))
		note(path, n);
}

static bool may_write(int fd)
{
	long flags = syscall(SYS_fcntl, fd, F_GETFL);
	struct stat st;

	return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && !(flags & O_PATH) &&
	       syscall(SYS_fstat, fd, &st) == 0 && S_ISREG(st.st_mode);
}

void hook_output_theirs_by_descriptor(int fd)
{
	int error = errno;

	if (fd >= 0 && theirs && may_write(fd))
		note_descriptor(fd);
	errno = error;
}

void hook_output_theirs_by_path(int dir, const char *path)
{
	int error = errno;
	int fd = (int)syscall(SYS_openat, dir, path, O_PATH | O_CLOEXEC);

	if (fd >= 0 && theirs)
		note_descriptor(fd);
	if (fd >= 0)
		syscall(SYS_close, fd);
	errno = error;
}

/* All that are open: the parent's, after a fork; after exec those that were left open. */
void hook_output_theirs_inherited(void)
{
	char entries[2048];
	int error = errno;
	int dir = -1;
	long n;

	if (map_file())
		dir = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/fd",
				   O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	while (dir >= 0 && (n = syscall(SYS_getdents64, dir, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *e = (const struct dirent64 *)(entries + at);

			if (e->d_name[0] != '.')
				hook_output_theirs_by_descriptor(atoi(e->d_name));
			at += e->d_reclen;
		}
	}
	if (dir >= 0)
		syscall(SYS_close, dir);
	errno = error;
}
