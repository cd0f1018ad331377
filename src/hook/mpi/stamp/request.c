/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests whose messages carry clocks, by handle. A handle that is still here when it comes again
 * is that of a send which had completed at once: both MPIs give those a common handle.
 */
#include <string.h>
#include <sys/mman.h>

#include "hook/mpi/stamp/stamp.h"

#define BLOCK 256        /* requests made at a time */
#define ROOMS 32         /* likewise */
#define CROWDED_ROOMS 64 /* at most: long ones, made one by one; whoever gets none makes a type */
#define FIRST_TABLE 1024 /* chains */

/* Chains by `next`: it is right without ever growing. */
static struct stamp_request *first_table[FIRST_TABLE];
static struct stamp_request **table = first_table;
static uint32_t table_size = FIRST_TABLE, live;
uint32_t stamp_request_orphans;
static struct stamp_request *orphan_list, *free_list;

/* Rooms by size, besides the one in the request; free ones are linked by their first word. */
static struct {
	size_t bytes; /* of data */
	void *free;
} rooms[] = {{1024, NULL}, {STAMP_COPY, NULL}, {STAMP_COPY_CROWDED, NULL}};

static uint32_t crowded_rooms;

static void *fresh(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

struct stamp_request *stamp_request_new(void)
{
	struct stamp_request *r;

	if (!free_list) {
		struct stamp_request *block = fresh(BLOCK * sizeof(*block));

		for (int i = 0; block && i < BLOCK; i++) {
			block[i].next = free_list;
			free_list = &block[i];
		}
	}
	r = free_list;
	if (!r)
		return NULL;
	free_list = r->next;
	memset(r, 0, offsetof(struct stamp_request, small));
	return r;
}

long stamp_request_limit(void)
{
	return rooms[2].free || crowded_rooms < CROWDED_ROOMS ? stamp_room : STAMP_COPY;
}

void *stamp_request_room(struct stamp_request *r, size_t n)
{
	size_t each, count = ROOMS;

	if (n <= STAMP_SMALL) {
		r->room = r->small;
		return r->room;
	}
	r->size = (n > stamp_head + rooms[0].bytes) + (n > stamp_head + rooms[1].bytes);
	if (!rooms[r->size].free) {
		char *block;

		if (r->size == 2) {
			count = 1;
			crowded_rooms++;
		}
		each = (stamp_head + rooms[r->size].bytes + 63) / 64 * 64;
		block = fresh(each * count);
		for (size_t i = 0; block && i < count; i++) {
			*(void **)(block + i * each) = rooms[r->size].free;
			rooms[r->size].free = block + i * each;
		}
	}
	r->room = rooms[r->size].free;
	if (r->room)
		rooms[r->size].free = *(void **)r->room;
	return r->room;
}

static struct stamp_request **chain_of(MPI_Request handle)
{
	uint64_t x = (uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15ull;

	return &table[(uint32_t)(x >> 32) & (table_size - 1)];
}

static void enter_table(struct stamp_request *r)
{
	struct stamp_request **chain = chain_of(r->handle);

	r->next = *chain;
	*chain = r;
}

/* If there is no memory for it, chains get longer. */
static void grow(void)
{
	struct stamp_request **old = table, **wider = fresh(2 * table_size * sizeof(*wider));
	uint32_t old_size = table_size;

	if (!wider)
		return;
	table = wider;
	table_size *= 2;
	for (uint32_t i = 0; i < old_size; i++) {
		for (struct stamp_request *r = old[i], *next; r; r = next) {
			next = r->next;
			enter_table(r);
		}
	}
	if (old != first_table)
		munmap(old, old_size * sizeof(*old));
}

struct stamp_request *stamp_request_find(MPI_Request handle)
{
	struct stamp_request *r;

	if (!live)
		return NULL;
	r = *chain_of(handle);
	while (r && r->handle != handle)
		r = r->next;
	return r;
}

static void leave_table(struct stamp_request *r)
{
	struct stamp_request **link = chain_of(r->handle);

	while (*link && *link != r)
		link = &(*link)->next;
	if (!*link)
		return;
	*link = r->next;
	live--;
}

static void release(struct stamp_request *r)
{
	if (r->room && r->room != r->small) {
		*(void **)r->room = rooms[r->size].free;
		rooms[r->size].free = r->room;
	}
	if (r->copy)
		munmap(r->copy, r->copy_mapped);
	if (r->type)
		stamp_type_put(r->type);
	if (r->send_type)
		stamp_type_put(r->send_type);
	r->next = free_list;
	free_list = r;
}

void stamp_request_insert(struct stamp_request *r, MPI_Request handle)
{
	struct stamp_request *before = stamp_request_find(handle);

	if (before)
		stamp_request_drop(before);
	if (live >= table_size)
		grow();
	r->handle = handle;
	enter_table(r);
	live++;
}

void stamp_request_move(struct stamp_request *r, MPI_Request handle)
{
	if (r->handle == handle)
		return;
	leave_table(r);
	stamp_request_insert(r, handle);
}

void stamp_request_drop(struct stamp_request *r)
{
	if (live)
		leave_table(r);
	release(r);
}

uint32_t stamp_request_count(void)
{
	return live;
}

void stamp_request_orphan(struct stamp_request *r)
{
	leave_table(r);
	r->flags |= STAMP_ORPHAN;
	r->next = orphan_list;
	orphan_list = r;
	stamp_request_orphans++;
}

void stamp_request_visit(bool (*done)(struct stamp_request *r))
{
	struct stamp_request **link = &orphan_list;

	while (*link) {
		struct stamp_request *r = *link;

		if (!done(r)) {
			link = &r->next;
			continue;
		}
		*link = r->next;
		stamp_request_orphans--;
		release(r);
	}
}
