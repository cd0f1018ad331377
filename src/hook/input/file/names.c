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

#include "hook/common/real.h"
#include "hook/input/channel/io.h"
#include "hook/input/descriptor/device.h"
#include "hook/input/file/names.h"
#include "hook/output/output.h"
#include "hook/session/moved.h"
#include "hook/session/private.h"

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

/* Whoever replays may have what was not there: a call that failed is not made again. */
static bool is_replayed(const void *site)
{
	return hook_process.mode == HOOK_REPLAY && hook_io_is_programs(site);
}

/* The call that succeeded when recorded has been made again. */
static int made(int rc, int error)
{
	(void)rc;
	errno = error;
	return 0;
}

/* Of a process that leaves alone what is there, in the place of the real calls. */
static int unlink_own(int dir, const char *path)
{
	hook_private_unlink(dir, path);
	return 0;
}

static int rename_own(int from_dir, const char *from, int to_dir, const char *to, bool keep)
{
	hook_private_rename(from_dir, from, to_dir, to, keep);
	return 0;
}

#define AGAIN(name, call)                                                                          \
	(is_replayed(SITE) ? (outcome(#name, 0, SITE) < 0 ? -1 : made((call), errno))              \
			   : outcome(#name, (call), SITE))

#define HERE(path)                                                                                 \
	(__builtin_expect(hook_moved, 0) && hook_io_is_programs(SITE)                              \
		 ? hook_moved_path(path, (char[HOOK_MOVED_PATH]){0})                               \
		 : (path))

#define OWN(call, own) (__builtin_expect(hook_private, 0) && is_replayed(SITE) ? (own) : (call))

#define DEFINE(name, parameters, arguments)                                                        \
	HOOK_EXPORT int name parameters                                                            \
	{                                                                                          \
		return AGAIN(name, REAL(name) arguments);                                          \
	}

#define DEFINE_OWN(name, parameters, arguments, own)                                               \
	HOOK_EXPORT int name parameters                                                            \
	{                                                                                          \
		return AGAIN(name, OWN(REAL(name) arguments, own));                                \
	}

DEFINE(mkdir, (const char *path, mode_t mode), (HERE(path), mode))
DEFINE(mkdirat, (int dir, const char *path, mode_t mode), (dir, HERE(path), mode))
DEFINE_OWN(unlink, (const char *path), (HERE(path)), unlink_own(AT_FDCWD, HERE(path)))
DEFINE(rmdir, (const char *path), (HERE(path)))
DEFINE_OWN(remove, (const char *path), (HERE(path)), unlink_own(AT_FDCWD, HERE(path)))
DEFINE_OWN(link, (const char *from, const char *to), (HERE(from), HERE(to)),
	   rename_own(AT_FDCWD, HERE(from), AT_FDCWD, HERE(to), true))
DEFINE_OWN(linkat, (int from_dir, const char *from, int to_dir, const char *to, int flags),
	   (from_dir, HERE(from), to_dir, HERE(to), flags),
	   rename_own(from_dir, HERE(from), to_dir, HERE(to), true))
DEFINE(symlink, (const char *target, const char *path), (target, HERE(path)))
DEFINE(symlinkat, (const char *target, int dir, const char *path), (target, dir, HERE(path)))

HOOK_EXPORT int rename(const char *from, const char *to)
{
	int rc = AGAIN(rename, OWN(REAL(rename)(HERE(from), HERE(to)),
				   rename_own(AT_FDCWD, HERE(from), AT_FDCWD, HERE(to), false)));

	if (rc == 0)
		hook_output_renamed(from, to);
	return rc;
}

DEFINE_OWN(renameat, (int from_dir, const char *from, int to_dir, const char *to),
	   (from_dir, HERE(from), to_dir, HERE(to)),
	   rename_own(from_dir, HERE(from), to_dir, HERE(to), false))
DEFINE_OWN(renameat2,
	   (int from_dir, const char *from, int to_dir, const char *to, unsigned int flags),
	   (from_dir, HERE(from), to_dir, HERE(to), flags),
	   rename_own(from_dir, HERE(from), to_dir, HERE(to), false))

HOOK_EXPORT int unlinkat(int dir, const char *path, int flags)
{
	bool own = hook_private && is_replayed(SITE) && !(flags & AT_REMOVEDIR);

	return AGAIN(unlinkat,
		     own ? unlink_own(dir, HERE(path)) : REAL(unlinkat)(dir, HERE(path), flags));
}

static int truncate_own(const char *path, off_t length, const void *site)
{
	char own[HOOK_MOVED_PATH];

	return REAL(truncate)(hook_device_own(AT_FDCWD, path, O_WRONLY, site, own), length);
}

HOOK_EXPORT int truncate(const char *path, off_t length)
{
	return AGAIN(truncate, OWN(REAL(truncate)(HERE(path), length),
				   truncate_own(HERE(path), length, SITE)));
}

HOOK_EXPORT int truncate64(const char *path, off_t length) __attribute__((alias("truncate")));

int hook_names_open_left(int dir, const char *path)
{
	struct stat st;
	int error = errno, fd = -1;

	if (REAL(fstatat)(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid())
		fd = REAL(openat)(dir, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	errno = error;
	return fd;
}

void hook_names_make_again(int fd, int dir, const char *path, int flags, mode_t mode)
{
	int error = errno, made;

	REAL(unlinkat)(dir, path, 0);
	made = REAL(openat)(dir, path, flags, mode);
	if (made < 0 || REAL(dup3)(made, fd, flags & O_CLOEXEC) < 0)
		hook_diverged(hook_thread_self(), "open", "a file that can be made",
			      strerror(errno));
	REAL(close)(made);
	errno = error;
}

static bool opened(int error)
{
	char unused;

	return hook_input_bytes(TRACE_IN_STRUCT, "open", fetch, &error, &unused, 1) >= 0;
}

bool hook_names_open_failed(void)
{
	return hook_process.mode == HOOK_REPLAY && !opened(0);
}

int hook_names_opened(int fd)
{
	int error = fd < 0 ? errno : 0;

	if (opened(error)) {
		errno = fd < 0 ? error : errno;
		return fd;
	}
	error = errno;
	if (fd >= 0)
		REAL(close)(fd);
	errno = error;
	return -1;
}
