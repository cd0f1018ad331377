/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ends of ordered sections, and iterations that wait for certain others: nothing to record, but
 * an order. Where they begin is in gomp/loop.c and gomp/ordered.c. Each iteration is an object of
 * its own, as long as a loop has no more of them than there are slots: who waits for one iteration
 * knows nothing of another that is done by then.
 */
#include "hook/thread/gomp/gomp.h"
#include "hook/thread/race/race.h"

#define SLOT_BITS 14
#define LINE_BITS 6 /* objects so near each other are slow to find */

/* At an address that no memory has. */
static const void *object_of(const struct hook_gomp_team *team, uint32_t slot)
{
	return (const void *)(1ul << 63 | (uintptr_t)team >> 4 << (SLOT_BITS + LINE_BITS) |
			      (uintptr_t)slot << LINE_BITS);
}

static uint32_t slot_of(const struct hook_gomp_loop *l, const uint64_t number[])
{
	uint64_t slot = 0;

	for (uint32_t i = 0; i < l->depth; i++)
		slot = slot * 1021 + number[i];
	return (uint32_t)slot & ((1u << SLOT_BITS) - 1);
}

static void posted(const uint64_t number[])
{
	const struct hook_gomp_frame *f = hook_gomp_here();
	uint32_t slot, most;

	if (!hook_race || !f->team)
		return;
	slot = slot_of(&f->loop, number);
	most = __atomic_load_n(&f->team->iterations, __ATOMIC_RELAXED);
	while (most <= slot &&
	       !__atomic_compare_exchange_n(&f->team->iterations, &most, slot + 1, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	hook_race_release(object_of(f->team, slot));
}

void hook_race_iteration_awaited(const uint64_t number[])
{
	const struct hook_gomp_frame *f = hook_gomp_here();

	if (hook_race && f->team)
		hook_race_acquire(object_of(f->team, slot_of(&f->loop, number)));
}

void hook_race_iterations_over(const struct hook_gomp_team *team)
{
	for (uint32_t slot = 0; hook_race && slot < team->iterations; slot++)
		hook_race_forget(object_of(team, slot));
}

HOOK_EXPORT void GOMP_ordered_end(void);
HOOK_EXPORT void GOMP_doacross_post(long *at);
HOOK_EXPORT void GOMP_doacross_ull_post(unsigned long long *at);

void GOMP_ordered_end(void)
{
	if (hook_race && hook_gomp_here()->team)
		hook_race_release(HOOK_RACE_ORDERED(hook_gomp_here()->team));
	GOMP_REAL(GOMP_ordered_end)();
}

void GOMP_doacross_post(long *at)
{
	posted((const uint64_t *)at);
	GOMP_REAL(GOMP_doacross_post)(at);
}

void GOMP_doacross_ull_post(unsigned long long *at)
{
	posted((const uint64_t *)at);
	GOMP_REAL(GOMP_doacross_ull_post)(at);
}
