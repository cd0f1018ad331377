/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a file is there and may be used (access) is an input: in replay the run may find what the
 * recorded one has left. If the file was there, another process may be about to make it. Replay
 * waits for it, because the program is about to open it.
 */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <unistd.h>

#include "hook/common/real.h"
#include "hook/input/channel/channel.h"
#include "hook/program/residue.h"
#include "hook/session/moved.h"
#include "hook/session/private.h"
#include "hook/session/session.h"

#define SITE __builtin_return_address(0)
#define NAPS_FOR_FILES 250 /* of all files together */

struct question {
	int dir;
	const char *path;
	int mode, flags;
};

static ssize_t fetch(void *ctx, void *buffer, size_t size)
{
	const struct question *q = ctx;

	(void)buffer, (void)size;
	return REAL(faccessat)(q->dir, q->path, q->mode, q->flags) == 0 ? 0 : -errno;
}

static void wait_for_file(const struct question *q)
{
	static int naps;
	char elsewhere[HOOK_MOVED_PATH], own[HOOK_MOVED_PATH];
	const char *path = q->path;
	int error = errno;

	if (__builtin_expect(hook_moved, 0))
		path = hook_moved_path(path, elsewhere);
	if (__builtin_expect(hook_private, 0))
		path = hook_private_path(q->dir, path, own);
	while (naps < NAPS_FOR_FILES && REAL(faccessat)(q->dir, path, F_OK, 0) != 0 &&
	       errno == ENOENT)
		naps = hook_session_nap(naps);
	errno = error;
}

static HOOK_RESIDUE_BELOW int ask(struct question q, const char *name, const void *site)
{
	char number[HOOK_INPUT_PATH], nothing[1];
	int rc;

	if (!hook_io_is_programs(site) || !q.path)
		return REAL(faccessat)(q.dir, q.path, q.mode, q.flags);
	q.path = hook_input_real_path(q.path, number);
	rc = (int)hook_io_told(name, site, fetch, &q, nothing, sizeof(nothing));
	/* Processes that were there are gone. */
	if (rc == 0 && hook_process.mode == HOOK_REPLAY && !hook_channel_is_told(q.path, false))
		wait_for_file(&q);
	return rc;
}

HOOK_EXPORT int access(const char *path, int mode)
{
	return HOOK_RESIDUE_OF(ask((struct question){AT_FDCWD, path, mode, 0}, "access", SITE));
}

HOOK_EXPORT int faccessat(int dir, const char *path, int mode, int flags)
{
	return HOOK_RESIDUE_OF(ask((struct question){dir, path, mode, flags}, "faccessat", SITE));
}

HOOK_EXPORT int euidaccess(const char *path, int mode)
{
	return HOOK_RESIDUE_OF(
		ask((struct question){AT_FDCWD, path, mode, AT_EACCESS}, "euidaccess", SITE));
}

HOOK_EXPORT int eaccess(const char *path, int mode) __attribute__((alias("euidaccess")));
