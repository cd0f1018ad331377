/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stdio.c and stdio-wide.c make their wrappers of. Each of them has a list REALS(X) of the
 * real functions it needs, kept in `real` and looked up by resolve().
 */
#ifndef HOOK_SYNC_STDIO_WRAP_H
#define HOOK_SYNC_STDIO_WRAP_H

#include "hook/thread/sync.h"

/*
 * The operation at work, from its event to its end, which cancellation can bring about, too. What
 * it allocates, as getline does, and what it calls of the program is the program's.
 */
struct hook_stdio_use {
	struct hook_thread *t;
	struct hook_sync_call c;
};

struct hook_stdio_use hook_stdio_begin(void *object, enum hook_sync_op op, const void *site);
void hook_stdio_end(struct hook_stdio_use *u);

/* It prints this. */
void hook_stdio_prints(const struct hook_stdio_use *u, const void *bytes, size_t n);

/* Is that looked at? */
bool hook_stdio_is_seen(const struct hook_stdio_use *u);

#define FIELD(name) __typeof__(name) *name;
#define RESOLVE(name) real.name = (__typeof__(name) *)hook_real(#name);

/* Before constructors have run, in inert processes, and with one thread: the way is this short. */
#define REAL(name)                                                                                 \
	({                                                                                         \
		if (__builtin_expect(!real.name, 0))                                               \
			resolve();                                                                 \
		real.name;                                                                         \
	})

#define USE(object, op)                                                                            \
	struct hook_stdio_use use_at_work __attribute__((cleanup(hook_stdio_end), unused)) =       \
		hook_stdio_begin(object, op, __builtin_return_address(0))

#define WRAP(type, name, stream, parameters, arguments)                                            \
	WRAP_AS(type, name, name, stream, parameters, arguments)

/* By another function, which takes the stream, or the arguments, by name. */
#define WRAP_AS(type, name, other, stream, parameters, arguments)                                  \
	HOOK_EXPORT type name parameters                                                           \
	{                                                                                          \
		USE(stream, SYNC_STREAM);                                                          \
		return REAL(other) arguments;                                                      \
	}

/* The same for one that puts `length` bytes. */
#define WRAP_PUT(type, name, other, stream, parameters, arguments, bytes, length)                  \
	HOOK_EXPORT type name parameters                                                           \
	{                                                                                          \
		USE(stream, SYNC_STREAM);                                                          \
		hook_stdio_prints(&use_at_work, bytes, length);                                    \
		return REAL(other) arguments;                                                      \
	}

/* By a format: prints_text() looks at what that makes of the arguments. */
#define WRAP_TEXT(name, other, stream, parameters, arguments)                                      \
	HOOK_EXPORT int name parameters                                                            \
	{                                                                                          \
		USE(stream, SYNC_STREAM);                                                          \
		va_list again;                                                                     \
                                                                                                   \
		va_copy(again, ap);                                                                \
		prints_text(&use_at_work, format, again);                                          \
		va_end(again);                                                                     \
		return REAL(other) arguments;                                                      \
	}

/* `looks` is prints_text or reads_text. */
#define WRAP_VARIADIC(name, other, looks, stream, parameters, arguments)                           \
	HOOK_EXPORT int name parameters                                                            \
	{                                                                                          \
		USE(stream, SYNC_STREAM);                                                          \
		va_list ap;                                                                        \
		int n;                                                                             \
                                                                                                   \
		va_start(ap, format);                                                              \
		looks(&use_at_work, format, ap);                                                   \
		va_end(ap);                                                                        \
		va_start(ap, format);                                                              \
		n = REAL(other) arguments;                                                         \
		va_end(ap);                                                                        \
		return n;                                                                          \
	}

#endif
