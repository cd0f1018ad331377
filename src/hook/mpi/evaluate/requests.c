/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each request of the program is: a pool of entries, and an open addressing table from handle
 * to the first and last of its entries. MPICH gives the same handle to all sends that are complete
 * when they begin: those form a list, and the oldest goes first. Invariant: a slot of the table is
 * in use exactly while its list is not empty.
 */
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "hook/mpi/evaluate/evaluate.h"

#define FIRST_ENTRIES 1024

struct slot {
	uint64_t key;
	uint32_t first, last;
};

static struct evaluate_request *pool;
static uint32_t pool_size, pool_used, free_list;
static struct slot *table; /* twice as large as the pool */
static uint32_t persistent;
static uint64_t ids;
static int locked;

void evaluate_requests_lock(void)
{
	if (!hook_mpi_turns)
		return;
	while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

void evaluate_requests_unlock(void)
{
	if (hook_mpi_turns)
		__atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
}

uint64_t evaluate_next_id(void)
{
	return __atomic_add_fetch(&ids, 1, __ATOMIC_RELAXED);
}

/* Requests and messages are numbered apart. */
static uint64_t request_key(MPI_Request handle)
{
	return (uint64_t)(uintptr_t)handle << 1;
}

static uint64_t message_key(MPI_Message handle)
{
	return (uint64_t)(uintptr_t)handle << 1 | 1;
}

static uint32_t home(uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 32) & (2 * pool_size - 1);
}

static struct slot *find(uint64_t key)
{
	uint32_t i = home(key);

	while (table[i].first && table[i].key != key)
		i = (i + 1) & (2 * pool_size - 1);
	return &table[i];
}

/* Only called when every entry is in use. */
static void grow(void)
{
	uint32_t old = 2 * pool_size, size = pool_size ? 2 * pool_size : FIRST_ENTRIES;
	struct evaluate_request *bigger = evaluate_memory(size * sizeof(*bigger));
	struct slot *before = table;

	if (pool) {
		memcpy(bigger, pool, pool_size * sizeof(*pool));
		munmap(pool, pool_size * sizeof(*pool));
	}
	pool = bigger;
	table = evaluate_memory(2 * size * sizeof(*table));
	pool_size = size;
	if (!pool_used)
		pool_used = 1;
	for (uint32_t i = 0; i < old; i++) {
		if (before[i].first)
			*find(before[i].key) = before[i];
	}
	if (before)
		munmap(before, old * sizeof(*before));
}

static void insert(uint32_t index)
{
	struct slot *s = find(pool[index].key);

	pool[index].next = 0;
	if (s->first)
		pool[s->last].next = index;
	else
		*s = (struct slot){pool[index].key, index, index};
	s->last = index;
}

static void add(uint64_t key, const struct evaluate_request *r)
{
	uint32_t index;

	if (!free_list && pool_used >= pool_size)
		grow();
	index = free_list ? free_list : pool_used++;
	if (index == free_list)
		free_list = pool[index].next;
	pool[index] = *r;
	pool[index].key = key;
	persistent += r->flags & EVALUATE_PERSISTENT;
	insert(index);
}

void evaluate_request_add(MPI_Request handle, const struct evaluate_request *r)
{
	if (handle != MPI_REQUEST_NULL)
		add(request_key(handle), r);
}

void evaluate_message_add(MPI_Message handle, const struct evaluate_request *r)
{
	add(message_key(handle), r);
}

struct evaluate_request *evaluate_request_find(MPI_Request handle)
{
	uint32_t index = table ? find(request_key(handle))->first : 0;

	return index ? &pool[index] : NULL;
}

/* Moves up what stands behind a slot that has become free, so that no search stops there. */
static void close_gap(uint32_t gap)
{
	uint32_t mask = 2 * pool_size - 1;

	for (uint32_t i = (gap + 1) & mask; table[i].first; i = (i + 1) & mask) {
		if (((i - home(table[i].key)) & mask) >= ((i - gap) & mask)) {
			table[gap] = table[i];
			gap = i;
		}
	}
	table[gap].first = 0;
}

static uint32_t take(uint64_t key)
{
	struct slot *s;
	uint32_t index;

	if (!table)
		return 0;
	s = find(key);
	index = s->first;
	if (!index)
		return 0;
	s->first = pool[index].next;
	if (!s->first)
		close_gap((uint32_t)(s - table));
	return index;
}

uint32_t evaluate_request_take(MPI_Request handle)
{
	return take(request_key(handle));
}

uint32_t evaluate_message_take(MPI_Message handle)
{
	return take(message_key(handle));
}

struct evaluate_request *evaluate_request_at(uint32_t index)
{
	return &pool[index];
}

void evaluate_request_put_back(uint32_t index)
{
	insert(index);
}

void evaluate_request_drop(uint32_t index)
{
	persistent -= pool[index].flags & EVALUATE_PERSISTENT;
	pool[index].kind = 0;
	pool[index].next = free_list;
	free_list = index;
}

uint32_t evaluate_request_after(uint32_t index)
{
	while (++index < pool_used) {
		if (pool[index].kind)
			return index;
	}
	return 0;
}

bool evaluate_requests_have_persistent(void)
{
	return persistent != 0;
}
