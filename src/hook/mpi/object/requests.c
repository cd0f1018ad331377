/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives in a table, and a list of open wildcards. Invariant: an entry is in the table exactly
 * while its request is alive for the program or orphaned, and has not left it (REQUEST_OUT).
 */
#include "hook/mpi/object/requests.h"

static struct hook_table table = {.bytes = sizeof(struct hook_request),
				  .clear = sizeof(struct hook_request)};
static struct hook_request opens = {.next = &opens, .previous = &opens};
static uint32_t live;
uint32_t hook_mpi_pending;
static uint64_t posts, wilds;

static struct {
	struct hook_lock lock;
	const struct hook_thread *holder;
	int again; /* how often the holder has taken it besides */
} locked;

void hook_requests_lock(void)
{
	if (!hook_mpi_turns)
		return;
	if (__atomic_load_n(&locked.holder, __ATOMIC_RELAXED) == hook_self) {
		locked.again++;
		return;
	}
	hook_lock_take(&locked.lock);
	__atomic_store_n(&locked.holder, hook_self, __ATOMIC_RELAXED);
}

void hook_requests_unlock(void)
{
	if (!hook_mpi_turns)
		return;
	if (locked.again) {
		locked.again--;
		return;
	}
	__atomic_store_n(&locked.holder, NULL, __ATOMIC_RELAXED);
	hook_lock_give(&locked.lock);
}

struct hook_request *hook_requests_find(MPI_Request handle)
{
	return live ? hook_table_find(&table, hook_mpi_key(handle)) : NULL;
}

static void leave_table(struct hook_request *r)
{
	if (!(r->flags & REQUEST_OUT))
		hook_table_remove(&table, r);
	r->flags |= REQUEST_OUT;
}

static struct hook_request *add(MPI_Request handle, uint32_t flags)
{
	struct hook_request *r = hook_requests_find(handle);

	/* A handle that is still here was reused behind our back, or while it completes. */
	if (r && r->flags & REQUEST_BUSY)
		leave_table(r);
	else if (r)
		hook_requests_remove(r);
	r = hook_table_new(&table);
	if (!r)
		return NULL;
	r->handle = handle;
	r->flags = flags;
	r->proxy = MPI_REQUEST_NULL;
	hook_table_insert(&table, r, hook_mpi_key(handle));
	live++;
	return r;
}

void hook_requests_remove(struct hook_request *r)
{
	hook_requests_close(r);
	leave_table(r);
	r->flags = 0;
	r->handle = MPI_REQUEST_NULL;
	hook_table_free(&table, r);
	live--;
}

void hook_requests_keep(MPI_Request handle)
{
	struct hook_request *r;

	hook_requests_lock();
	r = hook_requests_find(handle);
	if (r)
		hook_mpi_real.Type_dup(r->want.type, &r->want.type);
	hook_requests_unlock();
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
	r->post = posts++;
	r->flags &= ~(uint32_t)(REQUEST_KNOWN | REQUEST_CANCEL | REQUEST_NOWHERE | REQUEST_DONE);
	r->flags |= REQUEST_ACTIVE;
	if (!(r->flags & REQUEST_WILD))
		return;
	r->wild = wilds++;
	r->next = &opens;
	r->previous = opens.previous;
	r->previous->next = r;
	opens.previous = r;
}

bool hook_requests_begin(const struct hook_mpi_receive *o, uint32_t flags)
{
	bool prepared = o->post == HOOK_PREPARED;
	struct hook_request *r;

	if (o->source == MPI_PROC_NULL)
		return true;
	hook_requests_lock();
	r = add(*o->request, (o->source == MPI_ANY_SOURCE ? REQUEST_WILD : 0) |
				     (prepared ? REQUEST_PERSISTENT : 0));
	if (r)
		r->want = *o;
	if (r && !prepared) {
		hook_requests_post(r);
		r->flags |= flags;
	}
	hook_requests_unlock();
	return r != NULL;
}

void hook_requests_close(struct hook_request *r)
{
	if (!r->next)
		return;
	r->previous->next = r->next;
	r->next->previous = r->previous;
	r->next = r->previous = NULL;
	if (r->flags & REQUEST_PENDING)
		hook_mpi_pending--;
	r->flags &= ~(uint32_t)REQUEST_PENDING;
}

static void put_back(struct hook_request *r)
{
	if (!(r->flags & REQUEST_BUSY))
		return;
	if (r->flags & REQUEST_OUT)
		hook_table_insert(&table, r, r->entry.key);
	r->flags &= ~(uint32_t)(REQUEST_BUSY | REQUEST_OUT);
}

void hook_requests_retire(struct hook_request *r)
{
	if (!(r->flags & REQUEST_PERSISTENT)) {
		hook_requests_remove(r);
		return;
	}
	hook_requests_close(r);
	r->flags &= ~(uint32_t)REQUEST_ACTIVE;
	r->proxy = MPI_REQUEST_NULL;
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
		taken[i] = r->entry.index;
		if (!(r->flags & REQUEST_PERSISTENT))
			leave_table(r);
		r->flags |= REQUEST_BUSY;
	}
	hook_requests_unlock();
}

struct hook_request *hook_requests_taken(MPI_Request before, const uint32_t *taken)
{
	if (!hook_mpi_turns)
		return hook_requests_find(before);
	return hook_table_at(&table, *taken);
}

void hook_requests_put_back(int count, const uint32_t taken[])
{
	if (!hook_mpi_turns)
		return;
	hook_requests_lock();
	for (int i = 0; i < count; i++) {
		if (taken[i])
			put_back(hook_table_at(&table, taken[i]));
	}
	hook_requests_unlock();
}

void hook_requests_pend(struct hook_request *r)
{
	if (!(r->flags & REQUEST_PENDING))
		hook_mpi_pending++;
	r->flags |= REQUEST_PENDING;
}

struct hook_request *hook_requests_first_open(void)
{
	return hook_requests_next_open(&opens);
}

struct hook_request *hook_requests_next_open(const struct hook_request *r)
{
	return r->next == &opens ? NULL : r->next;
}

struct hook_request *hook_requests_of_post(uint64_t post)
{
	for (uint32_t i = 1; i <= table.used; i++) {
		struct hook_request *r = hook_table_at(&table, i);

		if (r->flags & REQUEST_ACTIVE && r->post == post)
			return r;
	}
	return NULL;
}

uint32_t hook_requests_count(void)
{
	return live;
}
