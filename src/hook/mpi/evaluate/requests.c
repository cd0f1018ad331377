/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each request of the program is. MPICH gives the same handle to all sends that are complete
 * when they begin: the oldest of them goes first.
 */

#include "hook/mpi/evaluate/evaluate.h"

struct hook_table evaluate_requests = {.bytes = sizeof(struct evaluate_request),
				       .clear = sizeof(struct evaluate_request)};
uint32_t evaluate_persistent;
static uint64_t ids;
static struct hook_lock locked;

void evaluate_requests_lock(void)
{
	hook_mpi_lock(&locked);
}

void evaluate_requests_unlock(void)
{
	hook_mpi_unlock(&locked);
}

uint64_t evaluate_next_id(void)
{
	return __atomic_add_fetch(&ids, 1, __ATOMIC_RELAXED);
}

void evaluate_request_add(uint64_t key, const struct evaluate_request *r)
{
	struct evaluate_request *kept = hook_table_new(&evaluate_requests);
	struct hook_entry entry;

	if (!kept)
		hook_failed(hook_thread_self(), "out of memory for events");
	entry = kept->entry;
	*kept = *r;
	kept->entry = entry;
	evaluate_persistent += r->flags & EVALUATE_PERSISTENT;
	hook_table_insert(&evaluate_requests, kept, key);
}

void evaluate_request_drop(uint32_t index)
{
	struct evaluate_request *r = hook_table_at(&evaluate_requests, index);

	evaluate_persistent -= r->flags & EVALUATE_PERSISTENT;
	r->kind = 0;
	hook_table_free(&evaluate_requests, r);
}
