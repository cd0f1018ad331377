/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks on files exclude threads, too, if each thread has opened the file. Once there are threads,
 * they are steps of the order of io.h: taking one has its place after the call, giving it back
 * before. In replay the real call is made as well, in its turn, since other processes may want the
 * file. Whether it was had is an input: another process may have had it.
 */
#undef _FORTIFY_SOURCE
#include "hook/input/descriptor/lock.h"

#include <errno.h>
#include <sys/file.h>

#include "hook/common/real.h"
#include "hook/input/channel/io.h"

static int do_lock(const struct hook_lock *l)
{
	return l->range ? REAL(fcntl)(l->fd, l->how, l->range) : REAL(flock)(l->fd, l->how);
}

/* Who has it, if anybody: a process that may have another number in replay. */
int hook_lock_ask(int fd, int how, struct flock *range, const void *site)
{
	if (!hook_io_is_programs(site))
		return REAL(fcntl)(fd, how, range);
	HOOK_IO(io, "fcntl", HOOK_IO_GETS);
	if (io.live)
		hook_io_did(&io, REAL(fcntl)(fd, how, range));
	if (io.result >= 0)
		hook_io_part(&io, range, sizeof(*range), sizeof(*range));
	return (int)hook_io_result(&io);
}

int hook_lock_do(const struct hook_lock *l, const void *site)
{
	bool gives = l->range ? l->range->l_type == F_UNLCK : (l->how & LOCK_UN) != 0;

	if (!hook_io_is_programs(site))
		return do_lock(l);
	HOOK_IO(io, l->range ? "fcntl" : "flock", gives ? HOOK_IO_GIVES : HOOK_IO_GETS);
	if (io.live)
		hook_io_did(&io, do_lock(l));
	else if (io.result >= 0)
		while (do_lock(l) != 0 && errno == EINTR)
			;
	return (int)hook_io_result(&io);
}

HOOK_EXPORT int flock(int fd, int how)
{
	return hook_lock_do(&(struct hook_lock){.fd = fd, .how = how}, __builtin_return_address(0));
}

HOOK_EXPORT int lockf(int fd, int how, off_t length)
{
	if (!hook_io_is_programs(__builtin_return_address(0)))
		return REAL(lockf)(fd, how, length);
	HOOK_IO(io, "lockf", how == F_ULOCK ? HOOK_IO_GIVES : HOOK_IO_GETS);
	if (io.live)
		hook_io_did(&io, REAL(lockf)(fd, how, length));
	else if (io.result >= 0 && how != F_TEST)
		while (REAL(lockf)(fd, how, length) != 0 && errno == EINTR)
			;
	return (int)hook_io_result(&io);
}

_Static_assert(sizeof(off_t) == sizeof(off64_t), "one lockf is the other");
HOOK_EXPORT int lockf64(int fd, int how, off64_t length) __attribute__((alias("lockf")));
