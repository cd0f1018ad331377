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
#include "hook/kit/text.h"
#include "hook/output/output.h"
#include "hook/session/moved.h"
#include "hook/session/private.h"

#define SITE __builtin_return_address(0)
#define NAP_NS 1000000
#define NAPS 2000

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

static bool in_replay(void)
{
	return hook_process.mode == HOOK_REPLAY;
}

/* Whoever replays may have what was not there: a call that failed is not made again. */
static bool is_replayed(const void *site)
{
	return in_replay() && hook_io_is_programs(site);
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

/* The call that succeeded when recorded is made again, whatever comes of it. */
#define MADE(call)                                                                                 \
	({                                                                                         \
		int error_ = errno;                                                                \
                                                                                                   \
		(void)(call);                                                                      \
		errno = error_;                                                                    \
		0;                                                                                 \
	})

#define AGAIN(name, call)                                                                          \
	(is_replayed(SITE) ? (outcome(#name, 0, SITE) < 0 ? -1 : MADE(call))                       \
			   : outcome(#name, (call), SITE))

#define HERE(path)                                                                                 \
	(__builtin_expect(hook_moved, 0) && hook_io_is_programs(SITE)                              \
		 ? hook_moved_path(path, (char[HOOK_MOVED_PATH]){0})                               \
		 : (path))

#define OWN(call, own) (__builtin_expect(hook_private, 0) && is_replayed(SITE) ? (own) : (call))

/* What the call does besides is `then`, once it has succeeded. */
#define DEFINE(name, parameters, call, then)                                                       \
	HOOK_EXPORT int name parameters                                                            \
	{                                                                                          \
		int rc = AGAIN(name, call);                                                        \
                                                                                                   \
		if (rc == 0 && hook_io_is_programs(SITE)) {                                        \
			then;                                                                      \
		}                                                                                  \
		return rc;                                                                         \
	}

/*
 * Replay: what is there was not when it was recorded. A replay before, or the recording, has left
 * it.
 */
static int link_anew(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	int rc = REAL(linkat)(from_dir, from, to_dir, to, flags);
	struct stat st;

	if (rc == 0 || errno != EEXIST || !in_replay() ||
	    REAL(fstatat)(to_dir, to, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_uid != geteuid() || REAL(unlinkat)(to_dir, to, 0) != 0)
		return rc;
	return REAL(linkat)(from_dir, from, to_dir, to, flags);
}

static void renamed(int from_dir, const char *from, int to_dir, const char *to)
{
	hook_output_renamed(from_dir, from, to_dir, to);
	hook_output_did("rename a file to", to_dir, to);
}

static void linked(int from_dir, const char *from, int to_dir, const char *to)
{
	hook_output_renamed(from_dir, from, to_dir, to);
	hook_output_did("link", to_dir, to);
}

static void linked_to(const char *target, int dir, const char *path)
{
	char words[HOOK_OUTPUT_WORDS];
	struct hook_text text = hook_text_in(words, sizeof(words));

	hook_text_add(&text, "symlink to ");
	hook_text_add(&text, target);
	hook_text_add(&text, " by");
	hook_output_did(words, dir, path);
}

static void did_with_mode(const char *what, int dir, const char *path, mode_t mode)
{
	char words[40];
	struct hook_text text = hook_text_in(words, sizeof(words));

	hook_text_add(&text, what);
	hook_text_add(&text, " ");
	for (int shift = 9; shift >= 0; shift -= 3)
		hook_text_number(&text, mode >> shift & 7);
	hook_output_did(words, dir, path);
}

DEFINE(mkdir, (const char *path, mode_t mode), REAL(mkdir)(HERE(path), mode),
       hook_output_did("mkdir", AT_FDCWD, path))
DEFINE(mkdirat, (int dir, const char *path, mode_t mode), REAL(mkdirat)(dir, HERE(path), mode),
       hook_output_did("mkdir", dir, path))
DEFINE(mkfifo, (const char *path, mode_t mode), REAL(mkfifo)(HERE(path), mode),
       hook_output_did("mkfifo", AT_FDCWD, path))
DEFINE(mkfifoat, (int dir, const char *path, mode_t mode), REAL(mkfifoat)(dir, HERE(path), mode),
       hook_output_did("mkfifo", dir, path))
DEFINE(mknod, (const char *path, mode_t mode, dev_t device), REAL(mknod)(HERE(path), mode, device),
       hook_output_did("mknod", AT_FDCWD, path))
DEFINE(mknodat, (int dir, const char *path, mode_t mode, dev_t device),
       REAL(mknodat)(dir, HERE(path), mode, device), hook_output_did("mknod", dir, path))
DEFINE(unlink, (const char *path), OWN(REAL(unlink)(HERE(path)), unlink_own(AT_FDCWD, HERE(path))),
       hook_output_did("remove", AT_FDCWD, path))
DEFINE(rmdir, (const char *path), REAL(rmdir)(HERE(path)),
       hook_output_did("remove", AT_FDCWD, path))
DEFINE(remove, (const char *path), OWN(REAL(remove)(HERE(path)), unlink_own(AT_FDCWD, HERE(path))),
       hook_output_did("remove", AT_FDCWD, path))
DEFINE(link, (const char *from, const char *to),
       OWN(link_anew(AT_FDCWD, HERE(from), AT_FDCWD, HERE(to), 0),
	   rename_own(AT_FDCWD, HERE(from), AT_FDCWD, HERE(to), true)),
       linked(AT_FDCWD, from, AT_FDCWD, to))
DEFINE(linkat, (int from_dir, const char *from, int to_dir, const char *to, int flags),
       OWN(link_anew(from_dir, HERE(from), to_dir, HERE(to), flags),
	   rename_own(from_dir, HERE(from), to_dir, HERE(to), true)),
       linked(from_dir, from, to_dir, to))
DEFINE(symlink, (const char *target, const char *path), REAL(symlink)(target, HERE(path)),
       linked_to(target, AT_FDCWD, path))
DEFINE(symlinkat, (const char *target, int dir, const char *path),
       REAL(symlinkat)(target, dir, HERE(path)), linked_to(target, dir, path))
DEFINE(rename, (const char *from, const char *to),
       OWN(REAL(rename)(HERE(from), HERE(to)),
	   rename_own(AT_FDCWD, HERE(from), AT_FDCWD, HERE(to), false)),
       renamed(AT_FDCWD, from, AT_FDCWD, to))
DEFINE(renameat, (int from_dir, const char *from, int to_dir, const char *to),
       OWN(REAL(renameat)(from_dir, HERE(from), to_dir, HERE(to)),
	   rename_own(from_dir, HERE(from), to_dir, HERE(to), false)),
       renamed(from_dir, from, to_dir, to))
DEFINE(renameat2, (int from_dir, const char *from, int to_dir, const char *to, unsigned int flags),
       OWN(REAL(renameat2)(from_dir, HERE(from), to_dir, HERE(to), flags),
	   rename_own(from_dir, HERE(from), to_dir, HERE(to), false)),
       renamed(from_dir, from, to_dir, to))

HOOK_EXPORT int unlinkat(int dir, const char *path, int flags)
{
	bool own = hook_private && is_replayed(SITE) && !(flags & AT_REMOVEDIR);
	int rc = AGAIN(unlinkat,
		       own ? unlink_own(dir, HERE(path)) : REAL(unlinkat)(dir, HERE(path), flags));

	if (rc == 0 && hook_io_is_programs(SITE))
		hook_output_did("remove", dir, path);
	return rc;
}

/* As the others: a file that the recording has removed cannot be changed once more. */
DEFINE(chmod, (const char *path, mode_t mode), REAL(chmod)(HERE(path), mode),
       did_with_mode("chmod", AT_FDCWD, path, mode))

DEFINE(fchmodat, (int dir, const char *path, mode_t mode, int flags),
       REAL(fchmodat)(dir, HERE(path), mode, flags), did_with_mode("chmod", dir, path, mode))

static int truncate_own(const char *path, off_t length, const void *site)
{
	char own[HOOK_MOVED_PATH];

	return REAL(truncate)(hook_device_own(AT_FDCWD, path, O_WRONLY, site, own), length);
}

static void truncated(const char *path, off_t length)
{
	char words[40];
	struct hook_text text = hook_text_in(words, sizeof(words));

	hook_text_add(&text, "truncate to ");
	hook_text_number(&text, length);
	hook_output_did(words, AT_FDCWD, path);
}

DEFINE(truncate, (const char *path, off_t length),
       OWN(REAL(truncate)(HERE(path), length), truncate_own(HERE(path), length, SITE)),
       truncated(path, length))

HOOK_EXPORT int truncate64(const char *path, off_t length) __attribute__((alias("truncate")));

/* Another process of the run may be about to make it. */
static int enter(const char *path)
{
	const struct timespec nap = {0, NAP_NS};
	int rc;

	for (int i = 0; (rc = REAL(chdir)(path)) != 0 && errno == ENOENT && i < NAPS; i++)
		REAL(nanosleep)(&nap, NULL);
	return rc;
}

/*
 * Whether there is such a directory; one that the run makes later is there in replay. Where it is
 * gone, paths would lead elsewhere.
 */
HOOK_EXPORT int chdir(const char *path)
{
	int rc;

	if (!is_replayed(SITE))
		return outcome("chdir", REAL(chdir)(path), SITE);
	rc = outcome("chdir", 0, SITE);
	if (rc == 0 && enter(HERE(path)) != 0)
		hook_diverged(hook_thread_self(), "chdir", "a directory that can be entered",
			      strerror(errno));
	return rc;
}

int hook_names_open_place(int dir, const char *path)
{
	struct stat st;
	int error = errno, fd = -1;

	if (REAL(fstatat)(dir, path, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    (S_ISREG(st.st_mode) && st.st_uid == geteuid()))
		fd = REAL(openat)(AT_FDCWD, "/dev/null", O_PATH | O_CLOEXEC);
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
	return in_replay() && !opened(0);
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
