/* SPDX-License-Identifier: Apache-2.0 */
/* The logging layer: collective operations. */
#include "hook/mpi/log/collective.h"

struct hook_team hook_team_of(MPI_Comm comm)
{
	struct hook_team team = {0};
	int inter = 0;

	hook_mpi_top.Comm_test_inter(comm, &inter);
	hook_mpi_top.Comm_rank(comm, &team.rank);
	team.inter = inter;
	if (inter)
		hook_mpi_top.Comm_remote_size(comm, &team.from);
	else
		hook_mpi_top.Comm_size(comm, &team.from);
	return team;
}

struct hook_team hook_team_of_neighbours(MPI_Comm comm)
{
	struct hook_team team = {0};
	int kind = MPI_UNDEFINED, out, weighted;

	hook_mpi_top.Comm_rank(comm, &team.rank);
	hook_mpi_top.Topo_test(comm, &kind);
	if (kind == MPI_CART) {
		hook_mpi_top.Cartdim_get(comm, &team.from);
		team.from *= 2;
	} else if (kind == MPI_GRAPH) {
		hook_mpi_top.Graph_neighbors_count(comm, team.rank, &team.from);
	} else if (kind == MPI_DIST_GRAPH) {
		hook_mpi_top.Dist_graph_neighbors_count(comm, &team.from, &out, &weighted);
	}
	return team;
}

void hook_gives_one(struct hook_result *r, void *buf, MPI_Count count, MPI_Datatype type)
{
	r->blocks = 1;
	r->one = (struct hook_block){buf, count, type};
}

void hook_gives_many(struct hook_result *r, int n, void *buf, const void *counts,
		     const void *displacements, MPI_Datatype type)
{
	r->blocks = n;
	r->one = (struct hook_block){buf, 0, type};
	r->counts = counts;
	r->displacements = displacements;
}

void hook_gives_types(struct hook_result *r, int n, void *buf, const void *counts,
		      const void *displacements, const MPI_Datatype *types)
{
	hook_gives_many(r, n, buf, counts, displacements, MPI_DATATYPE_NULL);
	r->bytes = true;
	r->types = types;
}

MPI_Count hook_gives_count(const struct hook_result *r, const void *counts, int i)
{
	return r->wide ? ((const MPI_Count *)counts)[i] : ((const int *)counts)[i];
}

/*
 * One that has completed at once may have a handle that stands for others, too: the program gets
 * one that is its own.
 */
static void make_own(MPI_Request *request)
{
	int done = 0;

	hook_mpi_real.Request_get_status(*request, &done, MPI_STATUS_IGNORE);
	if (!done)
		return;
	hook_mpi_real.Wait(request, MPI_STATUS_IGNORE);
	hook_stand_in(request);
	hook_mpi_real.Grequest_complete(*request);
}

static void given(struct hook_log *log, struct hook_result *r)
{
	hook_result_write(log, r);
	hook_orphans_look(log);
}

static void given_later(struct hook_log *log, struct hook_result *r, MPI_Comm comm,
			MPI_Request *request, uint32_t flags)
{
	(void)log;
	if (!r->blocks)
		return;
	if (!(flags & HOOK_WANT_PERSISTENT))
		make_own(request);
	hook_want_result(*request, flags, r, comm);
}

#define COLLECTIVE(name, what, large, parameters, arguments, gives, end)                           \
	HOOK_LOG_CALL(                                                                             \
		name, parameters, arguments, if (gives) {                                          \
			struct hook_result r = {.wide = large, .one.type = MPI_DATATYPE_NULL};     \
                                                                                                   \
			GIVES_##what;                                                              \
			end;                                                                       \
		})
/* More than fits was sent: that gives something, too. */
#define BLOCKING(name, what, large, parameters, arguments)                                         \
	COLLECTIVE(name, what, large, parameters, arguments,                                       \
		   rc == MPI_SUCCESS || hook_mpi_class(rc) == MPI_ERR_TRUNCATE, given(log, &r))
#define POSTED(name, what, large, parameters, arguments)                                           \
	COLLECTIVE(name, what, large, parameters, arguments, rc == MPI_SUCCESS,                    \
		   given_later(log, &r, comm, request, HOOK_WANT_ACTIVE))
#define PREPARED(name, what, large, parameters, arguments)                                         \
	COLLECTIVE(name, what, large, parameters, arguments, rc == MPI_SUCCESS,                    \
		   given_later(log, &r, comm, request, HOOK_WANT_PERSISTENT))

HOOK_MPI_BLOCKING_GIVES(BLOCKING)
HOOK_MPI_POSTED_GIVES(POSTED)
HOOK_MPI_PREPARED_GIVES(PREPARED)

#define INSTALL(name, what, large, parameters, arguments) mpi->name = log_##name;

void hook_log_collectives(struct hook_mpi_calls *mpi)
{
	HOOK_MPI_BLOCKING_GIVES(INSTALL)
	HOOK_MPI_POSTED_GIVES(INSTALL)
	HOOK_MPI_PREPARED_GIVES(INSTALL)
}
