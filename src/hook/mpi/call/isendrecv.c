/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_Isendrecv from any source. MPICH does not say who sent what it received, so it is made of its
 * parts: the request that the program gets is that of the receive. What is sent is packed first, as
 * the program may write there as soon as its request has completed, and because its place may be
 * where the receive writes. Invariant: a copy is kept until its send has completed.
 */
#include "hook/mpi/call/mpi.h"

#ifdef HOOK_FLAVOUR_MPICH

#include <sched.h>
#include <sys/mman.h>

struct sent {
	struct sent *next;
	size_t mapped;
	MPI_Request request;
	char data[] __attribute__((aligned(16)));
};

static struct sent *all_sent;
static int locked;

static void lock(void)
{
	while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void unlock(void)
{
	__atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
}

/* Gives back the copies of those that have completed. */
static void reap(bool wait)
{
	struct sent **link = &all_sent;

	while (*link) {
		struct sent *s = *link;
		int done = 1;

		if (wait)
			hook_mpi_real.Wait(&s->request, MPI_STATUS_IGNORE);
		else
			hook_mpi_real.Test(&s->request, &done, MPI_STATUS_IGNORE);
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
	lock();
	reap(true);
	unlock();
}

static int send_packed(const struct hook_mpi_exchange *x, MPI_Count size)
{
	size_t mapped = sizeof(struct sent) + (size_t)size;
	struct sent *s =
		mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MPI_Count packed = 0;
	int rc;

	if (s == MAP_FAILED)
		return MPI_ERR_NO_MEM;
	s->mapped = mapped;
	rc = hook_mpi_pack(&hook_mpi_real, x, s->data, size, &packed);
	if (rc == MPI_SUCCESS)
		rc = hook_mpi_isend(s->data, packed, MPI_PACKED, x->dest, x->sendtag, x->comm,
				    &s->request);
	if (rc != MPI_SUCCESS) {
		munmap(s, mapped);
		return rc;
	}
	s->next = all_sent;
	all_sent = s;
	return rc;
}

int hook_mpi_send_part(const struct hook_mpi_exchange *x)
{
	MPI_Count size = 0;
	int rc;

	if (x->dest == MPI_PROC_NULL)
		return MPI_SUCCESS;
	rc = hook_mpi_real.Pack_size_c(x->sendcount, x->sendtype, x->comm, &size);
	if (rc != MPI_SUCCESS)
		return rc;
	lock();
	reap(false);
	rc = send_packed(x, size);
	unlock();
	return rc;
}

#else

void hook_mpi_send_parts_close(void)
{
}

#endif
