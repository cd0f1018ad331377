/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The logging layer: communicators that come up, with their members and topology; and calls that a
 * rank alone is not served with, which end its log. What is a copy of another one needs no record.
 */
#include <string.h>

#include "hook/mpi/log/log.h"

#define SCRATCH 6
#define HEAD 4 /* size, rank, remote, topology */

static MPI_Group world;

/* Room for n more numbers behind `used`; what is there stays. */
static int32_t *room_for(int used, int n)
{
	size_t bytes = ((size_t)used + (size_t)n) * sizeof(int32_t);
	int32_t *old = hook_self->mpi.scratch[SCRATCH], *p = old;

	if (bytes > hook_self->mpi.scratch_size[SCRATCH]) {
		size_t keep = (size_t)used * sizeof(int32_t);
		void *copy = hook_mpi_scratch(hook_self, SCRATCH + 1, keep + 1);

		if (copy && keep)
			memcpy(copy, old, keep);
		p = copy ? hook_mpi_scratch(hook_self, SCRATCH, bytes) : NULL;
		if (p && keep)
			memcpy(p, copy, keep);
	}
	if (!p)
		hook_failed(hook_self, "out of memory for the log");
	return p;
}

/* The members of a group, as ranks of MPI_COMM_WORLD; how many there are. */
static int add_group(MPI_Group group, int *used)
{
	int32_t *numbers;
	int n = 0;

	hook_mpi_real.Group_size(group, &n);
	numbers = room_for(*used, 2 * n);
	for (int i = 0; i < n; i++)
		numbers[*used + n + i] = i;
	hook_mpi_real.Group_translate_ranks(group, n, numbers + *used + n, world, numbers + *used);
	for (int i = 0; i < n; i++) {
		if (numbers[*used + i] < 0)
			hook_log_refuse("a communicator with ranks that are not of this run");
	}
	hook_mpi_real.Group_free(&group);
	*used += n;
	return n;
}

static int add_cart(MPI_Comm comm, int used)
{
	int32_t *p;
	int n = 0;

	hook_mpi_real.Cartdim_get(comm, &n);
	p = room_for(used, 1 + 3 * n) + used;
	p[0] = n;
	hook_mpi_real.Cart_get(comm, n, p + 1, p + 1 + n, p + 1 + 2 * n);
	return used + 1 + 3 * n;
}

static int add_graph(MPI_Comm comm, int used)
{
	int nodes = 0, edges = 0;
	int32_t *p;

	hook_mpi_real.Graphdims_get(comm, &nodes, &edges);
	p = room_for(used, 2 + nodes + edges) + used;
	p[0] = nodes;
	p[1] = edges;
	hook_mpi_real.Graph_get(comm, nodes, edges, p + 2, p + 2 + nodes);
	return used + 2 + nodes + edges;
}

static int add_neighbours(MPI_Comm comm, int used)
{
	int in = 0, out = 0, weighted = 0;
	int32_t *p;

	hook_mpi_real.Dist_graph_neighbors_count(comm, &in, &out, &weighted);
	p = room_for(used, 3 + 2 * (in + out)) + used;
	memset(p, 0, (size_t)(3 + 2 * (in + out)) * sizeof(*p));
	p[0] = in;
	p[1] = out;
	p[2] = weighted;
	hook_mpi_real.Dist_graph_neighbors(comm, in, p + 3, p + 3 + in, out, p + 3 + 2 * in,
					   p + 3 + 2 * in + out);
	return used + 3 + 2 * (in + out);
}

static int add_topology(MPI_Comm comm, int used)
{
	int kind = MPI_UNDEFINED;
	int32_t *p = room_for(used, 0);

	hook_mpi_real.Topo_test(comm, &kind);
	p[3] = kind;
	if (kind == MPI_CART)
		return add_cart(comm, used);
	if (kind == MPI_GRAPH)
		return add_graph(comm, used);
	if (kind == MPI_DIST_GRAPH)
		return add_neighbours(comm, used);
	return used;
}

static void made(struct hook_log *log, MPI_Comm comm)
{
	struct trace_log_rec rec = {.kind = TRACE_LOG_COMM};
	int used = HEAD, inter = 0, size, rank = 0, remote = 0;
	MPI_Group group;
	int32_t *p;

	if (comm == MPI_COMM_NULL) {
		hook_log_put(log, &rec);
		return;
	}
	room_for(0, HEAD);
	hook_mpi_real.Comm_rank(comm, &rank);
	hook_mpi_real.Comm_group(comm, &group);
	size = add_group(group, &used);
	hook_mpi_real.Comm_test_inter(comm, &inter);
	if (inter) {
		hook_mpi_real.Comm_remote_group(comm, &group);
		remote = add_group(group, &used);
	}
	p = room_for(used, 0);
	p[0] = size;
	p[1] = rank;
	p[2] = remote;
	p[3] = MPI_UNDEFINED;
	if (!inter)
		used = add_topology(comm, used);
	p = room_for(used, 0);
	rec.bytes = (uint64_t)used * sizeof(*p);
	if (hook_log_refused)
		return;
	hook_log_put(log, &rec);
	hook_log_contents(log, p, rec.bytes);
}

#define MAKES(name, parent, created, parameters, arguments)                                        \
	HOOK_LOG_CALL(name, parameters, arguments, if (rc == MPI_SUCCESS) made(log, *created))
#define COPIES(name, parent, created, parameters, arguments)                                       \
	HOOK_LOG_CALL(name, parameters, arguments, )
#define TOGETHER(name, parameters, arguments)                                                      \
	static int log_##name parameters                                                           \
	{                                                                                          \
		if (hook_log_self())                                                               \
			hook_log_refuse("MPI_" #name);                                             \
		return hook_log_below.name arguments;                                              \
	}

HOOK_MPI_MAKES(MAKES)
HOOK_MPI_COPIES(COPIES)
HOOK_MPI_COPIES_POSTED(COPIES)
HOOK_MPI_TOGETHER(TOGETHER)

/* Where ranks would best be is asked of MPI, which knows where they are. */
static int told(int rc, int *newrank)
{
	struct trace_log_rec rec = {.kind = TRACE_LOG_NUMBERS, .bytes = sizeof(*newrank)};
	struct hook_log *log = hook_log_self();

	if (!log)
		return rc;
	hook_log_error(log, rc);
	if (rc != MPI_SUCCESS)
		return rc;
	hook_log_put(log, &rec);
	hook_log_contents(log, newrank, sizeof(*newrank));
	return rc;
}

static int log_Cart_map(MPI_Comm comm, int ndims, const int dims[], const int periods[],
			int *newrank)
{
	return told(hook_log_below.Cart_map(comm, ndims, dims, periods, newrank), newrank);
}

static int log_Graph_map(MPI_Comm comm, int nnodes, const int index[], const int edges[],
			 int *newrank)
{
	return told(hook_log_below.Graph_map(comm, nnodes, index, edges, newrank), newrank);
}

#define INSTALL(name, parent, created, parameters, arguments) mpi->name = log_##name;
#define INSTALL_TOGETHER(name, parameters, arguments) mpi->name = log_##name;

void hook_log_comms(struct hook_mpi_calls *mpi)
{
	hook_mpi_real.Comm_group(MPI_COMM_WORLD, &world);
	HOOK_MPI_MAKES(INSTALL)
	HOOK_MPI_COPIES(INSTALL)
	HOOK_MPI_COPIES_POSTED(INSTALL)
	HOOK_MPI_TOGETHER(INSTALL_TOGETHER)
	mpi->Cart_map = log_Cart_map;
	mpi->Graph_map = log_Graph_map;
}
