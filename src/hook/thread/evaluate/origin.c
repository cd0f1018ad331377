/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects are mostly initialised before the program has threads, and by another thread than those
 * that use them. So one table of the process, by address, holds the places, and a stream of the
 * process holds their stacks. Invariant: all of it is touched under the lock.
 */
#include "hook/thread/evaluate/origin.h"

#include <sched.h>
#include <sys/mman.h>

#include "hook/thread/evaluate/stacks.h"

#define FIRST_ROOM 1024

struct origin {
	const void *object; /* NULL: free */
	uint32_t site;
};

static struct {
	int locked;
	struct origin *slot;
	size_t room, used; /* room: a power of two */
	struct hook_stacks *stacks;
} table;

static void lock(void)
{
	while (__atomic_exchange_n(&table.locked, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void unlock(void)
{
	__atomic_store_n(&table.locked, 0, __ATOMIC_RELEASE);
}

/* The object's slot, or the one it would have; there is a free one. */
static struct origin *find(const void *object)
{
	size_t i = ((uintptr_t)object * 0x9e3779b97f4a7c15ull) >> 20;

	for (;; i++) {
		struct origin *m = &table.slot[i & (table.room - 1)];

		if (!m->object || m->object == object)
			return m;
	}
}

static void grow(void)
{
	size_t before = table.room, room = before ? 2 * before : FIRST_ROOM;
	struct origin *old = table.slot;
	void *p = mmap(NULL, room * sizeof(*old), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		hook_failed(hook_thread_self(), "out of memory for objects");
	table.slot = p;
	table.room = room;
	for (size_t i = 0; i < before; i++) {
		if (old[i].object)
			*find(old[i].object) = old[i];
	}
	if (old)
		munmap(old, before * sizeof(*old));
}

void hook_origin_note(const void *object, const void *site)
{
	struct origin *m;

	hook_depth = HOOK_CLOSED;
	lock();
	if (!table.stacks)
		table.stacks = hook_stacks_open("made");
	if (2 * table.used >= table.room)
		grow();
	m = find(object);
	table.used += !m->object;
	m->object = object;
	m->site = site ? hook_stacks_site(table.stacks, site) : 0;
	unlock();
	hook_depth = 0;
}

uint32_t hook_origin_site(const void *object)
{
	uint32_t site = 0;

	lock();
	if (table.room)
		site = find(object)->site;
	unlock();
	return site;
}
