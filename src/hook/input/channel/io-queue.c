/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POSIX message queues. Their descriptors are channels: what comes out of a queue is recorded, and
 * replay opens, fills, empties and removes none. In replay a child process that has inherited a
 * queue is alone with it, so the recording says so.
 */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <mqueue.h>
#include <stdarg.h>

#include "hook/common/real.h"
#include "hook/input/channel/channel.h"
#include "hook/input/channel/given.h"
#include "hook/input/process/told.h"
#include "hook/session/unseen.h"

#define SITE __builtin_return_address(0)

static mqd_t open_queue(const char *name, int flags, mode_t mode, struct mq_attr *attr)
{
	HOOK_IO(io, "mq_open", HOOK_IO_GETS);

	if (io.live)
		hook_io_did(&io, REAL(mq_open)(name, flags, mode, attr));
	hook_channel_made(&io, (int)io.result, HOOK_CHANNEL_OTHER,
			  (flags & O_NONBLOCK) | O_CLOEXEC);
	if (io.result >= 0)
		hook_told_queue();
	return (mqd_t)hook_io_result(&io);
}

HOOK_EXPORT mqd_t mq_open(const char *name, int flags, ...)
{
	struct mq_attr *attr = NULL;
	mode_t mode = 0;
	va_list args;

	if (flags & O_CREAT) {
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		attr = va_arg(args, struct mq_attr *);
		va_end(args);
	}
	return hook_channel_may_make(SITE) ? open_queue(name, flags, mode, attr)
					   : REAL(mq_open)(name, flags, mode, attr);
}

HOOK_EXPORT mqd_t __mq_open_2(const char *name, int flags)
{
	return hook_channel_may_make(SITE) && !(flags & O_CREAT) ? open_queue(name, flags, 0, NULL)
								 : REAL(__mq_open_2)(name, flags);
}

HOOK_EXPORT int mq_close(mqd_t queue)
{
	return hook_channel_has(queue, SITE) ? hook_channel_close(queue) : REAL(mq_close)(queue);
}

HOOK_EXPORT int mq_unlink(const char *name)
{
	if (!hook_io_is_programs(SITE))
		return REAL(mq_unlink)(name);
	HOOK_IO(io, "mq_unlink", HOOK_IO_GIVES);
	if (io.live)
		hook_io_did(&io, REAL(mq_unlink)(name));
	return (int)hook_io_result(&io);
}

#define DEFINE_SEND(name, parameters, arguments)                                                   \
	HOOK_EXPORT int name parameters                                                            \
	{                                                                                          \
		if (!hook_channel_has(queue, SITE))                                                \
			return REAL(name) arguments;                                               \
		HOOK_IO(io, #name, HOOK_IO_GIVES);                                                 \
		uint32_t given =                                                                   \
			hook_given(queue, 0, &(struct iovec){(void *)p, n}, 1) + (priority << 12); \
		if (io.live)                                                                       \
			hook_io_did(&io, REAL(name) arguments);                                    \
		if (io.result == 0)                                                                \
			hook_io_gave(&io, given, n);                                               \
		return (int)hook_io_result(&io);                                                   \
	}

#define DEFINE_RECEIVE(name, parameters, arguments)                                                \
	HOOK_EXPORT ssize_t name parameters                                                        \
	{                                                                                          \
		if (!hook_channel_has(queue, SITE))                                                \
			return REAL(name) arguments;                                               \
		HOOK_IO(io, #name, HOOK_IO_GETS);                                                  \
		if (io.live)                                                                       \
			hook_io_did(&io, REAL(name) arguments);                                    \
		if (io.result >= 0)                                                                \
			hook_io_part(&io, p, (size_t)io.result, n);                                \
		if (io.result >= 0 && priority)                                                    \
			hook_io_part(&io, priority, sizeof(*priority), sizeof(*priority));         \
		return hook_io_result(&io);                                                        \
	}

DEFINE_SEND(mq_send, (mqd_t queue, const char *p, size_t n, unsigned int priority),
	    (queue, p, n, priority))
DEFINE_SEND(mq_timedsend,
	    (mqd_t queue, const char *p, size_t n, unsigned int priority,
	     const struct timespec *until),
	    (queue, p, n, priority, until))
DEFINE_RECEIVE(mq_receive, (mqd_t queue, char *p, size_t n, unsigned int *priority),
	       (queue, p, n, priority))
DEFINE_RECEIVE(mq_timedreceive,
	       (mqd_t queue, char *p, size_t n, unsigned int *priority,
		const struct timespec *until),
	       (queue, p, n, priority, until))

HOOK_EXPORT int mq_getattr(mqd_t queue, struct mq_attr *attr)
{
	if (!hook_channel_has(queue, SITE))
		return REAL(mq_getattr)(queue, attr);
	HOOK_IO(io, "mq_getattr", HOOK_IO_GETS);
	if (io.live)
		hook_io_did(&io, REAL(mq_getattr)(queue, attr));
	if (io.result >= 0)
		hook_io_part(&io, attr, sizeof(*attr), sizeof(*attr));
	return (int)hook_io_result(&io);
}

HOOK_EXPORT int mq_setattr(mqd_t queue, const struct mq_attr *attr, struct mq_attr *old)
{
	if (!hook_channel_has(queue, SITE))
		return REAL(mq_setattr)(queue, attr, old);
	HOOK_IO(io, "mq_setattr", HOOK_IO_GIVES);
	if (io.live)
		hook_io_did(&io, REAL(mq_setattr)(queue, attr, old));
	if (io.result >= 0 && old)
		hook_io_part(&io, old, sizeof(*old), sizeof(*old));
	return (int)hook_io_result(&io);
}

/* A signal comes in replay as it was recorded; a thread that libc starts is none of ours. */
HOOK_EXPORT int mq_notify(mqd_t queue, const struct sigevent *event)
{
	static struct hook_unseen threads = {.key = "queue-threads",
					     .what = "the moment at which threads of message "
						     "queues run (mq_notify with SIGEV_THREAD)"};

	if (!hook_channel_has(queue, SITE))
		return REAL(mq_notify)(queue, event);
	if (event && event->sigev_notify == SIGEV_THREAD)
		hook_unseen(&threads);
	HOOK_IO(io, "mq_notify", HOOK_IO_GIVES);
	if (io.live)
		hook_io_did(&io, REAL(mq_notify)(queue, event));
	return (int)hook_io_result(&io);
}
