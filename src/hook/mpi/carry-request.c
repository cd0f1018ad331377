/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests whose messages carry clocks, by handle. A handle that is still here when it comes again
 * is that of a send which had completed at once: both MPIs give those a common handle.
 */
#include <string.h>
#include <sys/mman.h>

#include "hook/mpi/carry.h"

#define BLOCK 256        /* requests made at a time */
#define ROOMS 32         /* likewise */
#define CROWDED_ROOMS 64 /* at most: long ones, made one by one; whoever gets none makes a type */
#define FIRST_TABLE 1024

static struct carry_request **table; /* open addressing */
static uint32_t table_size, live;
uint32_t carry_request_orphans;
static struct carry_request *orphan_list, *free_list;

/* Rooms by size, besides the one in the request; free ones are linked by their first word. */
static struct {
	size_t bytes; /* of data */
	void *free;
} rooms[] = {{1024, NULL}, {CARRY_COPY, NULL}, {CARRY_COPY_CROWDED, NULL}};

static uint32_t crowded_rooms;

static void *fresh(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

struct carry_request *carry_request_new(void)
{
	struct carry_request *r;

	if (!free_list) {
		struct carry_request *block = fresh(BLOCK * sizeof(*block));

		for (int i = 0; block && i < BLOCK; i++) {
			block[i].next = free_list;
			free_list = &block[i];
		}
	}
	r = free_list;
	if (!r)
		return NULL;
	free_list = r->next;
	memset(r, 0, offsetof(struct carry_request, small));
	return r;
}

long carry_request_limit(void)
{
	return rooms[2].free || crowded_rooms < CROWDED_ROOMS ? carry_room : CARRY_COPY;
}

void *carry_request_room(struct carry_request *r, size_t n)
{
	size_t each, count = ROOMS;

	if (n <= CARRY_SMALL) {
		r->room = r->small;
		return r->room;
	}
	r->size = (n > carry_head + rooms[0].bytes) + (n > carry_head + rooms[1].bytes);
	if (!rooms[r->size].free) {
		char *block;

		if (r->size == 2) {
			count = 1;
			crowded_rooms++;
		}
		each = (carry_head + rooms[r->size].bytes + 63) / 64 * 64;
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

static uint32_t home(MPI_Request handle)
{
	uint64_t x = (uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(x >> 32) & (table_size - 1);
}

static uint32_t slot_of(MPI_Request handle)
{
	uint32_t slot = home(handle);

	while (table[slot] && table[slot]->handle != handle)
		slot = (slot + 1) & (table_size - 1);
	return slot;
}

static bool grow(void)
{
	uint32_t old_size = table_size;
	struct carry_request **old = table;
	uint32_t size = old_size ? 2 * old_size : FIRST_TABLE;
	struct carry_request **wider = fresh(size * sizeof(*wider));

	if (!wider)
		return false;
	table = wider;
	table_size = size;
	for (uint32_t i = 0; i < old_size; i++) {
		if (old[i])
			table[slot_of(old[i]->handle)] = old[i];
	}
	if (old)
		munmap(old, old_size * sizeof(*old));
	return true;
}

struct carry_request *carry_request_find(MPI_Request handle)
{
	return live ? table[slot_of(handle)] : NULL;
}

static void leave_table(struct carry_request *r)
{
	uint32_t mask = table_size - 1, slot = slot_of(r->handle), next = slot;

	if (table[slot] != r)
		return;
	live--;
	for (;;) {
		next = (next + 1) & mask;
		if (!table[next])
			break;
		if (((next - home(table[next]->handle)) & mask) < ((next - slot) & mask))
			continue;
		table[slot] = table[next];
		slot = next;
	}
	table[slot] = NULL;
}

static void release(struct carry_request *r)
{
	if (r->room && r->room != r->small) {
		*(void **)r->room = rooms[r->size].free;
		rooms[r->size].free = r->room;
	}
	if (r->copy)
		munmap(r->copy, r->copy_mapped);
	if (r->type)
		carry_type_put(r->type);
	if (r->send_type)
		carry_type_put(r->send_type);
	r->next = free_list;
	free_list = r;
}

/* A table that cannot grow when it is half full may still fill up; at the very end nothing helps.
 */
void carry_request_insert(struct carry_request *r, MPI_Request handle)
{
	struct carry_request *before = carry_request_find(handle);

	if (before)
		carry_request_drop(before);
	if (2 * (live + 1) > table_size)
		grow();
	r->handle = handle;
	table[slot_of(handle)] = r;
	live++;
}

void carry_request_move(struct carry_request *r, MPI_Request handle)
{
	if (r->handle == handle)
		return;
	leave_table(r);
	carry_request_insert(r, handle);
}

void carry_request_drop(struct carry_request *r)
{
	if (live)
		leave_table(r);
	release(r);
}

uint32_t carry_request_count(void)
{
	return live;
}

void carry_request_orphan(struct carry_request *r)
{
	leave_table(r);
	r->flags |= CARRY_ORPHAN;
	r->next = orphan_list;
	orphan_list = r;
	carry_request_orphans++;
}

void carry_request_visit(bool (*done)(struct carry_request *r))
{
	struct carry_request **link = &orphan_list;

	while (*link) {
		struct carry_request *r = *link;

		if (!done(r)) {
			link = &r->next;
			continue;
		}
		*link = r->next;
		carry_request_orphans--;
		release(r);
	}
}
