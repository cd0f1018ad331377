/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked about communicators that MPI does not know as the program does. Each question is
 * MPI's own where it knows.
 */
#include <string.h>

#include "hook/mpi/recover/recover.h"

static MPI_Group world;

#define ASK(name, parameters, arguments, answer)                                                   \
	static int recover_##name parameters                                                       \
	{                                                                                          \
		const struct recover_comm *c = recover_comm(comm);                                 \
                                                                                                   \
		if (!c)                                                                            \
			return hook_mpi_real.name arguments;                                       \
		answer;                                                                            \
		return MPI_SUCCESS;                                                                \
	}

/* What does not fit a communicator MPI refuses, by the same call for one without a topology. */
#define ASK_OF(wanted, name, parameters, arguments, answer)                                        \
	static int recover_##name parameters                                                       \
	{                                                                                          \
		const struct recover_comm *c = recover_comm(comm);                                 \
                                                                                                   \
		if (!c || c->kind != (wanted))                                                     \
			return hook_mpi_real.name arguments;                                       \
		const int32_t *topology = recover_topology(c);                                     \
                                                                                                   \
		answer;                                                                            \
		return MPI_SUCCESS;                                                                \
	}

ASK(Comm_rank, (MPI_Comm comm, int *rank), (comm, rank), *rank = c->rank)
ASK(Comm_size, (MPI_Comm comm, int *size), (comm, size), *size = c->size)
ASK(Comm_test_inter, (MPI_Comm comm, int *flag), (comm, flag), *flag = c->remote > 0)
ASK(Topo_test, (MPI_Comm comm, int *status), (comm, status), *status = c->kind)
ASK(Comm_group, (MPI_Comm comm, MPI_Group *group), (comm, group),
    hook_mpi_real.Group_incl(world, c->size, c->number, group))

static int recover_Comm_remote_size(MPI_Comm comm, int *size)
{
	const struct recover_comm *c = recover_comm(comm);

	if (!c || !c->remote)
		return hook_mpi_real.Comm_remote_size(comm, size);
	*size = c->remote;
	return MPI_SUCCESS;
}

static int recover_Comm_remote_group(MPI_Comm comm, MPI_Group *group)
{
	const struct recover_comm *c = recover_comm(comm);

	if (!c || !c->remote)
		return hook_mpi_real.Comm_remote_group(comm, group);
	return hook_mpi_real.Group_incl(world, c->remote, c->number + c->size, group);
}

static int compare_groups(MPI_Comm one, MPI_Comm other,
			  int (*group_of)(MPI_Comm comm, MPI_Group *group))
{
	int result = MPI_UNEQUAL;
	MPI_Group a, b;

	group_of(one, &a);
	group_of(other, &b);
	hook_mpi_real.Group_compare(a, b, &result);
	hook_mpi_real.Group_free(&a);
	hook_mpi_real.Group_free(&b);
	return result;
}

static int recover_Comm_compare(MPI_Comm one, MPI_Comm other, int *result)
{
	int inter = 0, inter_other = 0, remote;

	if (one == other || (!recover_comm(one) && !recover_comm(other)))
		return hook_mpi_real.Comm_compare(one, other, result);
	*result = MPI_UNEQUAL;
	recover_Comm_test_inter(one, &inter);
	recover_Comm_test_inter(other, &inter_other);
	if (inter != inter_other)
		return MPI_SUCCESS;
	*result = compare_groups(one, other, recover_Comm_group);
	if (inter && *result != MPI_UNEQUAL) {
		remote = compare_groups(one, other, recover_Comm_remote_group);
		if (remote != MPI_IDENT)
			*result = remote;
	}
	if (*result == MPI_IDENT)
		*result = MPI_CONGRUENT;
	return MPI_SUCCESS;
}

static void copy(int to[], const int32_t from[], int n, int room)
{
	n = n < room ? n : room;
	if (n > 0)
		memcpy(to, from, (size_t)n * sizeof(*to));
}

/* A grid: how many dimensions, then sizes, periods, and where this rank is. */

ASK_OF(MPI_CART, Cartdim_get, (MPI_Comm comm, int *ndims), (comm, ndims), *ndims = topology[0])
ASK_OF(MPI_CART, Cart_get, (MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[]),
       (comm, maxdims, dims, periods, coords), copy(dims, topology + 1, topology[0], maxdims);
       copy(periods, topology + 1 + topology[0], topology[0], maxdims);
       copy(coords, topology + 1 + 2 * topology[0], topology[0], maxdims))

/* False if it is outside, in a dimension that is no ring. */
static bool grid_rank(const int32_t *topology, const int coords[], int *rank)
{
	int n = topology[0];

	*rank = 0;
	for (int i = 0; i < n; i++) {
		int size = topology[1 + i], at = coords[i];

		if ((at < 0 || at >= size) && !topology[1 + n + i])
			return false;
		at %= size;
		*rank = *rank * size + (at < 0 ? at + size : at);
	}
	return true;
}

static void grid_place(const int32_t *topology, int rank, int coords[], int room)
{
	int n = topology[0];

	for (int i = n - 1; i >= 0; i--) {
		if (i < room)
			coords[i] = rank % topology[1 + i];
		rank /= topology[1 + i];
	}
}

static int wrong(MPI_Comm comm, int class)
{
	hook_mpi_real.Comm_call_errhandler(comm, class);
	return class;
}

#ifdef HOOK_FLAVOUR_OPENMPI
#define NO_DIRECTION MPI_ERR_DIMS
#else
#define NO_DIRECTION MPI_ERR_ARG
#endif

static bool is_member(const struct recover_comm *c, int rank)
{
	return rank >= 0 && rank < c->size;
}

/* MPICH wants room for all dimensions. */
static bool is_room(const int32_t *topology, int room)
{
#ifdef HOOK_FLAVOUR_OPENMPI
	(void)topology;
	return room >= 0;
#else
	return room >= topology[0];
#endif
}

ASK_OF(MPI_CART, Cart_rank, (MPI_Comm comm, const int coords[], int *rank), (comm, coords, rank),
       if (!grid_rank(topology, coords, rank)) return wrong(comm, MPI_ERR_ARG))
ASK_OF(MPI_CART, Cart_coords, (MPI_Comm comm, int rank, int maxdims, int coords[]),
       (comm, rank, maxdims, coords), if (!is_member(c, rank)) return wrong(comm, MPI_ERR_RANK);
       if (!is_room(topology, maxdims)) return wrong(comm, MPI_ERR_ARG);
       grid_place(topology, rank, coords, maxdims))

static int beside(const int32_t *topology, int direction, int disp)
{
	int n = topology[0], size = topology[1 + direction];
	int at = topology[1 + 2 * n + direction] + disp;

	if ((at < 0 || at >= size) && !topology[1 + n + direction])
		return MPI_PROC_NULL;
	at %= size;
	return at < 0 ? at + size : at;
}

/* The rank of who is so far away in one dimension. */
static int neighbour(const int32_t *topology, int direction, int disp)
{
	int n = topology[0], rank = 0, there = beside(topology, direction, disp);

	if (there == MPI_PROC_NULL)
		return there;
	for (int i = 0; i < n; i++)
		rank = rank * topology[1 + i] + (i == direction ? there : topology[1 + 2 * n + i]);
	return rank;
}

ASK_OF(MPI_CART, Cart_shift,
       (MPI_Comm comm, int direction, int disp, int *rank_source, int *rank_dest),
       (comm, direction, disp, rank_source, rank_dest),
       if (direction < 0 || direction >= topology[0]) return wrong(comm, NO_DIRECTION);
       *rank_source = neighbour(topology, direction, -disp);
       *rank_dest = neighbour(topology, direction, disp))

/* A graph: nodes, edges, then where the neighbours of each node end, and neighbours. */

ASK_OF(MPI_GRAPH, Graphdims_get, (MPI_Comm comm, int *nnodes, int *nedges), (comm, nnodes, nedges),
       *nnodes = topology[0];
       *nedges = topology[1])
ASK_OF(MPI_GRAPH, Graph_get, (MPI_Comm comm, int maxindex, int maxedges, int indx[], int edges[]),
       (comm, maxindex, maxedges, indx, edges), copy(indx, topology + 2, topology[0], maxindex);
       copy(edges, topology + 2 + topology[0], topology[1], maxedges))

static int first_edge(const int32_t *topology, int rank)
{
	return rank > 0 ? topology[2 + rank - 1] : 0;
}

ASK_OF(MPI_GRAPH, Graph_neighbors_count, (MPI_Comm comm, int rank, int *nneighbors),
       (comm, rank, nneighbors), if (!is_member(c, rank)) return wrong(comm, MPI_ERR_RANK);
       *nneighbors = topology[2 + rank] - first_edge(topology, rank))
ASK_OF(MPI_GRAPH, Graph_neighbors, (MPI_Comm comm, int rank, int maxneighbors, int neighbors[]),
       (comm, rank, maxneighbors, neighbors),
       if (!is_member(c, rank)) return wrong(comm, MPI_ERR_RANK);
       if (maxneighbors < 0) return wrong(comm, MPI_ERR_ARG);
       copy(neighbors, topology + 2 + topology[0] + first_edge(topology, rank),
	    topology[2 + rank] - first_edge(topology, rank), maxneighbors))

/* Neighbours only: how many in, out, weighted; sources, their weights, destinations, theirs. */

ASK_OF(MPI_DIST_GRAPH, Dist_graph_neighbors_count,
       (MPI_Comm comm, int *indegree, int *outdegree, int *weighted),
       (comm, indegree, outdegree, weighted), *indegree = topology[0];
       *outdegree = topology[1]; *weighted = topology[2])

static void tell_neighbours(const int32_t *topology, int maxin, int sources[], int weights[],
			    int maxout, int destinations[], int out_weights[])
{
	int in = topology[0], out = topology[1];

	copy(sources, topology + 3, in, maxin);
	copy(destinations, topology + 3 + 2 * in, out, maxout);
	if (!topology[2])
		return;
	copy(weights, topology + 3 + in, in, maxin);
	copy(out_weights, topology + 3 + 2 * in + out, out, maxout);
}

ASK_OF(MPI_DIST_GRAPH, Dist_graph_neighbors,
       (MPI_Comm comm, int maxindegree, int sources[], int sourceweights[], int maxoutdegree,
	int destinations[], int destweights[]),
       (comm, maxindegree, sources, sourceweights, maxoutdegree, destinations, destweights),
       tell_neighbours(topology, maxindegree, sources, sourceweights, maxoutdegree, destinations,
		       destweights))

/* Where MPI was asked for the best places, it is told what it said. */
static int best_place(MPI_Comm comm, int *newrank)
{
	struct hook_log *log = recover_self();
	struct trace_log_rec rec;
	int rc;

	if (!log || recover_fails(log, comm, &rc))
		return log ? rc : MPI_ERR_INTERN;
	rec = hook_log_take(log, TRACE_LOG_NUMBERS);
	if (rec.bytes != sizeof(*newrank))
		hook_failed(hook_self, "the log makes no sense here");
	memcpy(newrank, rec.data, sizeof(*newrank));
	return rc;
}

static int recover_Cart_map(MPI_Comm comm, int ndims, const int dims[], const int periods[],
			    int *newrank)
{
	(void)ndims, (void)dims, (void)periods;
	return best_place(comm, newrank);
}

static int recover_Graph_map(MPI_Comm comm, int nnodes, const int index[], const int edges[],
			     int *newrank)
{
	(void)nnodes, (void)index, (void)edges;
	return best_place(comm, newrank);
}

void recover_install_topology(struct hook_mpi_calls *mpi)
{
	hook_mpi_real.Comm_group(MPI_COMM_WORLD, &world);
	mpi->Comm_rank = recover_Comm_rank;
	mpi->Comm_size = recover_Comm_size;
	mpi->Comm_group = recover_Comm_group;
	mpi->Comm_remote_size = recover_Comm_remote_size;
	mpi->Comm_remote_group = recover_Comm_remote_group;
	mpi->Comm_test_inter = recover_Comm_test_inter;
	mpi->Comm_compare = recover_Comm_compare;
	mpi->Topo_test = recover_Topo_test;
	mpi->Cartdim_get = recover_Cartdim_get;
	mpi->Cart_get = recover_Cart_get;
	mpi->Cart_rank = recover_Cart_rank;
	mpi->Cart_coords = recover_Cart_coords;
	mpi->Cart_shift = recover_Cart_shift;
	mpi->Cart_map = recover_Cart_map;
	mpi->Graph_map = recover_Graph_map;
	mpi->Graphdims_get = recover_Graphdims_get;
	mpi->Graph_get = recover_Graph_get;
	mpi->Graph_neighbors_count = recover_Graph_neighbors_count;
	mpi->Graph_neighbors = recover_Graph_neighbors;
	mpi->Dist_graph_neighbors_count = recover_Dist_graph_neighbors_count;
	mpi->Dist_graph_neighbors = recover_Dist_graph_neighbors;
}
