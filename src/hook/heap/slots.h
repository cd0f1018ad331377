/* SPDX-License-Identifier: Apache-2.0 */
/* Slots: which heap a thread gets. The heap of an ended thread is used again. */
#ifndef HOOK_HEAP_SLOTS_H
#define HOOK_HEAP_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "hook/common/addresses.h"

#define HEAP_NO_SLOT UINT32_MAX

/* A slot's n-th user. */
struct heap_use {
	uint32_t slot;
	uint32_t turn;
};

static inline bool heap_slot_is_free(uint32_t slot)
{
	return !heap_slot_also || heap_slot_also->is_free(slot);
}

/* A slot that nobody uses; .slot is HEAP_NO_SLOT if there is none. */
struct heap_use heap_slot_take(void);

/* Waits until that slot has come to that turn, and takes it; false if it does not come. */
bool heap_slot_take_this(struct heap_use use);

void heap_slot_leave(uint32_t slot);

#endif
