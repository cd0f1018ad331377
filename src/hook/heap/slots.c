/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A word per slot: how many users it has had, and whether it has one now. The free slot with the
 * lowest number is taken, so there are about as many heaps as there are threads at one time. In
 * replay a thread waits for the recorded slot. When it was recorded, its last user had ended by
 * then, so it will end now without our help. No locks: a fork may happen at any time.
 */
#include "hook/heap/slots.h"

#include <stdatomic.h>

#include "hook/heap/core.h"

#define IN_USE 1u

static _Atomic uint32_t words[HEAP_SLOTS]; /* 2 * turn + IN_USE */
static _Atomic uint32_t left = 0;          /* slots that were left and not taken again */
static _Atomic uint32_t used = 1;          /* slots from here on were never taken; 0 is main's */

const struct heap_slot_also *heap_slot_also;

static bool try_take(uint32_t slot, uint32_t word)
{
	return atomic_compare_exchange_strong(&words[slot], &word, word | IN_USE);
}

static struct heap_use take_left(void)
{
	uint32_t n = atomic_load(&used);

	for (uint32_t slot = 1; slot < n && slot < HEAP_SLOTS; slot++) {
		uint32_t word = atomic_load_explicit(&words[slot], memory_order_relaxed);

		if (!(word & IN_USE) && word && heap_slot_is_free(slot) && try_take(slot, word)) {
			atomic_fetch_sub(&left, 1);
			return (struct heap_use){slot, word >> 1};
		}
	}
	return (struct heap_use){HEAP_NO_SLOT, 0};
}

struct heap_use heap_slot_take(void)
{
	struct heap_use use = {HEAP_NO_SLOT, 0};
	uint32_t slot;

	if (atomic_load(&left))
		use = take_left();
	while (use.slot == HEAP_NO_SLOT && (slot = atomic_load(&used)) < HEAP_SLOTS) {
		if (atomic_compare_exchange_strong(&used, &slot, slot + 1) && try_take(slot, 0))
			use.slot = slot;
	}
	return use;
}

bool heap_slot_take_this(struct heap_use use)
{
	uint32_t slot;

	if (!use.slot || use.slot >= HEAP_SLOTS || use.turn >= UINT32_MAX / 2)
		return false;
	for (uint32_t turn = 0; !try_take(use.slot, use.turn << 1); turn++) {
		if (!heap_wait(turn))
			return false;
	}
	if (use.turn)
		atomic_fetch_sub(&left, 1);
	slot = atomic_load(&used);
	while (slot <= use.slot && !atomic_compare_exchange_weak(&used, &slot, use.slot + 1))
		;
	return true;
}

void heap_slot_leave(uint32_t slot)
{
	atomic_fetch_add(&words[slot], 1);
	atomic_fetch_add(&left, 1);
}
