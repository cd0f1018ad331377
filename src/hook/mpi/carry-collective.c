/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collective operations of MPI_COMM_WORLD in which every rank waits for all others are counted: who
 * has n of them behind it knows what all had seen before their n-th. All other collective
 * operations are left out, which is safe; so is Alltoallv, whose counts no rank knows all of. Now
 * and then, and at the end, ranks tell each other how many messages they have sent: without it,
 * nothing could ever be forgotten because of a rank that sends none.
 */
#include "hook/mpi/carry.h"

#include <sched.h>

#define TELL_EVERY 64

/* MPICH waits without ever letting go of the core, which others may need to come here. */
#ifdef HOOK_FLAVOUR_MPICH
static int finish(int rc, MPI_Request request)
{
	int done = 0;

	while (rc == MPI_SUCCESS && !done) {
		rc = carry_mpi.Test(&request, &done, MPI_STATUS_IGNORE);
		if (!done)
			sched_yield();
	}
	return rc;
}
#endif

static int exchange(const uint32_t *out, uint32_t *in)
{
#ifdef HOOK_FLAVOUR_MPICH
	MPI_Request request = MPI_REQUEST_NULL;
	int rc = carry_mpi.Ialltoall(out, sizeof(*out), MPI_BYTE, in, sizeof(*in), MPI_BYTE,
				     MPI_COMM_WORLD, &request);

	return finish(rc, request);
#else
	return carry_mpi.Alltoall(out, sizeof(*out), MPI_BYTE, in, sizeof(*in), MPI_BYTE,
				  MPI_COMM_WORLD);
#endif
}

static int add_up(uint32_t mine, uint32_t *sum)
{
#ifdef HOOK_FLAVOUR_MPICH
	MPI_Request request = MPI_REQUEST_NULL;
	int rc = carry_mpi.Iallreduce(&mine, sum, 1, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD,
				      &request);

	return finish(rc, request);
#else
	return carry_mpi.Allreduce(&mine, sum, 1, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
#endif
}

/* Afterwards the first half of carry_counts is what the others have sent us. */
static bool tell(void)
{
	uint32_t n = carry_clock.ranks;
	uint32_t *out = carry_counts + n;

	for (uint32_t i = 0; i < n; i++)
		out[i] = carry_clock.peer[i].sent;
	return exchange(out, carry_counts) == MPI_SUCCESS;
}

static void synced(MPI_Comm comm, int rc, MPI_Count count, MPI_Datatype type)
{
	int size = 0;

	if (comm != MPI_COMM_WORLD || rc != MPI_SUCCESS || count <= 0)
		return;
	carry_mpi.Type_size(type, &size);
	if (!size)
		return;
	hook_clock_sync(&carry_clock);
	if (carry_clock.syncs % TELL_EVERY || !tell())
		return;
	for (uint32_t i = 0; i < carry_clock.ranks; i++)
		hook_clock_told(&carry_clock, i, carry_counts[i]);
}

static int carry_Barrier(MPI_Comm comm)
{
	int rc = carry_mpi.Barrier(comm);

	synced(comm, rc, 1, MPI_BYTE);
	return rc;
}

/*
 * A rank may use the call for large counts where another does not: both count. An array of counts
 * is the same at all ranks; where one of them is 0 some need not wait for others.
 */
#define COLLECTIVES(suffix, number, place)                                                         \
	static int carry_Allreduce##suffix(const void *sendbuf, void *recvbuf, number count,       \
					   MPI_Datatype type, MPI_Op op, MPI_Comm comm)            \
	{                                                                                          \
		int rc = carry_mpi.Allreduce##suffix(sendbuf, recvbuf, count, type, op, comm);     \
                                                                                                   \
		synced(comm, rc, count, type);                                                     \
		return rc;                                                                         \
	}                                                                                          \
                                                                                                   \
	static int carry_Reduce_scatter_block##suffix(const void *sendbuf, void *recvbuf,          \
						      number count, MPI_Datatype type, MPI_Op op,  \
						      MPI_Comm comm)                               \
	{                                                                                          \
		int rc = carry_mpi.Reduce_scatter_block##suffix(sendbuf, recvbuf, count, type, op, \
								comm);                             \
                                                                                                   \
		synced(comm, rc, count, type);                                                     \
		return rc;                                                                         \
	}                                                                                          \
                                                                                                   \
	static int carry_Allgather##suffix(const void *sendbuf, number sendcount,                  \
					   MPI_Datatype sendtype, void *recvbuf, number recvcount, \
					   MPI_Datatype recvtype, MPI_Comm comm)                   \
	{                                                                                          \
		int rc = carry_mpi.Allgather##suffix(sendbuf, sendcount, sendtype, recvbuf,        \
						     recvcount, recvtype, comm);                   \
                                                                                                   \
		synced(comm, rc, recvcount, recvtype);                                             \
		return rc;                                                                         \
	}                                                                                          \
                                                                                                   \
	static int carry_Alltoall##suffix(const void *sendbuf, number sendcount,                   \
					  MPI_Datatype sendtype, void *recvbuf, number recvcount,  \
					  MPI_Datatype recvtype, MPI_Comm comm)                    \
	{                                                                                          \
		int rc = carry_mpi.Alltoall##suffix(sendbuf, sendcount, sendtype, recvbuf,         \
						    recvcount, recvtype, comm);                    \
                                                                                                   \
		synced(comm, rc, recvcount, recvtype);                                             \
		return rc;                                                                         \
	}                                                                                          \
                                                                                                   \
	static int carry_Allgatherv##suffix(const void *sendbuf, number sendcount,                 \
					    MPI_Datatype sendtype, void *recvbuf,                  \
					    const number recvcounts[], const place displs[],       \
					    MPI_Datatype recvtype, MPI_Comm comm)                  \
	{                                                                                          \
		int rc = carry_mpi.Allgatherv##suffix(sendbuf, sendcount, sendtype, recvbuf,       \
						      recvcounts, displs, recvtype, comm);         \
		bool all = comm == MPI_COMM_WORLD;                                                 \
                                                                                                   \
		for (uint32_t i = 0; all && i < carry_clock.ranks; i++)                            \
			all = recvcounts[i] > 0;                                                   \
		synced(comm, rc, all, recvtype);                                                   \
		return rc;                                                                         \
	}                                                                                          \
                                                                                                   \
	static int carry_Reduce_scatter##suffix(const void *sendbuf, void *recvbuf,                \
						const number recvcounts[], MPI_Datatype type,      \
						MPI_Op op, MPI_Comm comm)                          \
	{                                                                                          \
		int rc = carry_mpi.Reduce_scatter##suffix(sendbuf, recvbuf, recvcounts, type, op,  \
							  comm);                                   \
		bool all = comm == MPI_COMM_WORLD;                                                 \
                                                                                                   \
		for (uint32_t i = 0; all && i < carry_clock.ranks; i++)                            \
			all = recvcounts[i] > 0;                                                   \
		synced(comm, rc, all, type);                                                       \
		return rc;                                                                         \
	}

COLLECTIVES(, int, int)
#ifdef HOOK_FLAVOUR_MPICH
COLLECTIVES(_c, MPI_Count, MPI_Aint)
#endif

static bool closed;

/*
 * No rank has received more from another than that has sent: where the sums are equal, everything
 * has come everywhere. To ask so takes a few messages; who misses what takes one to each rank.
 */
bool carry_close(void)
{
	uint32_t mine = 0, missing = 1;
	bool all = true;

	closed = true;
	carry_visit_orphans();
	carry_type_free_all();
	for (uint32_t i = 0; i < carry_clock.ranks; i++)
		mine += carry_clock.peer[i].sent - carry_clock.peer[i].received;
	if (add_up(mine, &missing) != MPI_SUCCESS)
		return false;
	if (!missing)
		return true;
	if (!tell())
		return false;
	for (uint32_t i = 0; i < carry_clock.ranks; i++)
		all = all && carry_counts[i] == carry_clock.peer[i].received;
	return all;
}

/* A rank whose recording has stopped does not close: the others wait for its part in that. */
static int carry_Finalize(void)
{
	if (!closed)
		carry_close();
	return carry_mpi.Finalize();
}

#define INSTALL(suffix)                                                                            \
	do {                                                                                       \
		mpi->Allreduce##suffix = carry_Allreduce##suffix;                                  \
		mpi->Reduce_scatter##suffix = carry_Reduce_scatter##suffix;                        \
		mpi->Reduce_scatter_block##suffix = carry_Reduce_scatter_block##suffix;            \
		mpi->Allgather##suffix = carry_Allgather##suffix;                                  \
		mpi->Allgatherv##suffix = carry_Allgatherv##suffix;                                \
		mpi->Alltoall##suffix = carry_Alltoall##suffix;                                    \
	} while (0)

void carry_install_collectives(struct hook_mpi_real *mpi)
{
	mpi->Barrier = carry_Barrier;
	mpi->Finalize = carry_Finalize;
	INSTALL();
#ifdef HOOK_FLAVOUR_MPICH
	INSTALL(_c);
#endif
}
