/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects are mostly initialised before the program has threads, and by another thread than those
 * that use them. So one table of the process, by address, holds the places, and a stream of the
 * process holds their stacks. Invariant: all of it is touched under the lock.
 */
#include "hook/thread/evaluate/origin.h"

#include "hook/kit/lock.h"
#include "hook/kit/table.h"
#include "hook/thread/evaluate/stacks.h"

struct origin {
	struct hook_entry entry; /* by address */
	uint32_t site;
};

static struct hook_lock lock;
static struct hook_table origins = {.bytes = sizeof(struct origin), .clear = sizeof(struct origin)};
static struct hook_stacks *stacks;

static struct origin *add(uint64_t address)
{
	struct origin *o = hook_table_new(&origins);

	if (!o)
		hook_failed(hook_thread_self(), "out of memory for objects");
	hook_table_insert(&origins, o, address);
	return o;
}

void hook_origin_note(const void *object, const void *site)
{
	struct origin *o;

	hook_depth = HOOK_CLOSED;
	hook_lock_take(&lock);
	if (!stacks)
		stacks = hook_stacks_open("made");
	o = hook_table_find(&origins, (uintptr_t)object);
	if (!o)
		o = add((uintptr_t)object);
	o->site = site ? hook_stacks_site(stacks, site) : 0;
	hook_lock_give(&lock);
	hook_depth = 0;
}

uint32_t hook_origin_site(const void *object)
{
	const struct origin *o;
	uint32_t site;

	hook_lock_take(&lock);
	o = hook_table_find(&origins, (uintptr_t)object);
	site = o ? o->site : 0;
	hook_lock_give(&lock);
	return site;
}
