/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_Isendrecv from any source. MPICH does not say who sent what it received, so it is made of its
 * parts: the request that the program gets is that of the receive. What is sent is packed first,
 * because the program may write there as soon as its request has completed, and because the receive
 * may write to the same place. Invariant: a copy is kept until its send has completed.
 */
#include "hook/mpi/call/mpi.h"

#include <sys/mman.h>

#include "hook/kit/lock.h"

struct sent {
	struct sent *next;
	size_t mapped;
	MPI_Request request;
} __attribute__((aligned(16))); /* the data are behind it */

static struct sent *all_sent;
static struct hook_lock locked;

/* Gives back the copies of those that have completed. */
static void reap(bool wait)
{
	struct sent **link = &all_sent;

	while (*link) {
		struct sent *s = *link;
		int done = 1;

		if (wait)
			hook_mpi_top.Wait(&s->request, MPI_STATUS_IGNORE);
		else
			hook_mpi_top.Test(&s->request, &done, MPI_STATUS_IGNORE);
		if (!done) {
			link = &s->next;
			continue;
		}
		*link = s->next;
		munmap(s, s->mapped);
	}
}

void hook_mpi_send_parts_close(void)
{
	hook_lock_take(&locked);
	reap(true);
	hook_lock_give(&locked);
}

static int send_packed(const struct hook_mpi_send *o)
{
	struct hook_mpi_send own = *o;
	struct sent *s;
	size_t mapped;
	void *copy;
	int rc = hook_mpi_pack_behind(&hook_mpi_top, &own, sizeof(*s), &copy, &mapped);

	if (rc != MPI_SUCCESS)
		return rc;
	s = copy;
	s->mapped = mapped;
	own.post = HOOK_POSTED;
	own.request = &s->request;
	rc = hook_mpi_send(&hook_mpi_top, &own);
	if (rc != MPI_SUCCESS) {
		munmap(s, mapped);
		return rc;
	}
	s->next = all_sent;
	all_sent = s;
	return rc;
}

int hook_mpi_send_part(const struct hook_mpi_send *o)
{
	int rc;

	if (o->dest == MPI_PROC_NULL)
		return MPI_SUCCESS;
	hook_lock_take(&locked);
	reap(false);
	rc = send_packed(o);
	hook_lock_give(&locked);
	return rc;
}
