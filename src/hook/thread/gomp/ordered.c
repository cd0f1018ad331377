/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serial mode: iterations of a loop that wait for others of the same loop. They come in order by
 * themselves, but whoever waits must let the others run.
 */
#include <stdarg.h>

#include "hook/thread/gomp/gomp.h"
#include "hook/thread/race/race.h"
#include "hook/thread/serial/baton.h"

#define SITE __builtin_return_address(0)

typedef unsigned long long ull;

#define WAITING(name, type)                                                                        \
	HOOK_EXPORT bool name(type *from, type *to);                                               \
	bool name(type *from, type *to)                                                            \
	{                                                                                          \
		bool got;                                                                          \
                                                                                                   \
		if (!hook_baton_on || !hook_sync_is_on(SITE))                                      \
			return GOMP_REAL(name)(from, to);                                          \
		HOOK_SYNC_ENTER(t);                                                                \
		hook_baton_leave(t);                                                               \
		got = GOMP_REAL(name)(from, to);                                                   \
		hook_baton_enter(t);                                                               \
		return got;                                                                        \
	}

WAITING(GOMP_loop_ordered_static_next, long)
WAITING(GOMP_loop_ull_ordered_static_next, ull)

/*
 * The same for an iteration that waits for another. Nothing tells how many numbers the caller gave:
 * those behind them are whatever is there, and libgomp does not look at them.
 */
#define PASS_ON(name, first, n)                                                                    \
	GOMP_REAL(name)                                                                            \
	(first, n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[12], n[13],  \
	 n[14], n[15])
#define DOACROSS_WAIT(name, type)                                                                  \
	HOOK_EXPORT void name(type first, ...);                                                    \
	void name(type first, ...)                                                                 \
	{                                                                                          \
		bool serial = hook_baton_on && hook_sync_is_on(SITE);                              \
		type n[16];                                                                        \
		va_list ap;                                                                        \
                                                                                                   \
		n[0] = first;                                                                      \
		va_start(ap, first);                                                               \
		for (size_t i = 1; i < sizeof(n) / sizeof(n[0]); i++)                              \
			n[i] = va_arg(ap, type);                                                   \
		va_end(ap);                                                                        \
		if (!serial) {                                                                     \
			PASS_ON(name, first, n);                                                   \
			hook_race_iteration_awaited((const uint64_t *)n);                          \
			return;                                                                    \
		}                                                                                  \
		HOOK_SYNC_ENTER(t);                                                                \
		hook_baton_leave(t);                                                               \
		PASS_ON(name, first, n);                                                           \
		hook_baton_enter(t);                                                               \
		hook_race_iteration_awaited((const uint64_t *)n);                                  \
	}

DOACROSS_WAIT(GOMP_doacross_wait, long)
DOACROSS_WAIT(GOMP_doacross_ull_wait, ull)
