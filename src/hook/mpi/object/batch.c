/* SPDX-License-Identifier: Apache-2.0 */
/* After an error of arguments MPI has answered nothing: then nothing has completed. */
#include "hook/mpi/object/batch.h"

#include <string.h>

void hook_batch_none(struct hook_batch *b, const struct hook_mpi_completion *o)
{
	b->count = o->count;
	b->before = NULL;
	b->statuses = o->statuses;
}

bool hook_batch_open(struct hook_batch *b, struct hook_thread *t, int which,
		     const struct hook_mpi_completion *o)
{
	size_t n = o->count > 0 ? (size_t)o->count : 0;
	size_t each = sizeof(*b->before) + sizeof(*b->statuses) + sizeof(*b->taken);
	MPI_Status *ours;

	hook_batch_none(b, o);
	b->before = hook_mpi_scratch(t, which, n * each);
	if (!b->before)
		return n == 0;
	ours = (MPI_Status *)(b->before + n);
	b->taken = (uint32_t *)(ours + n);
	if (b->statuses == MPI_STATUSES_IGNORE)
		b->statuses = o->how == HOOK_ONE || o->how == HOOK_ANY ? &b->one : ours;
	if (n)
		memcpy(b->before, o->requests, n * sizeof(*b->before));
	return true;
}

/* A request that did not complete is still what it was. */
bool hook_batch_has_completed(const struct hook_batch *b, const struct hook_mpi_completion *o,
			      int rc, int i)
{
	if (rc == MPI_SUCCESS || o->requests[i] != b->before[i])
		return true;
	return hook_mpi_class(rc) == MPI_ERR_IN_STATUS &&
	       b->statuses[i].MPI_ERROR != MPI_ERR_PENDING;
}

void hook_batch_each(struct hook_batch *b, const struct hook_mpi_completion *o, int rc,
		     void (*done)(struct hook_batch *b, int i, int rc, MPI_Status *status,
				  void *arg),
		     void *arg)
{
	bool in_status = hook_mpi_class(rc) == MPI_ERR_IN_STATUS;

	if (!b->before || (o->flag && !*o->flag && rc == MPI_SUCCESS))
		return;
	switch (o->how) {
	case HOOK_ONE:
	case HOOK_PART:
		if (!o->flag || *o->flag)
			done(b, 0, rc, b->statuses, arg);
		break;
	case HOOK_ANY:
		if (*o->indices >= 0 && *o->indices < b->count)
			done(b, *o->indices, rc, b->statuses, arg);
		break;
	case HOOK_SOME:
		if (rc != MPI_SUCCESS && !in_status)
			return;
		for (int i = 0; i < *o->outcount && *o->outcount <= b->count; i++)
			done(b, o->indices[i], in_status ? b->statuses[i].MPI_ERROR : rc,
			     &b->statuses[i], arg);
		break;
	case HOOK_ALL:
		for (int i = 0; i < b->count; i++) {
			if (hook_batch_has_completed(b, o, rc, i))
				done(b, i, in_status ? b->statuses[i].MPI_ERROR : rc,
				     &b->statuses[i], arg);
		}
		break;
	}
}

void hook_batch_take(struct hook_batch *b, struct hook_table *table, struct hook_lock *lock)
{
	hook_mpi_lock(lock);
	for (int i = 0; i < b->count; i++)
		b->taken[i] = hook_table_take(table, hook_mpi_key(b->before[i]));
	hook_mpi_unlock(lock);
}

void hook_batch_put_back(struct hook_batch *b, struct hook_table *table, struct hook_lock *lock)
{
	hook_mpi_lock(lock);
	for (int i = 0; i < b->count; i++) {
		if (b->taken[i])
			hook_table_put_back(table, b->taken[i]);
	}
	hook_mpi_unlock(lock);
}
