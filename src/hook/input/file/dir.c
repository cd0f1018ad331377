/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in a directory is an input: in replay the program finds what it found, in that order, and
 * the directory itself is only opened and closed. If the directory is gone, another one takes its
 * place, and nothing is read from it.
 *
 * An entry is kept with its distance from the start of the DIR, in whose buffer libc has it: so in
 * replay it lies where it lay.
 */
#undef _FORTIFY_SOURCE
#include "hook/input/file/dir.h"

#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "hook/common/real.h"
#include "hook/input/descriptor/close.h"
#include "hook/input/descriptor/file.h"
#include "hook/input/value/input.h"
#include "hook/kit/proc.h"
#include "hook/kit/text.h"
#include "hook/program/residue.h"
#include "hook/session/moved.h"

#define SITE __builtin_return_address(0)
/* Where nothing can be made or removed: the program may do that to names below the directory. */
#define STAND_IN "/proc/self/ns"
#define HEAD offsetof(struct kept, name)

struct kept {
	uint64_t inode, next; /* d_off */
	uint32_t at;          /* from the start of the DIR; 0: there are no more */
	uint8_t type;
	char name[sizeof(((struct dirent *)NULL)->d_name)];
};

struct reading {
	DIR *d;
	struct dirent *found;
};

static ssize_t fetch_opened(void *ctx, void *buffer, size_t size)
{
	int error = *(int *)ctx;

	memset(buffer, 0, size);
	return error ? -error : (ssize_t)size;
}

void hook_dir_gone(const char *path)
{
	hook_say("the directory ", path, " is not there any more: the replay reads what it had",
		 NULL);
}

bool hook_dir_stands_in(int *fd, int flags)
{
	int error = errno;

	if (*fd >= 0 || hook_process.mode != HOOK_REPLAY)
		return false;
	*fd = REAL(openat)(AT_FDCWD, STAND_IN, O_RDONLY | O_DIRECTORY | (flags & O_CLOEXEC));
	errno = error;
	return true;
}

static int open_numbered(const char *path)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_DIRECTORY | O_CLOEXEC;
	int fd = REAL(openat)(AT_FDCWD, path, flags);
	bool stands_in = hook_dir_stands_in(&fd, flags);

	fd = hook_file_opened("opendir", fd);
	if (fd >= 0 && stands_in)
		hook_dir_gone(path);
	return fd;
}

/* The number first: libc has no way to change it later. */
static DIR *open_in_turn(const char *path)
{
	int fd = open_numbered(path), error;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	error = errno;
	if (fd >= 0 && !d)
		REAL(close)(fd);
	errno = error;
	return d;
}

/* What libc allocates for it is the program's, so it is opened first. */
static DIR *open_alone(const char *path)
{
	DIR *d = REAL(opendir)(path);
	int error = d ? 0 : errno;
	char unused;

	if (hook_input_bytes(TRACE_IN_STRUCT, "opendir", fetch_opened, &error, &unused, 1) < 0) {
		error = errno;
		if (d)
			REAL(closedir)(d);
		errno = error;
		return NULL;
	}
	if (!d) {
		hook_dir_gone(path);
		d = REAL(opendir)(STAND_IN);
	}
	return d;
}

HOOK_RESIDUE_BELOW DIR *hook_dir_open(const char *path, const void *site)
{
	char buffer[HOOK_INPUT_PATH], elsewhere[HOOK_MOVED_PATH];

	path = hook_input_real_path(path, buffer);
	if (!hook_io_is_programs(site))
		return REAL(opendir)(path);
	if (__builtin_expect(hook_moved, 0))
		path = hook_moved_path(path, elsewhere);
	return hook_file_has_number(site) ? open_in_turn(path) : open_alone(path);
}

HOOK_RESIDUE_BELOW int hook_dir_close(DIR *d, const void *site)
{
	int rc;

	if (!hook_file_has_number(site))
		return REAL(closedir)(d);
	hook_file_closes();
	rc = REAL(closedir)(d);
	hook_file_closed();
	return rc;
}

/* Is this the directory of the process's descriptors? */
static bool has_descriptors(int dir)
{
	char target[48];
	size_t n = hook_proc_fd_target(dir, target, sizeof(target));

	return strncmp(target, "/proc/", 6) == 0 && n > 3 &&
	       (strcmp(target + n - 3, "/fd") == 0 || strstr(target, "/fdinfo"));
}

/* A program that looks through its descriptors does not find ours. */
static bool is_hidden(int dir, const char *name)
{
	int fd = name[0] >= '1' && name[0] <= '9' ? atoi(name) : 0;

	return fd >= rp_fd_lowest && hook_close_is_ours(fd) && has_descriptors(dir);
}

static ssize_t fetch_entry(void *ctx, void *buffer, size_t size)
{
	struct reading *r = ctx;
	struct kept *kept = buffer;
	size_t n;

	(void)size;
	errno = 0;
	do
		r->found = REAL(readdir)(r->d);
	while (r->found && is_hidden(dirfd(r->d), r->found->d_name));
	if (!r->found && errno)
		return -errno;
	memset(kept, 0, HEAD);
	if (!r->found)
		return (ssize_t)HEAD;
	n = strlen(r->found->d_name) + 1;
	kept->inode = r->found->d_ino;
	kept->next = (uint64_t)r->found->d_off;
	kept->at = (uint32_t)((char *)r->found - (char *)r->d);
	kept->type = r->found->d_type;
	memcpy(kept->name, r->found->d_name, n);
	return (ssize_t)(HEAD + n);
}

/* Replay: where libc had it, or, in a buffer of another size, elsewhere. */
static struct dirent *put(DIR *d, const struct kept *kept, size_t name)
{
	static __thread struct dirent other;
	size_t size = (offsetof(struct dirent, d_name) + name + 7) & ~(size_t)7;
	struct dirent *e = &other;

	if (kept->at + size <= malloc_usable_size(d))
		e = (struct dirent *)((char *)d + kept->at);
	e->d_ino = kept->inode;
	e->d_off = (off_t)kept->next;
	e->d_type = kept->type;
	e->d_reclen = (uint16_t)size;
	memcpy(e->d_name, kept->name, name);
	return e;
}

HOOK_RESIDUE_BELOW struct dirent *hook_dir_read(DIR *d, const void *site)
{
	struct reading r = {.d = d};
	struct kept kept;
	ssize_t n;

	if (!hook_io_is_programs(site))
		return REAL(readdir)(d);
	n = hook_io_told("readdir", site, fetch_entry, &r, &kept, sizeof(kept));
	if (n < (ssize_t)HEAD || !kept.at || r.found)
		return n < 0 ? NULL : r.found;
	kept.name[sizeof(kept.name) - 1] = '\0';
	return put(d, &kept, (size_t)n - HEAD);
}

HOOK_EXPORT DIR *opendir(const char *path)
{
	return HOOK_RESIDUE_OF(hook_dir_open(path, SITE));
}

HOOK_EXPORT int closedir(DIR *d)
{
	return HOOK_RESIDUE_OF(hook_dir_close(d, SITE));
}

HOOK_EXPORT struct dirent *readdir(DIR *d)
{
	return HOOK_RESIDUE_OF(hook_dir_read(d, SITE));
}

HOOK_EXPORT int readdir_r(DIR *restrict d, struct dirent *restrict entry,
			  struct dirent **restrict result)
{
	int error = errno;
	struct dirent *e;

	errno = 0;
	e = HOOK_RESIDUE_OF(hook_dir_read(d, SITE));
	if (e)
		memcpy(entry, e, e->d_reclen);
	*result = e ? entry : NULL;
	if (e)
		errno = error;
	return e ? 0 : errno;
}

_Static_assert(sizeof(struct dirent) == sizeof(struct dirent64), "one readdir is the other");
HOOK_EXPORT struct dirent64 *readdir64(DIR *d) __attribute__((alias("readdir")));
HOOK_EXPORT int readdir64_r(DIR *restrict d, struct dirent64 *restrict entry,
			    struct dirent64 **restrict result) __attribute__((alias("readdir_r")));

static ssize_t fetch_position(void *ctx, void *buffer, size_t size)
{
	long at = REAL(telldir)(ctx);

	memcpy(buffer, &at, size);
	return at < 0 ? -errno : (ssize_t)size;
}

HOOK_EXPORT long telldir(DIR *d)
{
	long at = -1;

	if (!hook_io_is_programs(SITE))
		return REAL(telldir)(d);
	if (hook_io_told("telldir", SITE, fetch_position, d, &at, sizeof(at)) < 0)
		return -1;
	return at;
}

struct raw {
	int fd;
};

/* How many bytes are left if those that are to be hidden go. */
static ssize_t hide(int fd, char *bytes, ssize_t n)
{
	ssize_t left = 0;

	for (ssize_t at = 0; at < n;) {
		struct dirent64 *e = (struct dirent64 *)(bytes + at);
		uint16_t length = e->d_reclen;

		if (!is_hidden(fd, e->d_name)) {
			memmove(bytes + left, e, length);
			left += length;
		}
		at += length;
	}
	return left;
}

static ssize_t fetch_raw(void *ctx, void *buffer, size_t size)
{
	int fd = ((struct raw *)ctx)->fd;
	ssize_t n, left;

	do {
		n = REAL(getdents64)(fd, buffer, size);
		if (n <= 0)
			return n < 0 ? -errno : 0;
		left = hide(fd, buffer, n);
	} while (!left);
	return left;
}

HOOK_EXPORT ssize_t getdents64(int fd, void *buffer, size_t n)
{
	struct raw raw = {fd};

	if (!hook_io_is_programs(SITE))
		return REAL(getdents64)(fd, buffer, n);
	return hook_io_told("getdents64", SITE, fetch_raw, &raw, buffer, n);
}
