/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that make, remove and rename entries of directories. They are made in replay, too, but what
 * they return is an input: the replay finds what the recording, or a replay before it, has left,
 * and a directory that was made is there already.
 */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "hook/common/moved.h"
#include "hook/input/io.h"
#include "hook/input/names.h"
#include "hook/input/real.h"
#include "hook/output/output.h"

#define SITE __builtin_return_address(0)

static ssize_t fetch(void *ctx, void *buffer, size_t size)
{
	int error = *(int *)ctx;

	memset(buffer, 0, size);
	return error ? -error : (ssize_t)size;
}

/* The real call has returned this, and errno; 0, or -1 and errno, as it was when recorded. */
static int outcome(const char *call, int rc, const void *site)
{
	int error = rc ? errno : 0;
	char unused;

	if (!hook_io_is_programs(site))
		return rc;
	return hook_io_told(call, site, fetch, &error, &unused, 1) < 0 ? -1 : 0;
}

#define HERE(path)                                                                                 \
	(__builtin_expect(hook_moved, 0) && hook_io_is_programs(SITE)                              \
		 ? hook_moved_path(path, (char[HOOK_MOVED_PATH]){0})                               \
		 : (path))

#define DEFINE(name, parameters, arguments)                                                        \
	HOOK_EXPORT int name parameters                                                            \
	{                                                                                          \
		return outcome(#name, REAL(name) arguments, SITE);                                 \
	}

DEFINE(mkdir, (const char *path, mode_t mode), (HERE(path), mode))
DEFINE(mkdirat, (int dir, const char *path, mode_t mode), (dir, HERE(path), mode))
DEFINE(unlink, (const char *path), (HERE(path)))
DEFINE(unlinkat, (int dir, const char *path, int flags), (dir, HERE(path), flags))
DEFINE(rmdir, (const char *path), (HERE(path)))
DEFINE(remove, (const char *path), (HERE(path)))
DEFINE(link, (const char *from, const char *to), (HERE(from), HERE(to)))
DEFINE(linkat, (int from_dir, const char *from, int to_dir, const char *to, int flags),
       (from_dir, HERE(from), to_dir, HERE(to), flags))
DEFINE(symlink, (const char *target, const char *path), (target, HERE(path)))
DEFINE(symlinkat, (const char *target, int dir, const char *path), (target, dir, HERE(path)))

HOOK_EXPORT int rename(const char *from, const char *to)
{
	int rc = outcome("rename", REAL(rename)(HERE(from), HERE(to)), SITE);

	if (rc == 0)
		hook_output_renamed(from, to);
	return rc;
}

DEFINE(renameat, (int from_dir, const char *from, int to_dir, const char *to),
       (from_dir, HERE(from), to_dir, HERE(to)))
DEFINE(renameat2, (int from_dir, const char *from, int to_dir, const char *to, unsigned int flags),
       (from_dir, HERE(from), to_dir, HERE(to), flags))

int hook_names_open_left(int dir, const char *path, int flags)
{
	struct stat st;
	int error = errno, fd = -1;

	if (REAL(fstatat)(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid())
		fd = REAL(openat)(dir, path, (flags & ~(O_CREAT | O_EXCL | O_TRUNC)) | O_NOFOLLOW);
	errno = error;
	return fd;
}

int hook_names_opened(int fd)
{
	char unused;
	int error = fd < 0 ? errno : 0;

	if (hook_input_bytes(TRACE_IN_STRUCT, "open", fetch, &error, &unused, 1) >= 0) {
		errno = fd < 0 ? error : errno;
		return fd;
	}
	error = errno;
	if (fd >= 0)
		REAL(close)(fd);
	errno = error;
	return -1;
}
