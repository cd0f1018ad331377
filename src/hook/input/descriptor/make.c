/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipes, pairs of sockets and descriptors of events, timers and signals; how descriptors are closed
 * and duplicated. The number that a call gives out depends on what other threads close and open:
 * closing gives, all else gets.
 */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <stdarg.h>

#include "hook/common/real.h"
#include "hook/common/signal.h"
#include "hook/input/channel/channel.h"
#include "hook/input/descriptor/file.h"
#include "hook/input/descriptor/lock.h"
#include "hook/output/output.h"

#define SITE __builtin_return_address(0)

/* Two numbers that replay gives to the ends of a pair made anew. */
static int pair_made(struct hook_io *io, int fds[2], const int made[2], enum hook_channel_kind kind)
{
	if (io->result < 0)
		return (int)hook_io_result(io);
	hook_io_part(io, fds, 2 * sizeof(fds[0]), 2 * sizeof(fds[0]));
	for (int i = 0; i < 2; i++) {
		if (!io->live)
			hook_channel_move(io, made[i], fds[i]);
		hook_channel_mark(fds[i], kind);
	}
	return (int)hook_io_result(io);
}

static void lift(int made[2])
{
	for (int i = 0; i < 2; i++)
		made[i] = hook_channel_lift(made[i]);
}

static int make_pipe(int fds[2], int flags)
{
	int made[2] = {-1, -1};
	HOOK_IO(io, "pipe", HOOK_IO_GETS);

	if (io.live)
		hook_io_did(&io, REAL(pipe2)(fds, flags));
	else if (io.result >= 0 && REAL(pipe2)(made, flags) == 0)
		lift(made);
	return pair_made(&io, fds, made, HOOK_CHANNEL_PIPE);
}

HOOK_EXPORT int pipe(int fds[2])
{
	if (!hook_channel_may_make(SITE))
		return REAL(pipe)(fds);
	return make_pipe(fds, 0);
}

HOOK_EXPORT int pipe2(int fds[2], int flags)
{
	if (!hook_channel_may_make(SITE))
		return REAL(pipe2)(fds, flags);
	return make_pipe(fds, flags);
}

HOOK_EXPORT int socketpair(int domain, int type, int protocol, int fds[2])
{
	int made[2] = {-1, -1};

	if (!hook_channel_may_make(SITE))
		return REAL(socketpair)(domain, type, protocol, fds);
	HOOK_IO(io, "socketpair", HOOK_IO_GETS);
	if (io.live)
		hook_io_did(&io, REAL(socketpair)(domain, type, protocol, fds));
	else if (io.result >= 0 && REAL(socketpair)(domain, type, protocol, made) == 0)
		lift(made);
	return pair_made(&io, fds, made,
			 (type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) == SOCK_STREAM
				 ? HOOK_CHANNEL_PIPE
				 : HOOK_CHANNEL_PACKETS);
}

/* The flags of all these calls have the values of O_CLOEXEC and O_NONBLOCK. */
#define DEFINE_MAKE(name, parameters, arguments, flags)                                            \
	HOOK_EXPORT int name parameters                                                            \
	{                                                                                          \
		if (!hook_channel_may_make(SITE))                                                  \
			return REAL(name) arguments;                                               \
		HOOK_IO(io, #name, HOOK_IO_GETS);                                                  \
		if (io.live)                                                                       \
			hook_io_did(&io, REAL(name) arguments);                                    \
		hook_channel_made(&io, (int)io.result, HOOK_CHANNEL_OTHER, flags);                 \
		return (int)hook_io_result(&io);                                                   \
	}

DEFINE_MAKE(eventfd, (unsigned int value, int flags), (value, flags), flags)
DEFINE_MAKE(timerfd_create, (clockid_t clock, int flags), (clock, flags), flags)
DEFINE_MAKE(inotify_init, (void), (), 0)
DEFINE_MAKE(inotify_init1, (int flags), (flags), flags)
DEFINE_MAKE(epoll_create, (int size), (size), 0)
DEFINE_MAKE(epoll_create1, (int flags), (flags), flags)

HOOK_EXPORT int signalfd(int fd, const sigset_t *mask, int flags)
{
	if (!hook_channel_may_make(SITE))
		return REAL(signalfd)(fd, mask, flags);
	HOOK_IO(io, "signalfd", HOOK_IO_GETS);
	if (io.live)
		hook_io_did(&io, REAL(signalfd)(fd, mask, flags));
	if (fd < 0)
		hook_channel_made(&io, (int)io.result, HOOK_CHANNEL_OTHER, flags);
	return (int)hook_io_result(&io);
}

#define DEFINE_SET(name, parameters, arguments)                                                    \
	HOOK_EXPORT int name parameters                                                            \
	{                                                                                          \
		if (!hook_channel_has(fd, SITE))                                                   \
			return REAL(name) arguments;                                               \
		HOOK_IO(io, #name, HOOK_IO_GIVES);                                                 \
		if (io.live)                                                                       \
			hook_io_did(&io, REAL(name) arguments);                                    \
		if (io.result >= 0 && old)                                                         \
			hook_io_part(&io, old, sizeof(*old), sizeof(*old));                        \
		return (int)hook_io_result(&io);                                                   \
	}

DEFINE_SET(timerfd_settime,
	   (int fd, int flags, const struct itimerspec *value, struct itimerspec *old),
	   (fd, flags, value, old))
DEFINE_SET(timerfd_gettime, (int fd, struct itimerspec *old), (fd, old))

HOOK_IO_CALL(inotify_add_watch, HOOK_IO_GETS, (int fd, const char *path, uint32_t mask),
	     (fd, path, mask))
HOOK_IO_CALL(inotify_rm_watch, HOOK_IO_GETS, (int fd, int watch), (fd, watch))

/* The mark goes first: the number may have a new owner before the call returns. */
int hook_channel_close(int fd)
{
	struct hook_thread *t = hook_thread_self();
	int rc;

	hook_depth = HOOK_CLOSED;
	hook_signal_point(t);
	hook_io_step(t);
	hook_channel_forget(fd);
	rc = REAL(close)(fd);
	hook_signal_point(t);
	hook_depth = t->passive;
	return rc;
}

int hook_channel_dup(int fd, int lowest, int flags)
{
	int command = flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD;
	HOOK_IO(io, "dup", HOOK_IO_GETS);

	if (io.live)
		hook_io_did(&io, REAL(fcntl)(fd, command, lowest));
	else if (io.result >= 0)
		hook_channel_move(&io, REAL(fcntl)(fd, command, 0), (int)io.result);
	if (io.result >= 0)
		hook_channel_mark((int)io.result, hook_channel_kind(fd));
	return (int)hook_io_result(&io);
}

/* Done in replay as it was: the number is the program's choice. */
int hook_channel_dup_to(int fd, int to, int flags)
{
	struct hook_thread *t = hook_thread_self();
	int rc;

	hook_depth = HOOK_CLOSED;
	hook_signal_point(t);
	hook_io_step(t);
	rc = flags < 0 ? REAL(dup2)(fd, to) : REAL(dup3)(fd, to, flags);
	if (rc >= 0 && hook_channel_kind(fd))
		hook_channel_mark(to, hook_channel_kind(fd));
	else if (rc >= 0)
		hook_channel_forget(to);
	hook_sync_let_go(t);
	hook_signal_point(t);
	hook_depth = t->passive;
	return rc;
}

HOOK_EXPORT int fcntl(int fd, int command, ...)
{
	va_list args;
	void *arg;

	va_start(args, command);
	arg = va_arg(args, void *);
	va_end(args);
	if (command == F_SETOWN)
		arg = (void *)(intptr_t)hook_input_real_pid((int)(intptr_t)arg);
	if (command == F_GETLK || command == F_OFD_GETLK)
		return hook_lock_ask(fd, command, arg, SITE);
	if (command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
	    command == F_OFD_SETLKW)
		return hook_lock_do(&(struct hook_lock){fd, command, arg}, SITE);
	if (command != F_DUPFD && command != F_DUPFD_CLOEXEC)
		return REAL(fcntl)(fd, command, arg);
	if (!hook_channel_has(fd, SITE)) {
		int to = REAL(fcntl)(fd, command, arg);

		to = hook_file_has_number(SITE) ? hook_file_opened("fcntl", to) : to;
		hook_output_duplicated(fd, to);
		return to;
	}
	return hook_channel_dup(fd, (int)(intptr_t)arg, command == F_DUPFD_CLOEXEC ? O_CLOEXEC : 0);
}

HOOK_EXPORT int fcntl64(int fd, int command, ...) __attribute__((alias("fcntl")));
