/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for descriptors. All waits of the program are recorded, whatever the descriptors, because
 * the outside world decides how long they take and whether they time out. Replay does not wait.
 */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <string.h>

#include "hook/common/real.h"
#include "hook/input/channel/channel.h"

#define SITE __builtin_return_address(0)

struct ready {
	uint32_t index;
	uint32_t revents;
};

/* Of those that are ready, one after the other. */
static void poll_parts(struct hook_io *io, struct pollfd *fds, nfds_t n)
{
	struct ready one;
	nfds_t at = 0;

	for (nfds_t i = 0; !io->live && i < n; i++)
		fds[i].revents = 0;
	for (int64_t left = io->result; left > 0; left--, at++) {
		while (io->live && at < n && !fds[at].revents)
			at++;
		if (io->live && at < n)
			one = (struct ready){(uint32_t)at, (uint16_t)fds[at].revents};
		hook_io_part(io, &one, sizeof(one), sizeof(one));
		if (one.index >= n)
			hook_diverged(io->t, io->call, "more descriptors", "fewer");
		fds[one.index].revents = (short)one.revents;
	}
}

static int poll_hooked(struct pollfd *fds, nfds_t n, int timeout)
{
	HOOK_IO(io, "poll", HOOK_IO_GETS);

	if (io.live)
		hook_io_did(&io, REAL(poll)(fds, n, timeout));
	poll_parts(&io, fds, n);
	return (int)hook_io_result(&io);
}

static int ppoll_hooked(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
			const sigset_t *mask)
{
	HOOK_IO(io, "ppoll", HOOK_IO_GETS);

	if (io.live)
		hook_io_did(&io, REAL(ppoll)(fds, n, timeout, mask));
	poll_parts(&io, fds, n);
	return (int)hook_io_result(&io);
}

HOOK_EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	return hook_io_is_programs(SITE) ? poll_hooked(fds, n, timeout)
					 : REAL(poll)(fds, n, timeout);
}

HOOK_EXPORT int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room)
{
	return hook_io_is_programs(SITE) && room / sizeof(*fds) >= n
		       ? poll_hooked(fds, n, timeout)
		       : REAL(__poll_chk)(fds, n, timeout, room);
}

HOOK_EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		      const sigset_t *mask)
{
	return hook_io_is_programs(SITE) ? ppoll_hooked(fds, n, timeout, mask)
					 : REAL(ppoll)(fds, n, timeout, mask);
}

HOOK_EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
			    const sigset_t *mask, size_t room)
{
	return hook_io_is_programs(SITE) && room / sizeof(*fds) >= n
		       ? ppoll_hooked(fds, n, timeout, mask)
		       : REAL(__ppoll_chk)(fds, n, timeout, mask, room);
}

static void select_parts(struct hook_io *io, int n, fd_set *const sets[3])
{
	size_t bytes = ((size_t)n + NFDBITS - 1) / NFDBITS * sizeof(fd_mask);

	for (int i = 0; i < 3 && io->result >= 0; i++) {
		if (sets[i])
			hook_io_part(io, sets[i], bytes, bytes);
	}
}

/* The kernel writes the time that is left to the time-out. */
HOOK_EXPORT int select(int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
	fd_set *const sets[3] = {in, out, except};

	if (!hook_io_is_programs(SITE))
		return REAL(select)(n, in, out, except, timeout);
	HOOK_IO(io, "select", HOOK_IO_GETS);
	if (io.live)
		hook_io_did(&io, REAL(select)(n, in, out, except, timeout));
	select_parts(&io, n, sets);
	if (timeout)
		hook_io_part(&io, timeout, sizeof(*timeout), sizeof(*timeout));
	return (int)hook_io_result(&io);
}

HOOK_EXPORT int pselect(int n, fd_set *in, fd_set *out, fd_set *except,
			const struct timespec *timeout, const sigset_t *mask)
{
	fd_set *const sets[3] = {in, out, except};

	if (!hook_io_is_programs(SITE))
		return REAL(pselect)(n, in, out, except, timeout, mask);
	HOOK_IO(io, "pselect", HOOK_IO_GETS);
	if (io.live)
		hook_io_did(&io, REAL(pselect)(n, in, out, except, timeout, mask));
	select_parts(&io, n, sets);
	return (int)hook_io_result(&io);
}

HOOK_EXPORT int epoll_ctl(int fd, int op, int of, struct epoll_event *event)
{
	if (!hook_channel_has(fd, SITE))
		return REAL(epoll_ctl)(fd, op, of, event);
	HOOK_IO(io, "epoll_ctl", HOOK_IO_GIVES);
	if (io.live)
		hook_io_did(&io, REAL(epoll_ctl)(fd, op, of, event));
	return (int)hook_io_result(&io);
}

static int epoll_done(struct hook_io *io, struct epoll_event *events, int room)
{
	if (io->result > 0)
		hook_io_part(io, events, (size_t)io->result * sizeof(*events),
			     (size_t)room * sizeof(*events));
	return (int)hook_io_result(io);
}

HOOK_EXPORT int epoll_wait(int fd, struct epoll_event *events, int room, int timeout)
{
	if (!hook_channel_has(fd, SITE))
		return REAL(epoll_wait)(fd, events, room, timeout);
	HOOK_IO(io, "epoll_wait", HOOK_IO_GETS);
	if (io.live)
		hook_io_did(&io, REAL(epoll_wait)(fd, events, room, timeout));
	return epoll_done(&io, events, room);
}

HOOK_EXPORT int epoll_pwait(int fd, struct epoll_event *events, int room, int timeout,
			    const sigset_t *mask)
{
	if (!hook_channel_has(fd, SITE))
		return REAL(epoll_pwait)(fd, events, room, timeout, mask);
	HOOK_IO(io, "epoll_pwait", HOOK_IO_GETS);
	if (io.live)
		hook_io_did(&io, REAL(epoll_pwait)(fd, events, room, timeout, mask));
	return epoll_done(&io, events, room);
}

HOOK_EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int room,
			     const struct timespec *timeout, const sigset_t *mask)
{
	if (!hook_channel_has(fd, SITE))
		return REAL(epoll_pwait2)(fd, events, room, timeout, mask);
	HOOK_IO(io, "epoll_pwait2", HOOK_IO_GETS);
	if (io.live)
		hook_io_did(&io, REAL(epoll_pwait2)(fd, events, room, timeout, mask));
	return epoll_done(&io, events, room);
}
