/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of calls that are not made in replay: what they told is given back. */
#ifndef HOOK_INPUT_CALL_H
#define HOOK_INPUT_CALL_H

#include "hook/common/real.h"
#include "hook/input/channel/io.h"

/* What the call put there, unless it failed or the program wants none of it. */
static inline void hook_call_put(struct hook_io *io, void *out, size_t n)
{
	if (io->result >= 0 && out)
		hook_io_part(io, out, n, n);
}

/* A call whose outcome is its result alone, or its result and one structure. */
#define HOOK_CALL(type, name, way, parameters, arguments)                                          \
	HOOK_EXPORT type name parameters                                                           \
	{                                                                                          \
		if (!hook_io_is_programs(__builtin_return_address(0)))                             \
			return REAL(name) arguments;                                               \
		HOOK_IO(io, #name, way);                                                           \
		if (io.live)                                                                       \
			hook_io_did(&io, REAL(name) arguments);                                    \
		return (type)hook_io_result(&io);                                                  \
	}

#define HOOK_CALL_OUT(type, name, way, out, parameters, arguments)                                 \
	HOOK_EXPORT type name parameters                                                           \
	{                                                                                          \
		if (!hook_io_is_programs(__builtin_return_address(0)))                             \
			return REAL(name) arguments;                                               \
		HOOK_IO(io, #name, way);                                                           \
		if (io.live)                                                                       \
			hook_io_did(&io, REAL(name) arguments);                                    \
		hook_call_put(&io, out, sizeof(*out));                                             \
		return (type)hook_io_result(&io);                                                  \
	}

#endif
