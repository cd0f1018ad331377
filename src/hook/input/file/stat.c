/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel tells of a file (stat and its kin) is an input: in replay the run writes its
 * files anew, so times and inodes are others. The program gets what it got; the file is asked all
 * the same, so that one that has changed is noticed, and one that another process is about to make
 * is waited for. Among threads it is a step of the order of io.h: a file that is there was made by
 * then.
 *
 * A result is kept as words, as differences to the last one of the thread: a mask of those that are
 * not 0, then these.
 */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/stat.h>

#include "base/varint.h"
#include "hook/common/real.h"
#include "hook/input/channel/channel.h"
#include "hook/input/descriptor/file.h"
#include "hook/input/file/infile.h"
#include "hook/input/value/input.h"
#include "hook/program/residue.h"
#include "hook/session/moved.h"
#include "hook/session/private.h"
#include "hook/session/session.h"

#define SITE __builtin_return_address(0)
#define BYTES ((HOOK_STAT_WORDS + 1) * RP_VARINT_MAX)
#define NAPS_FOR_FILES 5000 /* of all files together */
#define TICK_NS 10000000    /* times of files may be late by that */

enum way { BY_PATH, BY_DESCRIPTOR, EXTENDED };

struct call {
	const char *name;
	enum way way;
	int dir; /* or the descriptor */
	const char *path;
	int flags;
	unsigned int mask;
	void *result; /* struct stat, or struct statx */
};

_Static_assert(sizeof(struct stat) % 8 == 0 && sizeof(struct stat) <= 8 * HOOK_STAT_WORDS, "words");
_Static_assert(sizeof(struct statx) <= 8 * HOOK_STAT_WORDS, "words");

static size_t words_of(const struct call *c)
{
	return (c->way == EXTENDED ? sizeof(struct statx) : sizeof(struct stat)) / 8;
}

static int make(const struct call *c)
{
	char elsewhere[HOOK_MOVED_PATH], own[HOOK_MOVED_PATH];
	const char *path = c->path;

	if (c->way == BY_DESCRIPTOR)
		return REAL(fstat)(c->dir, c->result);
	if (__builtin_expect(hook_moved, 0) && path)
		path = hook_moved_path(path, elsewhere);
	if (__builtin_expect(hook_private, 0) && path && *path)
		path = hook_private_path(c->dir, path, own);
	if (c->way == EXTENDED)
		return REAL(statx)(c->dir, path, c->flags, c->mask, c->result);
	return REAL(fstatat)(c->dir, path, c->result, c->flags);
}

static size_t encode(const struct call *c, uint8_t bytes[BYTES])
{
	const uint64_t *last = hook_self->input.stat_last;
	uint64_t now[HOOK_STAT_WORDS], mask = 0;
	size_t n = words_of(c), at;

	memcpy(now, c->result, 8 * n);
	for (size_t i = 0; i < n; i++)
		mask |= (uint64_t)(now[i] != last[i]) << i;
	at = rp_varint_put(bytes, mask);
	for (size_t i = 0; i < n; i++) {
		if (now[i] != last[i])
			at += rp_varint_put(bytes + at, rp_zigzag((int64_t)(now[i] - last[i])));
	}
	return at;
}

/* In all modes: what is put in the program's memory is what the next difference is to. */
static void decode(const struct call *c, const uint8_t *bytes, size_t n)
{
	uint64_t *last = hook_self->input.stat_last, mask = 0, value = 0;
	const uint8_t *end = bytes + n;
	size_t used = rp_varint_get(bytes, end, &mask);

	for (size_t i = 0; i < words_of(c) && used; i++) {
		if (!(mask >> i & 1))
			continue;
		bytes += used;
		used = rp_varint_get(bytes, end, &value);
		last[i] += (uint64_t)rp_unzigzag(value);
	}
	if (!used)
		hook_failed(hook_self, "the recorded inputs make no sense");
	memcpy(c->result, last, 8 * words_of(c));
}

static ssize_t fetch(void *ctx, void *buffer, size_t size)
{
	(void)size;
	return make(ctx) == 0 ? (ssize_t)encode(ctx, buffer) : -errno;
}

struct seen {
	mode_t mode;
	uint64_t size;
	int64_t changed; /* ns */
};

static struct seen seen_of(const struct call *c)
{
	const struct statx *x = c->result;
	const struct stat *st = c->result;

	if (c->way == EXTENDED)
		return (struct seen){x->stx_mode, x->stx_size,
				     x->stx_ctime.tv_sec * 1000000000 + x->stx_ctime.tv_nsec};
	return (struct seen){st->st_mode, (uint64_t)st->st_size,
			     st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec};
}

static bool was_fresh(const struct seen *was)
{
	const struct trace_view *view = hook_input_view();

	return view->header && was->changed + TICK_NS > (int64_t)view->header->start_ns;
}

static int ask_now(const struct call *c, struct stat *st)
{
	struct call now = *c;

	now.result = st;
	now.flags &= AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT;
	now.way = c->way == EXTENDED ? BY_PATH : c->way;
	return make(&now);
}

/* Replay: the program has been told that there is such a file. */
static void look(const struct call *c)
{
	static int naps;
	struct seen was = seen_of(c);
	int depth = hook_depth, error = errno;
	struct stat now;

	/* Processes that were there are gone. */
	if (c->path && hook_channel_is_told(c->path, false))
		return;
	hook_depth = HOOK_CLOSED;
	while (ask_now(c, &now) != 0) {
		if (naps >= NAPS_FOR_FILES || errno != ENOENT || !was_fresh(&was) ||
		    (c->path && strncmp(c->path, "/proc/", 6) == 0))
			goto leave;
		naps = hook_session_nap(naps);
	}
	if (S_ISREG(was.mode) && S_ISREG(now.st_mode) && was.size != (uint64_t)now.st_size &&
	    !hook_infile_is_fresh(&now) && !was_fresh(&was))
		hook_infile_resized(c->way == BY_DESCRIPTOR ? c->dir : -1, c->dir, c->path,
				    was.size, (uint64_t)now.st_size);
leave:
	hook_depth = depth;
	errno = error;
}

static int ask_in_turn(const struct call *c)
{
	uint8_t bytes[BYTES];
	size_t n = 0;
	HOOK_IO(io, c->name, HOOK_IO_GETS);

	if (io.live) {
		hook_io_did(&io, make(c));
		n = io.result < 0 ? 0 : encode(c, bytes);
	}
	if (io.result >= 0) {
		n = hook_io_part(&io, bytes, n, sizeof(bytes));
		decode(c, bytes, n);
	}
	return (int)hook_io_result(&io);
}

static int ask_alone(struct call *c)
{
	uint8_t bytes[BYTES];
	ssize_t n = hook_input_bytes(TRACE_IN_STRUCT, c->name, fetch, c, bytes, sizeof(bytes));

	if (n < 0)
		return -1;
	decode(c, bytes, (size_t)n);
	return 0;
}

static HOOK_RESIDUE_BELOW int ask_below(struct call *c, const void *site)
{
	int rc;

	if (!hook_io_is_programs(site))
		return make(c);
	rc = hook_file_has_number(site) ? ask_in_turn(c) : ask_alone(c);
	if (rc == 0 && hook_process.mode == HOOK_REPLAY)
		look(c);
	return rc;
}

static int ask(struct call c, const void *site)
{
	return HOOK_RESIDUE_OF(ask_below(&c, site));
}

HOOK_EXPORT int stat(const char *path, struct stat *st)
{
	return ask((struct call){"stat", BY_PATH, AT_FDCWD, path, 0, 0, st}, SITE);
}

HOOK_EXPORT int lstat(const char *path, struct stat *st)
{
	return ask((struct call){"lstat", BY_PATH, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0, st},
		   SITE);
}

HOOK_EXPORT int fstat(int fd, struct stat *st)
{
	return ask((struct call){"fstat", BY_DESCRIPTOR, fd, NULL, 0, 0, st}, SITE);
}

HOOK_EXPORT int fstatat(int dir, const char *path, struct stat *st, int flags)
{
	return ask((struct call){"fstatat", BY_PATH, dir, path, flags, 0, st}, SITE);
}

HOOK_EXPORT int statx(int dir, const char *path, int flags, unsigned int mask, struct statx *st)
{
	return ask((struct call){"statx", EXTENDED, dir, path, flags, mask, st}, SITE);
}

/* As libc does it, where it would ask by itself. */
HOOK_EXPORT key_t ftok(const char *path, int id)
{
	struct stat st;

	if (ask((struct call){"stat", BY_PATH, AT_FDCWD, path, 0, 0, &st}, SITE) < 0)
		return -1;
	return (key_t)((st.st_ino & 0xffff) | (st.st_dev & 0xff) << 16 | (id & 0xffu) << 24);
}

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "one is the other");
HOOK_EXPORT int stat64(const char *path, struct stat64 *st) __attribute__((alias("stat")));
HOOK_EXPORT int lstat64(const char *path, struct stat64 *st) __attribute__((alias("lstat")));
HOOK_EXPORT int fstat64(int fd, struct stat64 *st) __attribute__((alias("fstat")));
HOOK_EXPORT int fstatat64(int dir, const char *path, struct stat64 *st, int flags)
	__attribute__((alias("fstatat")));

/* Programs linked before these became functions of their own. */
HOOK_EXPORT int __xstat(int version, const char *path, struct stat *st);
HOOK_EXPORT int __lxstat(int version, const char *path, struct stat *st);
HOOK_EXPORT int __fxstat(int version, int fd, struct stat *st);
HOOK_EXPORT int __fxstatat(int version, int dir, const char *path, struct stat *st, int flags);

HOOK_EXPORT int __xstat(int version, const char *path, struct stat *st)
{
	(void)version;
	return ask((struct call){"stat", BY_PATH, AT_FDCWD, path, 0, 0, st}, SITE);
}

HOOK_EXPORT int __lxstat(int version, const char *path, struct stat *st)
{
	(void)version;
	return ask((struct call){"lstat", BY_PATH, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0, st},
		   SITE);
}

HOOK_EXPORT int __fxstat(int version, int fd, struct stat *st)
{
	(void)version;
	return ask((struct call){"fstat", BY_DESCRIPTOR, fd, NULL, 0, 0, st}, SITE);
}

HOOK_EXPORT int __fxstatat(int version, int dir, const char *path, struct stat *st, int flags)
{
	(void)version;
	return ask((struct call){"fstatat", BY_PATH, dir, path, flags, 0, st}, SITE);
}

HOOK_EXPORT int __xstat64(int version, const char *path, struct stat *st)
	__attribute__((alias("__xstat")));
HOOK_EXPORT int __lxstat64(int version, const char *path, struct stat *st)
	__attribute__((alias("__lxstat")));
HOOK_EXPORT int __fxstat64(int version, int fd, struct stat *st) __attribute__((alias("__fxstat")));
HOOK_EXPORT int __fxstatat64(int version, int dir, const char *path, struct stat *st, int flags)
	__attribute__((alias("__fxstatat")));
