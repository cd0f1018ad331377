/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of entries that never move relative to each other (links are indices) and an open
 * addressing table from handle to index; both grow by doubling. Entry 0 is the head of the list
 * of open wildcards. Invariant: an entry is in the table exactly while its request is alive for
 * the program and not busy, or orphaned.
 */
#include "hook/mpi/object/requests.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_ENTRIES 1024

static struct hook_request *pool;
static uint32_t pool_size, pool_used, free_list, live;
uint32_t hook_mpi_pending;
static uint32_t *table; /* twice as large as the pool; 0 is empty */
static uint64_t posts, wilds;
static int locked;

void hook_requests_lock(void)
{
	if (!hook_mpi_turns)
		return;
	while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

void hook_requests_unlock(void)
{
	if (hook_mpi_turns)
		__atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
}

static uint32_t home(MPI_Request handle)
{
	uint64_t x = (uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(x >> 32) & (2 * pool_size - 1);
}

static void table_insert(uint32_t index)
{
	uint32_t slot = home(pool[index].handle);

	while (table[slot])
		slot = (slot + 1) & (2 * pool_size - 1);
	table[slot] = index;
}

static void *fresh(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Only called when every entry is in use. */
static bool grow(void)
{
	uint32_t size = pool_size ? 2 * pool_size : FIRST_ENTRIES;
	struct hook_request *bigger = fresh(size * sizeof(*bigger));
	uint32_t *wider = fresh(2 * size * sizeof(*wider));

	if (!bigger || !wider) {
		if (bigger)
			munmap(bigger, size * sizeof(*bigger));
		if (wider)
			munmap(wider, 2 * size * sizeof(*wider));
		return false;
	}
	if (pool) {
		memcpy(bigger, pool, pool_size * sizeof(*pool));
		munmap(pool, pool_size * sizeof(*pool));
		munmap(table, 2 * pool_size * sizeof(*table));
	}
	pool = bigger;
	table = wider;
	pool_size = size;
	if (!pool_used)
		pool_used = 1;
	for (uint32_t i = 1; i < pool_used; i++) {
		if (!(pool[i].flags & REQUEST_BUSY))
			table_insert(i);
	}
	return true;
}

static uint32_t find_slot(MPI_Request handle)
{
	uint32_t slot = home(handle);

	while (table[slot] && pool[table[slot]].handle != handle)
		slot = (slot + 1) & (2 * pool_size - 1);
	return slot;
}

struct hook_request *hook_requests_find(MPI_Request handle)
{
	uint32_t index;

	if (!live)
		return NULL;
	index = table[find_slot(handle)];
	return index ? &pool[index] : NULL;
}

struct hook_request *hook_requests_add(MPI_Request handle, uint32_t flags)
{
	struct hook_request *r = hook_requests_find(handle);
	uint32_t index;

	/* A handle that is still here was reused behind our back. */
	if (r)
		hook_requests_remove(r);
	if (!free_list && pool_used >= pool_size && !grow())
		return NULL;
	index = free_list ? free_list : pool_used++;
	if (index == free_list)
		free_list = pool[index].next;
	r = &pool[index];
	memset(r, 0, sizeof(*r));
	r->handle = handle;
	r->flags = flags;
	r->shadow = MPI_REQUEST_NULL;
	table_insert(index);
	live++;
	return r;
}

/* Linear probing without gravestones: entries behind the gap move up if they may. */
static void table_remove(uint32_t slot)
{
	uint32_t mask = 2 * pool_size - 1;
	uint32_t next = slot;

	for (;;) {
		uint32_t want;

		next = (next + 1) & mask;
		if (!table[next])
			break;
		want = home(pool[table[next]].handle);
		if (((next - want) & mask) < ((next - slot) & mask))
			continue;
		table[slot] = table[next];
		slot = next;
	}
	table[slot] = 0;
}

void hook_requests_remove(struct hook_request *r)
{
	uint32_t index = (uint32_t)(r - pool);

	hook_requests_close(r);
	if (!(r->flags & REQUEST_BUSY))
		table_remove(find_slot(r->handle));
	r->flags = 0;
	r->handle = MPI_REQUEST_NULL;
	r->next = free_list;
	free_list = index;
	live--;
}

uint64_t hook_requests_next_post(void)
{
	return posts;
}

uint64_t hook_requests_next_wild(void)
{
	return wilds;
}

uint64_t hook_requests_number_wild(void)
{
	return wilds++;
}

void hook_requests_post(struct hook_request *r)
{
	uint32_t index = (uint32_t)(r - pool);

	r->post = posts++;
	r->flags &= ~(uint32_t)(REQUEST_KNOWN | REQUEST_CANCEL | REQUEST_NOWHERE | REQUEST_DONE);
	r->flags |= REQUEST_ACTIVE;
	if (!(r->flags & REQUEST_WILD))
		return;
	r->wild = wilds++;
	r->next = 0;
	r->previous = pool[0].previous;
	pool[r->previous].next = index;
	pool[0].previous = index;
}

void hook_requests_close(struct hook_request *r)
{
	uint32_t index = (uint32_t)(r - pool);

	if (!(r->flags & REQUEST_WILD))
		return;
	if (pool[r->previous].next != index || pool[r->next].previous != index)
		return;
	pool[r->previous].next = r->next;
	pool[r->next].previous = r->previous;
	r->next = r->previous = index;
	if (r->flags & REQUEST_PENDING)
		hook_mpi_pending--;
	r->flags &= ~(uint32_t)REQUEST_PENDING;
}

static void put_back(struct hook_request *r)
{
	if (!(r->flags & REQUEST_BUSY))
		return;
	r->flags &= ~(uint32_t)REQUEST_BUSY;
	table_insert((uint32_t)(r - pool));
}

void hook_requests_retire(struct hook_request *r)
{
	if (!(r->flags & REQUEST_PERSISTENT)) {
		hook_requests_remove(r);
		return;
	}
	hook_requests_close(r);
	r->flags &= ~(uint32_t)REQUEST_ACTIVE;
	r->shadow = MPI_REQUEST_NULL;
	put_back(r);
}

void hook_requests_take(int count, const MPI_Request requests[], uint32_t taken[])
{
	if (!hook_mpi_turns)
		return;
	hook_requests_lock();
	for (int i = 0; i < count; i++) {
		struct hook_request *r = hook_requests_find(requests[i]);

		taken[i] = 0;
		if (!r || !(r->flags & REQUEST_ACTIVE))
			continue;
		taken[i] = (uint32_t)(r - pool);
		table_remove(find_slot(r->handle));
		r->flags |= REQUEST_BUSY;
	}
	hook_requests_unlock();
}

struct hook_request *hook_requests_taken(MPI_Request before, const uint32_t *taken)
{
	if (!hook_mpi_turns)
		return hook_requests_find(before);
	return *taken ? &pool[*taken] : NULL;
}

void hook_requests_put_back(int count, const uint32_t taken[])
{
	if (!hook_mpi_turns)
		return;
	hook_requests_lock();
	for (int i = 0; i < count; i++) {
		if (taken[i])
			put_back(&pool[taken[i]]);
	}
	hook_requests_unlock();
}

void hook_requests_pend(struct hook_request *r)
{
	if (!(r->flags & REQUEST_PENDING))
		hook_mpi_pending++;
	r->flags |= REQUEST_PENDING;
}

uint32_t hook_requests_pending(void)
{
	return hook_mpi_pending;
}

struct hook_request *hook_requests_first_open(void)
{
	return live && pool[0].next ? &pool[pool[0].next] : NULL;
}

struct hook_request *hook_requests_next_open(const struct hook_request *r)
{
	return r->next ? &pool[r->next] : NULL;
}

struct hook_request *hook_requests_of_post(uint64_t post)
{
	for (uint32_t i = 1; i < pool_used; i++) {
		if (pool[i].flags & REQUEST_ACTIVE && pool[i].post == post)
			return &pool[i];
	}
	return NULL;
}

uint32_t hook_requests_count(void)
{
	return live;
}
