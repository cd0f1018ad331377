/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls on descriptors that reach outside of the program: sockets, pipes, event descriptors
 * (channel.h), and waits for such. What they return, and what they put in the program's memory, is
 * an input. In replay such a call is not made: its recorded outcome is.
 *
 * Threads talk to each other that way, too. So all these calls are steps of one order. A call that
 * others may notice (it gives) takes its place before it is made. A call that notices others (it
 * gets) takes its place afterwards.
 */
#ifndef HOOK_INPUT_IO_H
#define HOOK_INPUT_IO_H

#include "hook/input/value/input.h"
#include "hook/program/runtime.h"

enum hook_io_way { HOOK_IO_GIVES, HOOK_IO_GETS };

struct hook_io {
	struct hook_thread *t;
	const char *call;
	enum hook_io_way way;
	bool live;      /* the real call is to be made */
	bool at_work;   /* it is being made */
	int error;      /* the program's errno */
	int64_t result; /* or -errno */
};

/* Is this the program's own call? */
static inline bool hook_io_is_programs(const void *site)
{
	return hook_depth == 0 && !hook_runtime_has(site);
}

/* Replay does not return from here past the end of the thread's recording. */
struct hook_io hook_io_begin(const char *call, enum hook_io_way way);
void hook_io_leave(struct hook_io *io);

#define HOOK_IO(io, call, way)                                                                     \
	struct hook_io io __attribute__((cleanup(hook_io_leave))) = hook_io_begin(call, way)

/* Defines a call on a descriptor that gives nothing but its result; SITE is its caller. */
#define HOOK_IO_CALL(name, way, parameters, arguments)                                             \
	HOOK_EXPORT int name parameters                                                            \
	{                                                                                          \
		if (!hook_channel_has(fd, SITE))                                                   \
			return REAL(name) arguments;                                               \
		HOOK_IO(io, #name, way);                                                           \
		if (io.live)                                                                       \
			hook_io_did(&io, REAL(name) arguments);                                    \
		return (int)hook_io_result(&io);                                                   \
	}

/* The real call has returned this, and errno. */
void hook_io_did(struct hook_io *io, int64_t result);

/* What to return to the program, with errno. */
int64_t hook_io_result(struct hook_io *io);

/*
 * Bytes that the call put in the program's memory, after its result is known: `n` of them when
 * recording. Returns how many they are; in replay they are put there, `room` at most.
 */
size_t hook_io_part(struct hook_io *io, void *p, size_t n, size_t room);

/*
 * What the system tells: bytes put in the buffer, or -1 and errno. If the program has threads, it
 * is done in its turn, because the answer may depend on what another thread did.
 */
ssize_t hook_io_told(const char *call, const void *site, hook_input_bytes_fn *fetch, void *ctx,
		     void *buffer, size_t size);

/* A place in the order, for what has no outcome. */
void hook_io_step(struct hook_thread *t);

#endif
