/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests by handle. Where threads take turns an entry leaves the table before the call that may
 * complete it, since MPI may give its handle to another request as soon as it has.
 */
#include "hook/mpi/log/log.h"

struct hook_table hook_wants = {.bytes = sizeof(struct hook_want),
				.clear = sizeof(struct hook_want)};
static uint32_t live;
struct hook_lock hook_wants_locked;

struct hook_want *hook_want_find(MPI_Request handle)
{
	return live ? hook_table_find(&hook_wants, hook_mpi_key(handle)) : NULL;
}

struct hook_want *hook_want_at(uint32_t index)
{
	return hook_table_at(&hook_wants, index);
}

struct hook_want *hook_want_add(MPI_Request handle, uint32_t flags)
{
	struct hook_want *w = hook_mpi_entry(&hook_wants, hook_mpi_key(handle), "open requests");

	w->flags = flags;
	w->block.type = w->result.one.type = MPI_DATATYPE_NULL;
	live++;
	return w;
}

uint32_t hook_want_take(MPI_Request handle)
{
	return hook_table_take(&hook_wants, hook_mpi_key(handle));
}

struct hook_block hook_want_block(struct hook_want *w)
{
	struct hook_block b = w->block;

	if (!(w->flags & HOOK_WANT_KEPT))
		hook_type_keep(&b.type);
	w->flags &= ~(uint32_t)HOOK_WANT_KEPT;
	return b;
}

void hook_want_put_back(uint32_t index)
{
	hook_table_put_back(&hook_wants, index);
}

void hook_want_drop(uint32_t index)
{
	struct hook_want *w = hook_want_at(index);

	if (w->flags & HOOK_WANT_KEPT)
		hook_mpi_real.Type_free(&w->block.type);
	if (w->flags & HOOK_WANT_RESULT)
		hook_result_drop(&w->result);
	hook_table_free(&hook_wants, w);
	live--;
}

void hook_want_message(MPI_Request handle, uint32_t flags, const struct hook_block *b,
		       MPI_Comm comm)
{
	struct hook_block kept = *b;
	struct hook_want *w;

	flags |= HOOK_WANT_MESSAGE;
	if (!hook_type_is_named(b->type)) {
		hook_type_keep(&kept.type);
		flags |= HOOK_WANT_KEPT;
	}
	hook_mpi_lock(&hook_wants_locked);
	w = hook_want_add(handle, flags);
	w->block = kept;
	w->comm = comm;
	hook_mpi_unlock(&hook_wants_locked);
}

/* Only one that is prepared has something to send later. */
void hook_want_send(MPI_Request handle, const struct hook_mpi_send *o)
{
	struct hook_block b = {(void *)(uintptr_t)o->buf, o->count, o->type};
	uint32_t flags = hook_want_flags(o->post) | HOOK_WANT_SEND;
	struct hook_want *w;

	if (o->post == HOOK_PREPARED && !hook_type_is_named(b.type)) {
		hook_type_keep(&b.type);
		flags |= HOOK_WANT_KEPT;
	}
	hook_mpi_lock(&hook_wants_locked);
	w = hook_want_add(handle, flags);
	w->block = b;
	w->dest = o->dest;
	w->comm = o->comm;
	hook_mpi_unlock(&hook_wants_locked);
}

void hook_want_result(MPI_Request handle, uint32_t flags, struct hook_result *r, MPI_Comm comm)
{
	struct hook_want *w;

	hook_result_keep(r);
	hook_mpi_lock(&hook_wants_locked);
	w = hook_want_add(handle, flags | HOOK_WANT_RESULT);
	w->result = *r;
	w->comm = comm;
	hook_mpi_unlock(&hook_wants_locked);
}
