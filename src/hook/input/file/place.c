/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the program is, and where links lead. The program gets the recorded answer, even if the
 * replay runs elsewhere or finds what the recorded run has left.
 */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "hook/common/real.h"
#include "hook/input/channel/io.h"
#include "hook/program/residue.h"
#include "hook/session/moved.h"

#define SITE __builtin_return_address(0)

char *__getcwd_chk(char *buffer, size_t size, size_t room);
ssize_t __readlink_chk(const char *path, char *buffer, size_t n, size_t room);
ssize_t __readlinkat_chk(int dir, const char *path, char *buffer, size_t n, size_t room);
char *__realpath_chk(const char *path, char *resolved, size_t room);

struct question {
	int dir;
	const char *path;
	char elsewhere[HOOK_MOVED_PATH];
};

static struct question question(int dir, const char *path)
{
	return (struct question){.dir = dir, .path = path};
}

/* Replay: where it lies now. */
static const char *place_of(struct question *q)
{
	return __builtin_expect(hook_moved, 0) && q->path ? hook_moved_path(q->path, q->elsewhere)
							  : q->path;
}

static ssize_t path_bytes(const char *path)
{
	return path ? (ssize_t)strlen(path) + 1 : -errno;
}

static ssize_t fetch_cwd(void *ctx, void *buffer, size_t size)
{
	(void)ctx;
	return path_bytes(REAL(getcwd)(buffer, size));
}

/* As many bytes as the program offers, or as are needed. */
static char *place(char *buffer, size_t size, const char *path, size_t n)
{
	if (size && n > size) {
		errno = ERANGE;
		return NULL;
	}
	if (!buffer)
		buffer = malloc(size ? size : n);
	return buffer ? memcpy(buffer, path, n) : NULL;
}

static HOOK_RESIDUE_BELOW char *working_directory(char *buffer, size_t size, const void *site)
{
	char path[PATH_MAX];
	ssize_t n;

	if (!hook_io_is_programs(site) || (buffer && !size))
		return REAL(getcwd)(buffer, size);
	n = hook_io_told("getcwd", site, fetch_cwd, NULL, path, sizeof(path));
	return n < 0 ? NULL : place(buffer, size, path, (size_t)n);
}

HOOK_EXPORT char *getcwd(char *buffer, size_t size)
{
	return HOOK_RESIDUE_OF(working_directory(buffer, size, SITE));
}

HOOK_EXPORT char *__getcwd_chk(char *buffer, size_t size, size_t room)
{
	if (size > room)
		abort();
	return HOOK_RESIDUE_OF(working_directory(buffer, size, SITE));
}

static ssize_t fetch_named_cwd(void *ctx, void *buffer, size_t size)
{
	char *path = REAL(get_current_dir_name)();
	ssize_t n = path_bytes(path);

	(void)ctx;
	if (n > (ssize_t)size)
		n = -ENAMETOOLONG;
	if (n > 0)
		memcpy(buffer, path, (size_t)n);
	free(path);
	return n;
}

static HOOK_RESIDUE_BELOW char *named_directory(const void *site)
{
	char path[PATH_MAX];
	ssize_t n;

	if (!hook_io_is_programs(site))
		return REAL(get_current_dir_name)();
	n = hook_io_told("get_current_dir_name", site, fetch_named_cwd, NULL, path, sizeof(path));
	return n < 0 ? NULL : place(NULL, 0, path, (size_t)n);
}

HOOK_EXPORT char *get_current_dir_name(void)
{
	return HOOK_RESIDUE_OF(named_directory(SITE));
}

static ssize_t fetch_link(void *ctx, void *buffer, size_t size)
{
	struct question *q = ctx;
	ssize_t n = REAL(readlinkat)(q->dir, place_of(q), buffer, size);

	return n < 0 ? -errno : n;
}

static HOOK_RESIDUE_BELOW ssize_t read_link(int dir, const char *path, char *buffer, size_t n,
					    const void *site)
{
	char number[HOOK_INPUT_PATH];
	struct question q = question(dir, hook_input_real_path(path, number));

	if (!hook_io_is_programs(site) || !n)
		return REAL(readlinkat)(dir, q.path, buffer, n);
	return hook_io_told("readlink", site, fetch_link, &q, buffer, n);
}

HOOK_EXPORT ssize_t readlink(const char *restrict path, char *restrict buffer, size_t n)
{
	return HOOK_RESIDUE_OF(read_link(AT_FDCWD, path, buffer, n, SITE));
}

HOOK_EXPORT ssize_t readlinkat(int dir, const char *restrict path, char *restrict buffer, size_t n)
{
	return HOOK_RESIDUE_OF(read_link(dir, path, buffer, n, SITE));
}

HOOK_EXPORT ssize_t __readlink_chk(const char *path, char *buffer, size_t n, size_t room)
{
	if (n > room)
		abort();
	return HOOK_RESIDUE_OF(read_link(AT_FDCWD, path, buffer, n, SITE));
}

HOOK_EXPORT ssize_t __readlinkat_chk(int dir, const char *path, char *buffer, size_t n, size_t room)
{
	if (n > room)
		abort();
	return HOOK_RESIDUE_OF(read_link(dir, path, buffer, n, SITE));
}

/*
 * What realpath tells: errno, or 0, and a path. If it fails, libc leaves in the buffer of the
 * program how far it came.
 */
struct resolved {
	int32_t error;
	char path[PATH_MAX];
};

static ssize_t fetch_real(void *ctx, void *buffer, size_t size)
{
	struct resolved *r = buffer;

	(void)size;
	r->path[0] = 0;
	r->error = REAL(realpath)(place_of(ctx), r->path) ? 0 : errno;
	return (ssize_t)(offsetof(struct resolved, path) + strlen(r->path) + 1);
}

static HOOK_RESIDUE_BELOW char *real_path(const char *path, char *resolved, const void *site)
{
	struct question q = question(AT_FDCWD, path);
	struct resolved told;
	ssize_t n;

	if (!hook_io_is_programs(site) || !path)
		return REAL(realpath)(path, resolved);
	n = hook_io_told("realpath", site, fetch_real, &q, &told, sizeof(told)) -
	    (ssize_t)offsetof(struct resolved, path);
	if (n <= 0)
		return NULL;
	if (!told.error)
		return place(resolved, 0, told.path, (size_t)n);
	if (resolved && told.path[0])
		memcpy(resolved, told.path, (size_t)n);
	errno = told.error;
	return NULL;
}

HOOK_EXPORT char *realpath(const char *restrict path, char *restrict resolved)
{
	return HOOK_RESIDUE_OF(real_path(path, resolved, SITE));
}

HOOK_EXPORT char *canonicalize_file_name(const char *path)
{
	return HOOK_RESIDUE_OF(real_path(path, NULL, SITE));
}

HOOK_EXPORT char *__realpath_chk(const char *path, char *resolved, size_t room)
{
	if (room < PATH_MAX)
		abort();
	return HOOK_RESIDUE_OF(real_path(path, resolved, SITE));
}
