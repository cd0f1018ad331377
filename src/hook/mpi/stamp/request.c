/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests whose messages carry clocks, by handle. A handle that is still here when it comes again
 * is that of a send which had completed at once: both MPIs give those a common handle.
 */
#include <sys/mman.h>

#include "hook/kit/pages.h"
#include "hook/mpi/stamp/stamp.h"

#define ROOMS 32         /* made at a time */
#define CROWDED_ROOMS 64 /* at most: long ones, made one by one; whoever gets none makes a type */

static struct hook_table table = {.bytes = sizeof(struct stamp_request),
				  .clear = offsetof(struct stamp_request, small)};
static uint32_t live;
uint32_t stamp_request_orphans;
static struct stamp_request *orphan_list;

/* Rooms by size, besides the one in the request; free ones are linked by their first word. */
static struct {
	size_t bytes; /* of data */
	void *free;
} rooms[] = {{1024, NULL}, {STAMP_COPY, NULL}, {STAMP_COPY_CROWDED, NULL}};

static uint32_t crowded_rooms;

struct stamp_request *stamp_request_new(void)
{
	return hook_table_new(&table);
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
		block = hook_pages(each * count);
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

struct stamp_request *stamp_request_find(MPI_Request handle)
{
	return live ? hook_table_find(&table, hook_mpi_key(handle)) : NULL;
}

static void leave_table(struct stamp_request *r)
{
	if (!r->is_in_table)
		return;
	hook_table_remove(&table, r);
	r->is_in_table = false;
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
	hook_table_free(&table, r);
}

void stamp_request_insert(struct stamp_request *r, MPI_Request handle)
{
	struct stamp_request *before = stamp_request_find(handle);

	if (before)
		stamp_request_drop(before);
	r->handle = handle;
	r->is_in_table = true;
	hook_table_insert(&table, r, hook_mpi_key(handle));
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
