/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks on files exclude threads, too, if each thread has opened the file. Once there are threads,
 * they are steps of the order of io.h: taking one has its place after the call, giving it back
 * before. In replay the real call is made as well, in its turn, since other processes may want the
 * file.
 */
#undef _FORTIFY_SOURCE
#include "hook/input/descriptor/lock.h"

#include <errno.h>
#include <sys/file.h>

#include "hook/common/real.h"
#include "hook/input/descriptor/file.h"

static int do_lock(const struct hook_lock *l)
{
	return l->range ? REAL(fcntl)(l->fd, l->how, l->range) : REAL(flock)(l->fd, l->how);
}

int hook_lock_do(const struct hook_lock *l, const void *site)
{
	bool gives = l->range ? l->range->l_type == F_UNLCK : (l->how & LOCK_UN) != 0;

	if (!hook_file_has_number(site))
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
