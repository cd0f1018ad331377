/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ends of ordered sections and iterations that others wait for: nothing to record, but an
 * order. Where they begin is in gomp/loop.c.
 */
#include "hook/thread/gomp/gomp.h"
#include "hook/thread/race/race.h"

static void done(void)
{
	if (hook_race && hook_gomp_here()->team)
		hook_race_release(HOOK_RACE_ORDERED(hook_gomp_here()->team));
}

HOOK_EXPORT void GOMP_ordered_end(void);
HOOK_EXPORT void GOMP_doacross_post(long *at);
HOOK_EXPORT void GOMP_doacross_ull_post(unsigned long long *at);

void GOMP_ordered_end(void)
{
	done();
	GOMP_REAL(GOMP_ordered_end)();
}

void GOMP_doacross_post(long *at)
{
	done();
	GOMP_REAL(GOMP_doacross_post)(at);
}

void GOMP_doacross_ull_post(unsigned long long *at)
{
	done();
	GOMP_REAL(GOMP_doacross_ull_post)(at);
}
