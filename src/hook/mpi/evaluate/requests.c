/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each request of the program is. MPICH gives the same handle to all sends that are complete
 * when they begin: the oldest of them goes first.
 */

#include "hook/mpi/evaluate/evaluate.h"
#include "hook/kit/lock.h"

static struct hook_table table = {.bytes = sizeof(struct evaluate_request),
				  .clear = sizeof(struct evaluate_request)};
static uint32_t persistent;
static uint64_t ids;
static struct hook_lock locked;

void evaluate_requests_lock(void)
{
	if (hook_mpi_turns)
		hook_lock_take(&locked);
}

void evaluate_requests_unlock(void)
{
	if (hook_mpi_turns)
		hook_lock_give(&locked);
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

static void add(uint64_t key, const struct evaluate_request *r)
{
	struct evaluate_request *kept = hook_table_new(&table);
	struct hook_entry entry;

	if (!kept)
		hook_failed(hook_thread_self(), "out of memory for events");
	entry = kept->entry;
	*kept = *r;
	kept->entry = entry;
	persistent += r->flags & EVALUATE_PERSISTENT;
	hook_table_insert(&table, kept, key);
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
	return hook_table_find(&table, request_key(handle));
}

static uint32_t take(struct evaluate_request *r)
{
	if (!r)
		return 0;
	hook_table_remove(&table, r);
	return r->entry.index;
}

uint32_t evaluate_request_take(MPI_Request handle)
{
	return take(hook_table_find(&table, request_key(handle)));
}

uint32_t evaluate_message_take(MPI_Message handle)
{
	return take(hook_table_find(&table, message_key(handle)));
}

struct evaluate_request *evaluate_request_at(uint32_t index)
{
	return hook_table_at(&table, index);
}

void evaluate_request_put_back(uint32_t index)
{
	struct hook_entry *entry = hook_table_at(&table, index);

	hook_table_insert(&table, entry, entry->key);
}

void evaluate_request_drop(uint32_t index)
{
	struct evaluate_request *r = hook_table_at(&table, index);

	persistent -= r->flags & EVALUATE_PERSISTENT;
	r->kind = 0;
	hook_table_free(&table, r);
}

uint32_t evaluate_request_after(uint32_t index)
{
	while (++index <= table.used) {
		if (evaluate_request_at(index)->kind)
			return index;
	}
	return 0;
}

bool evaluate_requests_have_persistent(void)
{
	return persistent != 0;
}
