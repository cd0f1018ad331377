/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks on messages: collective operations, where stamp/flow.c says who learns what; the end. */
#include "hook/mpi/stamp/stamp.h"

/* MPICH waits without ever letting go of the core, which others may need to come here. */
#ifdef HOOK_FLAVOUR_MPICH
static int finish(int rc, MPI_Request request)
{
	struct hook_mpi_completion o = {
		.count = 1, .requests = &request, .statuses = MPI_STATUS_IGNORE};

	return rc == MPI_SUCCESS ? hook_mpi_complete_by_polls(&stamp_below, o) : rc;
}
#endif

static int exchange(const uint32_t *out, uint32_t *in)
{
#ifdef HOOK_FLAVOUR_MPICH
	MPI_Request request = MPI_REQUEST_NULL;
	int rc = stamp_below.Ialltoall(out, sizeof(*out), MPI_BYTE, in, sizeof(*in), MPI_BYTE,
				       MPI_COMM_WORLD, &request);

	return finish(rc, request);
#else
	return stamp_below.Alltoall(out, sizeof(*out), MPI_BYTE, in, sizeof(*in), MPI_BYTE,
				    MPI_COMM_WORLD);
#endif
}

static int add_up(uint32_t mine, uint32_t *sum)
{
#ifdef HOOK_FLAVOUR_MPICH
	MPI_Request request = MPI_REQUEST_NULL;
	int rc = stamp_below.Iallreduce(&mine, sum, 1, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD,
					&request);

	return finish(rc, request);
#else
	return stamp_below.Allreduce(&mine, sum, 1, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
#endif
}

bool stamp_exchange_counts(void)
{
	uint32_t n = stamp_clock.ranks;
	uint32_t *out = stamp_counts + n;

	for (uint32_t i = 0; i < n; i++)
		out[i] = stamp_clock.peer[i].sent;
	return exchange(out, stamp_counts) == MPI_SUCCESS;
}

/* `moves` is the same at every rank. */
static void all_to_all(struct stamp_flow *f, bool moves)
{
	f->kind = STAMP_FLOW_ALL;
	f->gives = f->takes = f->global = moves;
}

/* The same if counts, which every rank has, are not 0. */
static void all_by_counts(struct stamp_flow *f, const void *counts, bool moves)
{
	all_to_all(f, moves);
	f->global = moves && stamp_flow_every(f, counts);
}

/* By counts of which no rank knows all. */
static void each_to_each(struct stamp_flow *f, bool gives, bool takes)
{
	f->kind = STAMP_FLOW_ALL;
	f->gives = gives;
	f->takes = takes;
}

static void one_way(struct stamp_flow *f, enum stamp_flow_kind kind, int root, bool moves)
{
	f->kind = kind;
	f->root = root;
	f->gives = f->takes = moves;
}

/*
 * What each of them is, from its parameters, as statements that fill `f`. Some of these mean
 * nothing at some ranks; where MPI_IN_PLACE may stand for what is sent, what is received tells.
 */
#define MOVES(which) stamp_flow_moves(which##count, which##type)
#define AT_ROOT (f.team.rank == root)
#define IN_PLACE (sendbuf == MPI_IN_PLACE)

#define FLOW_Barrier all_to_all(&f, true)
#define FLOW_Allreduce all_to_all(&f, stamp_flow_moves(count, datatype))
#define FLOW_Reduce_scatter_block all_to_all(&f, stamp_flow_moves(recvcount, datatype))
#define FLOW_Allgather all_to_all(&f, MOVES(recv))
#define FLOW_Alltoall all_to_all(&f, MOVES(recv))
#define FLOW_Bcast one_way(&f, STAMP_FLOW_FROM_ROOT, root, stamp_flow_moves(count, datatype))
#define FLOW_Reduce one_way(&f, STAMP_FLOW_TO_ROOT, root, stamp_flow_moves(count, datatype))
#define FLOW_Gather one_way(&f, STAMP_FLOW_TO_ROOT, root, AT_ROOT ? MOVES(recv) : MOVES(send))
#define FLOW_Scatter one_way(&f, STAMP_FLOW_FROM_ROOT, root, AT_ROOT ? MOVES(send) : MOVES(recv))
#define FLOW_Gatherv                                                                               \
	one_way(&f, STAMP_FLOW_TO_ROOT, root,                                                      \
		AT_ROOT ? stamp_flow_moves(1, recvtype) : MOVES(send));                            \
	f.from = AT_ROOT ? recvcounts : NULL
#define FLOW_Scatterv                                                                              \
	one_way(&f, STAMP_FLOW_FROM_ROOT, root,                                                    \
		AT_ROOT ? stamp_flow_moves(1, sendtype) : MOVES(recv));                            \
	f.to = AT_ROOT ? sendcounts : NULL
#define FLOW_Scan one_way(&f, STAMP_FLOW_UP, 0, stamp_flow_moves(count, datatype))
#define FLOW_Exscan FLOW_Scan
#define FLOW_Allgatherv                                                                            \
	all_by_counts(&f, recvcounts, stamp_flow_moves(1, recvtype));                              \
	f.gives = f.gives && stamp_flow_some(&f, recvcounts, f.team.rank);                         \
	f.from = recvcounts
#define FLOW_Reduce_scatter                                                                        \
	all_by_counts(&f, recvcounts, stamp_flow_moves(1, datatype));                              \
	f.takes = f.takes && stamp_flow_some(&f, recvcounts, f.team.rank);                         \
	f.to = recvcounts
#define FLOW_Alltoallv                                                                             \
	each_to_each(&f, stamp_flow_moves(1, IN_PLACE ? recvtype : sendtype),                      \
		     stamp_flow_moves(1, recvtype));                                               \
	f.to = IN_PLACE ? recvcounts : sendcounts;                                                 \
	f.from = recvcounts
#define FLOW_Alltoallw                                                                             \
	each_to_each(&f, true, true);                                                              \
	f.to = IN_PLACE ? recvcounts : sendcounts;                                                 \
	f.to_type = IN_PLACE ? recvtypes : sendtypes;                                              \
	f.from = recvcounts;                                                                       \
	f.from_type = recvtypes

#define COLLECTIVE(name, flow, large, is_posted, end, parameters, arguments)                       \
	static int stamp_##name parameters                                                         \
	{                                                                                          \
		struct stamp_flow f = {.wide = large, .posted = is_posted};                        \
		int rc;                                                                            \
                                                                                                   \
		if (stamp_comm_team(comm, &f.team)) {                                              \
			FLOW_##flow;                                                               \
			stamp_flow_begin(&f);                                                      \
		}                                                                                  \
		rc = stamp_below.name arguments;                                                   \
		end;                                                                               \
		return rc;                                                                         \
	}
#define BLOCKING(name, flow, large, parameters, arguments)                                         \
	COLLECTIVE(name, flow, large, false, stamp_flow_end(&f, comm, rc), parameters, arguments)
#define POSTED(name, flow, large, parameters, arguments)                                           \
	COLLECTIVE(name, flow, large, true, stamp_flow_post(&f, rc, request), parameters, arguments)

HOOK_MPI_BLOCKING_FLOWS(BLOCKING)
HOOK_MPI_POSTED_FLOWS(POSTED)

static bool closed;

/*
 * No rank has received more from another than that has sent: where the sums are equal, everything
 * has come everywhere. To ask so takes a few messages; who misses what takes one to each rank.
 */
bool stamp_close(void)
{
	uint32_t mine = 0, missing = 1;
	bool all = true;

	closed = true;
	stamp_visit_orphans();
	stamp_type_free_all();
	for (uint32_t i = 0; i < stamp_clock.ranks; i++)
		mine += stamp_clock.peer[i].sent - stamp_clock.peer[i].received;
	if (add_up(mine, &missing) != MPI_SUCCESS)
		return false;
	if (!missing)
		return true;
	if (!stamp_exchange_counts())
		return false;
	for (uint32_t i = 0; i < stamp_clock.ranks; i++)
		all = all && stamp_counts[i] == stamp_clock.peer[i].received;
	return all;
}

/* A rank whose recording has stopped does not close: the others wait for its part in that. */
static int stamp_Finalize(void)
{
	if (!closed)
		stamp_close();
	return stamp_below.Finalize();
}

#define INSTALL(name, flow, large, parameters, arguments) mpi->name = stamp_##name;

void stamp_install_collectives(struct hook_mpi_calls *mpi)
{
	HOOK_MPI_BLOCKING_FLOWS(INSTALL)
	HOOK_MPI_POSTED_FLOWS(INSTALL)
	mpi->Finalize = stamp_Finalize;
}
