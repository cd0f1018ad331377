/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each collective operation gives this rank, from its parameters, as statements that fill a
 * struct hook_result `r`. Both layers use it after the call is known to be right: parameters that
 * MPI has refused are not looked at.
 */
#ifndef HOOK_MPI_LOG_COLLECTIVE_H
#define HOOK_MPI_LOG_COLLECTIVE_H

#include "hook/mpi/log/log.h"

/* Those who take part, as this rank sees them. */
struct hook_team {
	bool inter;
	int rank;
	int from; /* how many ranks give something where all do */
};

struct hook_team hook_team_of(MPI_Comm comm);
/* The same where neighbours do. */
struct hook_team hook_team_of_neighbours(MPI_Comm comm);

void hook_gives_one(struct hook_result *r, void *buf, MPI_Count count, MPI_Datatype type);
void hook_gives_many(struct hook_result *r, int n, void *buf, const void *counts,
		     const void *displacements, MPI_Datatype type);
void hook_gives_types(struct hook_result *r, int n, void *buf, const void *counts,
		      const void *displacements, const MPI_Datatype *types);
MPI_Count hook_gives_count(const struct hook_result *r, const void *counts, int i);

#define GIVES_TEAM struct hook_team team = hook_team_of(comm)
#define GIVES_NEAR struct hook_team team = hook_team_of_neighbours(comm)
#define FROM_ROOT (team.inter ? root >= 0 : team.rank != root)
#define TO_ROOT (team.inter ? root == MPI_ROOT : team.rank == root)
#define TO_EACH ((!team.inter || root >= 0) && recvbuf != MPI_IN_PLACE)
/* From each of the team as much, so much, or of such types. */
#define ALIKE hook_gives_one(&r, recvbuf, (MPI_Count)recvcount *team.from, recvtype)
#define COUNTED(places) hook_gives_many(&r, team.from, recvbuf, recvcounts, places, recvtype)
#define TYPED hook_gives_types(&r, team.from, recvbuf, recvcounts, rdispls, recvtypes)
#define REDUCED hook_gives_one(&r, recvbuf, count, datatype)

#define GIVES_Barrier (void)0
#define GIVES_Bcast                                                                                \
	GIVES_TEAM;                                                                                \
	if (FROM_ROOT)                                                                             \
	hook_gives_one(&r, buffer, count, datatype)
#define GIVES_Gather                                                                               \
	GIVES_TEAM;                                                                                \
	if (TO_ROOT)                                                                               \
	ALIKE
#define GIVES_Gatherv                                                                              \
	GIVES_TEAM;                                                                                \
	if (TO_ROOT)                                                                               \
	COUNTED(displs)
#define GIVES_Scatter                                                                              \
	GIVES_TEAM;                                                                                \
	if (TO_EACH)                                                                               \
	hook_gives_one(&r, recvbuf, recvcount, recvtype)
#define GIVES_Scatterv GIVES_Scatter
#define GIVES_Allgather                                                                            \
	GIVES_TEAM;                                                                                \
	ALIKE
#define GIVES_Allgatherv                                                                           \
	GIVES_TEAM;                                                                                \
	COUNTED(displs)
#define GIVES_Alltoall GIVES_Allgather
#define GIVES_Alltoallv                                                                            \
	GIVES_TEAM;                                                                                \
	COUNTED(rdispls)
#define GIVES_Alltoallw                                                                            \
	GIVES_TEAM;                                                                                \
	TYPED
#define GIVES_Allreduce REDUCED
#define GIVES_Scan REDUCED
#define GIVES_Reduce                                                                               \
	GIVES_TEAM;                                                                                \
	if (TO_ROOT)                                                                               \
	REDUCED
#define GIVES_Exscan                                                                               \
	GIVES_TEAM;                                                                                \
	if (team.rank > 0)                                                                         \
	REDUCED
#define GIVES_Reduce_scatter                                                                       \
	GIVES_TEAM;                                                                                \
	hook_gives_one(&r, recvbuf, hook_gives_count(&r, recvcounts, team.rank), datatype)
#define GIVES_Reduce_scatter_block hook_gives_one(&r, recvbuf, recvcount, datatype)
#define GIVES_Neighbor_allgather                                                                   \
	GIVES_NEAR;                                                                                \
	ALIKE
#define GIVES_Neighbor_allgatherv                                                                  \
	GIVES_NEAR;                                                                                \
	COUNTED(displs)
#define GIVES_Neighbor_alltoall GIVES_Neighbor_allgather
#define GIVES_Neighbor_alltoallv                                                                   \
	GIVES_NEAR;                                                                                \
	COUNTED(rdispls)
#define GIVES_Neighbor_alltoallw                                                                   \
	GIVES_NEAR;                                                                                \
	r.aints = true;                                                                            \
	TYPED

#endif
