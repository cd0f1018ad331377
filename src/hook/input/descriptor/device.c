/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads from /dev/random and /dev/urandom by descriptor. Calls that open and duplicate mark
 * descriptors; calls that read look at the count of marks first, as they are often hot. A mark is
 * a hint, since libc closes behind our back: the device behind a descriptor is asked for before a
 * read is taken for an input, and a mark that lies is dropped.
 */
#undef _FORTIFY_SOURCE /* its inline functions stand in the way of the definitions here */
#include "hook/input/descriptor/device.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "hook/common/real.h"
#include "hook/input/channel/channel.h"
#include "hook/input/descriptor/file.h"
#include "hook/input/file/dir.h"
#include "hook/input/file/infile.h"
#include "hook/input/file/names.h"
#include "hook/input/value/input.h"
#include "hook/output/output.h"
#include "hook/program/residue.h"
#include "hook/session/moved.h"
#include "hook/session/private.h"

#define SITE __builtin_return_address(0)
#define MARKS 1024
#define WORD_BITS (sizeof(unsigned long) * CHAR_BIT)

/* Descriptors from the last one on share a mark, which is never taken back. */
static unsigned long marks[MARKS / WORD_BITS];
int hook_input_devices;

static unsigned long *word_of(int fd, unsigned long *bit)
{
	size_t i = fd < MARKS ? (size_t)fd : MARKS - 1;

	*bit = 1ul << i % WORD_BITS;
	return &marks[i / WORD_BITS];
}

static bool is_marked(int fd)
{
	unsigned long bit;

	return fd >= 0 && __atomic_load_n(word_of(fd, &bit), __ATOMIC_RELAXED) & bit;
}

static void mark(int fd)
{
	unsigned long bit, *word = word_of(fd, &bit);

	if (!(__atomic_fetch_or(word, bit, __ATOMIC_RELAXED) & bit))
		__atomic_fetch_add(&hook_input_devices, 1, __ATOMIC_RELAXED);
}

void hook_input_device_forget(int fd)
{
	unsigned long bit, *word;

	/* A vfork child closes its own descriptors, but shares our marks. */
	if (!is_marked(fd) || fd >= MARKS - 1 || REAL(getpid)() != hook_process.pid)
		return;
	word = word_of(fd, &bit);
	if (__atomic_fetch_and(word, ~bit, __ATOMIC_RELAXED) & bit)
		__atomic_fetch_sub(&hook_input_devices, 1, __ATOMIC_RELAXED);
}

static bool is_device(int fd)
{
	int error = errno;
	struct stat st;
	bool is = REAL(fstat)(fd, &st) == 0 && S_ISCHR(st.st_mode) && major(st.st_rdev) == 1 &&
		  (minor(st.st_rdev) == 8 || minor(st.st_rdev) == 9);

	errno = error;
	return is;
}

bool hook_input_device_opened(int fd, const char *path)
{
	size_t n = strlen(path);

	if (n < 6 || memcmp(path + n - 6, "random", 6) != 0 || !is_device(fd))
		return false;
	mark(fd);
	return true;
}

bool hook_input_device_is(int fd)
{
	if (hook_depth || !is_marked(fd))
		return false;
	if (is_device(fd))
		return true;
	hook_input_device_forget(fd);
	return false;
}

static ssize_t fetch_read(void *ctx, void *buffer, size_t size)
{
	ssize_t n = REAL(read)(*(int *)ctx, buffer, size);

	return n < 0 ? -errno : n;
}

ssize_t hook_input_device_read(int fd, const char *call, void *buffer, size_t n)
{
	return hook_input_bytes(TRACE_IN_RANDOM, call, fetch_read, &fd, buffer, n);
}

/* A channel by another name. */
static enum hook_channel_kind channel_behind(const char *path)
{
	static const char *const places[] = {"/dev/fd/", "/proc/self/fd/"};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		size_t n = strlen(places[i]);

		if (strncmp(path, places[i], n) == 0)
			return hook_channel_kind(atoi(path + n));
	}
	return HOOK_CHANNEL_NONE;
}

static int opened(int fd, const char *path, int flags)
{
	hook_channel_forget(fd);
	hook_output_opened(fd, path);
	if (fd < 0 || hook_depth)
		return fd;
	hook_channel_opened_from(fd, path, flags);
	if (hook_channels && channel_behind(path) == HOOK_CHANNEL_PIPE)
		hook_channel_mark(fd, HOOK_CHANNEL_PIPE);
	else
		hook_input_device_opened(fd, path);
	return fd;
}

/* libc ends a program that forgot the mode. */
static bool has_mode(int flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

/* The last argument of the function that this is used in, if it has one. */
#define MODE_BEHIND(flags)                                                                         \
	({                                                                                         \
		va_list args;                                                                      \
		mode_t mode;                                                                       \
		va_start(args, flags);                                                             \
		mode = has_mode(flags) ? va_arg(args, mode_t) : 0;                                 \
		va_end(args);                                                                      \
		mode;                                                                              \
	})

static void written(int fd, int dir, const char *path, int flags)
{
	if ((flags & O_ACCMODE) != O_RDONLY)
		hook_output_child_writes(fd);
	if ((flags & O_ACCMODE) == O_RDONLY || (flags & O_TMPFILE) == O_TMPFILE)
		return;
	if (flags & O_TRUNC || (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		hook_output_writes(dir, path);
	else if (flags & O_APPEND)
		hook_output_appends(dir, path, fd);
}

/* It is compared as ever with what was recorded; what it holds is where its own begins. */
const char *hook_device_own(int dir, const char *path, int flags, const void *site,
			    char buffer[HOOK_MOVED_PATH])
{
	int from = -1, error = errno;

	if ((flags & O_ACCMODE) == O_RDONLY)
		return hook_private_path(dir, path, buffer);
	if (hook_private_path(dir, path, buffer) == buffer)
		return buffer;
	if (!(flags & (O_TRUNC | O_EXCL)))
		from = REAL(openat)(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (hook_infile_is_wanted(flags, site))
		from = hook_infile_opened(from, dir, path, O_RDONLY | O_CLOEXEC);
	path = hook_private_open(dir, path, flags, from, buffer);
	if (from >= 0)
		REAL(close)(from);
	errno = error;
	return path;
}

/* All ways to open a file: in what they do they are one. */
static HOOK_RESIDUE_BELOW int open_below(int dir, const char *path, int flags, mode_t mode,
					 const void *site)
{
	char buffer[HOOK_INPUT_PATH], elsewhere[HOOK_MOVED_PATH], own[HOOK_MOVED_PATH];
	const char *name;
	bool reads = hook_infile_is_wanted(flags, site);
	bool makes =
		(flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) && hook_io_is_programs(site);
	bool numbers = hook_file_has_number(site);
	bool told =
		!numbers && !makes && hook_io_is_programs(site) && !hook_runtime_is_allocator(site);
	bool left = false, gone = false;
	int fd = -1;

	path = hook_input_real_path(path, buffer);
	if (__builtin_expect(hook_moved, 0) && hook_io_is_programs(site))
		path = hook_moved_path(path, elsewhere);
	if (!(flags & (O_DIRECTORY | O_PATH)) &&
	    hook_channel_is_told(path, (flags & O_ACCMODE) != O_RDONLY) &&
	    hook_channel_may_make(site))
		return hook_channel_open_told(path, flags);
	if (told && hook_names_open_failed())
		return -1;
	name = path;
	if (__builtin_expect(hook_private, 0) && hook_io_is_programs(site) &&
	    !(flags & (O_DIRECTORY | O_PATH)))
		path = hook_device_own(dir, path, flags, site, own);
	/* What it has written is no input. */
	reads &= path != own;
	if (reads && flags & O_CREAT && !makes)
		fd = hook_infile_before(dir, path, flags);
	if (makes && hook_process.mode == HOOK_REPLAY)
		left = (fd = hook_names_open_place(dir, path)) >= 0;
	if (fd < 0)
		fd = REAL(openat)(dir, path, flags, mode);
	if (flags & O_DIRECTORY && (flags & O_ACCMODE) == O_RDONLY && (numbers || told))
		gone = hook_dir_stands_in(&fd, flags);
	if (reads && !makes)
		fd = hook_infile_opened(fd, dir, path, flags);
	if (numbers)
		fd = hook_file_opened("open", fd);
	else if (makes || (told && hook_process.mode == HOOK_RECORD))
		fd = hook_names_opened(fd);
	if (fd >= 0 && !left)
		written(fd, dir, name, flags);
	if (gone && fd >= 0)
		hook_dir_gone(name);
	if (left && fd >= 0) {
		hook_names_make_again(fd, dir, path, flags, mode);
		written(fd, dir, name, flags);
	}
	return opened(fd, name, flags);
}

static int open_at(int dir, const char *path, int flags, mode_t mode, const void *site)
{
	return HOOK_RESIDUE_OF(open_below(dir, path, flags, mode, site));
}

int hook_device_make(const char *path, int flags, const void *site)
{
	return open_at(AT_FDCWD, path, flags, 0666, site);
}

HOOK_EXPORT int open(const char *path, int flags, ...)
{
	return open_at(AT_FDCWD, path, flags, MODE_BEHIND(flags), SITE);
}

HOOK_EXPORT int openat(int dir, const char *path, int flags, ...)
{
	return open_at(dir, path, flags, MODE_BEHIND(flags), SITE);
}

HOOK_EXPORT int creat(const char *path, mode_t mode)
{
	return open_at(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode, SITE);
}

_Static_assert(sizeof(off_t) == sizeof(off64_t), "one open is the other");
HOOK_EXPORT int open64(const char *path, int flags, ...) __attribute__((alias("open")));
HOOK_EXPORT int openat64(int dir, const char *path, int flags, ...)
	__attribute__((alias("openat")));
HOOK_EXPORT int creat64(const char *path, mode_t mode) __attribute__((alias("creat")));

HOOK_EXPORT int __open_2(const char *path, int flags)
{
	return has_mode(flags) ? REAL(__open_2)(path, flags)
			       : open_at(AT_FDCWD, path, flags, 0, SITE);
}

HOOK_EXPORT int __openat_2(int dir, const char *path, int flags)
{
	return has_mode(flags) ? REAL(__openat_2)(dir, path, flags)
			       : open_at(dir, path, flags, 0, SITE);
}

HOOK_EXPORT int __open64_2(const char *path, int flags) __attribute__((alias("__open_2")));
HOOK_EXPORT int __openat64_2(int dir, const char *path, int flags)
	__attribute__((alias("__openat_2")));

static int duplicated(int from, int to)
{
	hook_output_duplicated(from, to);
	if (to < 0 || !hook_input_devices)
		return to;
	if (hook_input_device_is(from))
		mark(to);
	else if (from != to)
		hook_input_device_forget(to);
	return to;
}

HOOK_EXPORT int dup(int fd)
{
	if (hook_channel_has(fd, SITE))
		return hook_channel_dup(fd, 0, 0);
	if (hook_file_has_number(SITE))
		return duplicated(fd, hook_file_opened("dup", REAL(dup)(fd)));
	return duplicated(fd, REAL(dup)(fd));
}

HOOK_EXPORT int dup2(int fd, int to)
{
	if (hook_channel_has(fd, SITE) || hook_channel_has(to, SITE) || hook_file_has_number(SITE))
		return duplicated(fd, hook_channel_dup_to(fd, to, -1));
	return duplicated(fd, REAL(dup2)(fd, to));
}

HOOK_EXPORT int dup3(int fd, int to, int flags)
{
	if (hook_channel_has(fd, SITE) || hook_channel_has(to, SITE) || hook_file_has_number(SITE))
		return duplicated(fd, hook_channel_dup_to(fd, to, flags));
	return duplicated(fd, REAL(dup3)(fd, to, flags));
}

/* What comes from outside, by a channel or typed. */
static inline bool comes(int fd, const void *site)
{
	return hook_channel_has(fd, site) ||
	       (hook_output_is_typed(fd) && hook_io_is_programs(site));
}

HOOK_EXPORT ssize_t read(int fd, void *buffer, size_t n)
{
	if (comes(fd, SITE))
		return hook_channel_read(fd, "read", buffer, n);
	if (__builtin_expect(!hook_input_devices, 1) || !hook_input_device_is(fd))
		return REAL(read)(fd, buffer, n);
	return hook_input_device_read(fd, "read", buffer, n);
}

HOOK_EXPORT ssize_t __read_chk(int fd, void *buffer, size_t n, size_t room)
{
	if (n <= room && comes(fd, SITE))
		return hook_channel_read(fd, "read", buffer, n);
	if (__builtin_expect(!hook_input_devices, 1) || n > room || !hook_input_device_is(fd))
		return REAL(__read_chk)(fd, buffer, n, room);
	return hook_input_device_read(fd, "read", buffer, n);
}

HOOK_EXPORT ssize_t readv(int fd, const struct iovec *parts, int count)
{
	ssize_t sum = 0;

	if (count > 0 && comes(fd, SITE))
		return hook_channel_readv(fd, parts, count, 0);
	if (__builtin_expect(!hook_input_devices, 1) || count <= 0 || !hook_input_device_is(fd))
		return REAL(readv)(fd, parts, count);
	for (int i = 0; i < count; i++) {
		ssize_t n =
			hook_input_device_read(fd, "readv", parts[i].iov_base, parts[i].iov_len);

		if (n < 0)
			return sum ? sum : -1;
		sum += n;
		if ((size_t)n < parts[i].iov_len)
			break;
	}
	return sum;
}

/* These devices have no positions. */
#define DEFINE_PREAD(name, offset)                                                                 \
	HOOK_EXPORT ssize_t name(int fd, void *buffer, size_t n, offset at)                        \
	{                                                                                          \
		if (hook_channel_has(fd, SITE))                                                    \
			return hook_channel_preadv(fd, &(struct iovec){buffer, n}, 1, at);         \
		if (__builtin_expect(!hook_input_devices, 1) || !hook_input_device_is(fd))         \
			return REAL(name)(fd, buffer, n, at);                                      \
		return hook_input_device_read(fd, "pread", buffer, n);                             \
	}                                                                                          \
	HOOK_EXPORT ssize_t __##name##_chk(int fd, void *buffer, size_t n, offset at, size_t room) \
	{                                                                                          \
		if (n <= room && hook_channel_has(fd, SITE))                                       \
			return hook_channel_preadv(fd, &(struct iovec){buffer, n}, 1, at);         \
		if (__builtin_expect(!hook_input_devices, 1) || n > room ||                        \
		    !hook_input_device_is(fd))                                                     \
			return REAL(__##name##_chk)(fd, buffer, n, at, room);                      \
		return hook_input_device_read(fd, "pread", buffer, n);                             \
	}

DEFINE_PREAD(pread, off_t)
DEFINE_PREAD(pread64, off64_t)

HOOK_EXPORT ssize_t preadv(int fd, const struct iovec *parts, int count, off_t at)
{
	return count > 0 && hook_channel_has(fd, SITE) ? hook_channel_preadv(fd, parts, count, at)
						       : REAL(preadv)(fd, parts, count, at);
}

HOOK_EXPORT ssize_t preadv2(int fd, const struct iovec *parts, int count, off_t at, int flags)
{
	if (count <= 0 || !hook_channel_has(fd, SITE))
		return REAL(preadv2)(fd, parts, count, at, flags);
	return at == -1 ? hook_channel_readv(fd, parts, count, flags)
			: hook_channel_preadv(fd, parts, count, at);
}

HOOK_EXPORT ssize_t preadv64(int fd, const struct iovec *parts, int count, off64_t at)
	__attribute__((alias("preadv")));
HOOK_EXPORT ssize_t preadv64v2(int fd, const struct iovec *parts, int count, off64_t at, int flags)
	__attribute__((alias("preadv2")));
