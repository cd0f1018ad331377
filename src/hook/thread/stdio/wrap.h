/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stdio.c and wide.c make their wrappers of. Each of them has a list REALS(X) of the
 * real functions it needs, kept in `real` and looked up by resolve().
 */
#ifndef HOOK_SYNC_STDIO_WRAP_H
#define HOOK_SYNC_STDIO_WRAP_H

#include "hook/thread/stdio/use.h"

#define FIELD(name) __typeof__(name) *name;
#define RESOLVE(name) real.name = (__typeof__(name) *)hook_real(#name);

/* Before constructors have run, in inert processes, and with one thread: the way is this short. */
#define REAL(name)                                                                                 \
	({                                                                                         \
		if (__builtin_expect(!real.name, 0))                                               \
			resolve();                                                                 \
		real.name;                                                                         \
	})

#define USE(object, op) HOOK_STDIO_USE(hook_stdio_begin, object, op, __builtin_return_address(0))

#define WRAP(type, name, stream, parameters, arguments)                                            \
	WRAP_AS(type, name, name, stream, parameters, arguments)

/* By another function, which takes the stream, or the arguments, by name. */
#define WRAP_AS(type, name, other, stream, parameters, arguments)                                  \
	HOOK_EXPORT type name parameters                                                           \
	{                                                                                          \
		USE(stream, SYNC_STREAM);                                                          \
		return REAL(other) arguments;                                                      \
	}

#define WRAP_VARIADIC(name, other, stream, parameters, arguments)                                  \
	HOOK_EXPORT int name parameters                                                            \
	{                                                                                          \
		USE(stream, SYNC_STREAM);                                                          \
		va_list ap;                                                                        \
		int n;                                                                             \
                                                                                                   \
		va_start(ap, format);                                                              \
		n = REAL(other) arguments;                                                         \
		va_end(ap);                                                                        \
		return n;                                                                          \
	}

#endif
