/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making sockets and setting them up. In replay they are placeholders: nothing is bound, nobody
 * connects.
 */
#undef _FORTIFY_SOURCE
#include <errno.h>

#include "hook/common/real.h"
#include "hook/input/channel/channel.h"

#define SITE __builtin_return_address(0)

static int open_flags(int type)
{
	return (type & SOCK_CLOEXEC ? O_CLOEXEC : 0) | (type & SOCK_NONBLOCK ? O_NONBLOCK : 0);
}

HOOK_EXPORT int socket(int domain, int type, int protocol)
{
	if (!hook_channel_may_make(SITE))
		return REAL(socket)(domain, type, protocol);
	HOOK_IO(io, "socket", HOOK_IO_GETS);
	if (io.live)
		hook_io_did(&io, REAL(socket)(domain, type, protocol));
	hook_channel_made(&io, (int)io.result, HOOK_CHANNEL_SOCKET, open_flags(type));
	return (int)hook_io_result(&io);
}

static int accepted(int fd, struct sockaddr *from, socklen_t *length, int flags)
{
	socklen_t room = from && length ? *length : 0;
	HOOK_IO(io, "accept", HOOK_IO_GETS);

	if (io.live)
		hook_io_did(&io, REAL(accept4)(fd, from, length, flags));
	hook_channel_made(&io, (int)io.result, HOOK_CHANNEL_SOCKET, open_flags(flags));
	if (io.result >= 0 && from && length) {
		hook_io_part(&io, length, sizeof(*length), sizeof(*length));
		hook_io_part(&io, from, *length < room ? *length : room, room);
	}
	return (int)hook_io_result(&io);
}

HOOK_EXPORT int accept(int fd, __SOCKADDR_ARG from, socklen_t *length)
{
	if (!hook_channel_has(fd, SITE)) {
		hook_channel_is_foreign(fd, SITE);
		return REAL(accept)(fd, from, length);
	}
	return accepted(fd, from.__sockaddr__, length, 0);
}

HOOK_EXPORT int accept4(int fd, __SOCKADDR_ARG from, socklen_t *length, int flags)
{
	if (!hook_channel_has(fd, SITE)) {
		hook_channel_is_foreign(fd, SITE);
		return REAL(accept4)(fd, from, length, flags);
	}
	return accepted(fd, from.__sockaddr__, length, flags);
}

HOOK_IO_CALL(bind, HOOK_IO_GIVES, (int fd, __CONST_SOCKADDR_ARG to, socklen_t length),
	     (fd, to, length))
HOOK_IO_CALL(listen, HOOK_IO_GIVES, (int fd, int backlog), (fd, backlog))
HOOK_IO_CALL(connect, HOOK_IO_GIVES, (int fd, __CONST_SOCKADDR_ARG to, socklen_t length),
	     (fd, to, length))
HOOK_IO_CALL(setsockopt, HOOK_IO_GIVES,
	     (int fd, int level, int name, const void *value, socklen_t length),
	     (fd, level, name, value, length))

/* Done to a pair that is kept in step, too: its other end may be waiting for it. */
HOOK_EXPORT int shutdown(int fd, int how)
{
	if (!hook_channel_has(fd, SITE))
		return REAL(shutdown)(fd, how);
	HOOK_IO(io, "shutdown", HOOK_IO_GIVES);
	if (io.live)
		hook_io_did(&io, REAL(shutdown)(fd, how));
	else if (hook_channel_kind(fd) != HOOK_CHANNEL_SOCKET)
		REAL(shutdown)(fd, how);
	return (int)hook_io_result(&io);
}

/* A result of a length that the call tells. */
static int sized(struct hook_io *io, void *p, socklen_t *length, socklen_t room)
{
	if (io->result >= 0) {
		hook_io_part(io, length, sizeof(*length), sizeof(*length));
		hook_io_part(io, p, *length < room ? *length : room, room);
	}
	return (int)hook_io_result(io);
}

#define DEFINE_SIZED(name, parameters, arguments, result)                                          \
	HOOK_EXPORT int name parameters                                                            \
	{                                                                                          \
		if (!hook_channel_has(fd, SITE))                                                   \
			return REAL(name) arguments;                                               \
		socklen_t room = *length;                                                          \
		HOOK_IO(io, #name, HOOK_IO_GETS);                                                  \
                                                                                                   \
		if (io.live)                                                                       \
			hook_io_did(&io, REAL(name) arguments);                                    \
		return sized(&io, result, length, room);                                           \
	}

DEFINE_SIZED(getsockname, (int fd, __SOCKADDR_ARG address, socklen_t *length),
	     (fd, address, length), address.__sockaddr__)
DEFINE_SIZED(getpeername, (int fd, __SOCKADDR_ARG address, socklen_t *length),
	     (fd, address, length), address.__sockaddr__)
DEFINE_SIZED(getsockopt, (int fd, int level, int option, void *value, socklen_t *length),
	     (fd, level, option, value, length), value)
