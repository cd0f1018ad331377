/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators: a number in this process, a name that all members know, and the ranks of their
 * peers in MPI_COMM_WORLD. Names are computed, not agreed upon. All members of a parent call its
 * constructors in the same order: a name is made of the parent's, the count of such calls, and the
 * members. If only the members call (Comm_create_group, Intercomm_create), it is made of the
 * members, the tag, and the count of calls with both. A communicator that was made unseen by us
 * gets its name from its members and the count of earlier such ones with the same members.
 */
#include <string.h>
#include <sys/mman.h>

#include "hook/kit/random.h"
#include "hook/mpi/evaluate/evaluate.h"

/* Groups are kept for good and only once: requests refer to them. By the hash of their ranks. */
struct evaluate_group {
	struct hook_entry entry;
	int size;
	bool same; /* rank i is i in MPI_COMM_WORLD */
	int *rank; /* there */
};

/* How often something was made. */
struct count {
	struct hook_entry entry;
	uint64_t n;
};

static struct hook_table comms = {.bytes = sizeof(struct evaluate_comm),
				  .clear = sizeof(struct evaluate_comm)};
static struct hook_table counts = {.bytes = sizeof(struct count), .clear = sizeof(struct count)};
static struct hook_table groups = {.bytes = sizeof(struct evaluate_group),
				   .clear = sizeof(struct evaluate_group)};
static MPI_Group world_group;
static uint32_t numbers;
static struct hook_lock locked;

static uint64_t mix(uint64_t a, uint64_t b)
{
	a = (hook_random_spread(a) + b) * 0xd6e8feb86659fd93ull;
	a ^= a >> 32;
	a *= 0xd6e8feb86659fd93ull;
	return a ^ a >> 32;
}

static uint64_t hash_ranks(const int rank[], int size)
{
	uint64_t h = (uint64_t)size;

	for (int i = 0; i < size; i++)
		h = mix(h, (uint64_t)(uint32_t)rank[i] + 1);
	return h;
}

/* Takes the handle of the group. */
static const struct evaluate_group *group_of(MPI_Group handle)
{
	struct evaluate_group *g;
	int size = 0, *rank;
	size_t bytes;
	uint64_t hash;

	hook_mpi_top.Group_size(handle, &size);
	bytes = (size_t)(2 * size + 1) * sizeof(int);
	rank = evaluate_memory(bytes); /* behind them room for those in the group itself */
	for (int i = 0; i < size; i++)
		rank[size + i] = i;
	hook_mpi_top.Group_translate_ranks(handle, size, rank + size, world_group, rank);
	hook_mpi_top.Group_free(&handle);
	hash = hash_ranks(rank, size);
	g = hook_table_find(&groups, hash);
	if (g && g->size == size && memcmp(g->rank, rank, (size_t)size * sizeof(int)) == 0) {
		munmap(rank, bytes);
		return g;
	}
	g = hook_mpi_entry(&groups, hash, "events");
	g->size = size;
	g->same = memcmp(rank, rank + size, (size_t)size * sizeof(int)) == 0;
	g->rank = rank;
	return g;
}

static int lowest(const struct evaluate_group *g)
{
	int low = INT_MAX;

	for (int i = 0; i < g->size; i++) {
		if (g->rank[i] >= 0 && g->rank[i] < low)
			low = g->rank[i];
	}
	return low;
}

/* All that MPI says about it. */
static void ask(struct evaluate_comm *c)
{
	MPI_Group group;
	int inter = 0;

	hook_mpi_top.Comm_rank(c->handle, &c->rank);
	hook_mpi_top.Comm_group(c->handle, &group);
	c->local = c->peers = group_of(group);
	c->size = c->local->size;
	c->remote = 0;
	c->second = false;
	hook_mpi_top.Comm_test_inter(c->handle, &inter);
	if (!inter)
		return;
	hook_mpi_top.Comm_remote_group(c->handle, &group);
	c->peers = group_of(group);
	c->remote = c->peers->size;
	c->second = lowest(c->peers) < lowest(c->local);
}

/* The same on both sides. */
static uint64_t members(const struct evaluate_comm *c)
{
	if (!c->remote)
		return c->local->entry.key;
	return c->second ? mix(c->peers->entry.key, c->local->entry.key)
			 : mix(c->local->entry.key, c->peers->entry.key);
}

/* How often this was called with the same number, this time included. */
static uint64_t count(uint64_t of)
{
	struct count *c = hook_table_find(&counts, of);

	if (!c)
		c = hook_mpi_entry(&counts, of, "events");
	return ++c->n;
}

static struct evaluate_comm *find(MPI_Comm handle)
{
	return hook_table_find(&comms, (uint64_t)(uintptr_t)handle);
}

static void forget(MPI_Comm handle)
{
	struct evaluate_comm *c = find(handle);

	if (!c)
		return;
	hook_table_remove(&comms, c);
	hook_table_free(&comms, c);
}

static struct evaluate_comm *add(MPI_Comm handle)
{
	struct evaluate_comm *c;

	forget(handle); /* it was freed behind our back */
	c = hook_mpi_entry(&comms, (uint64_t)(uintptr_t)handle, "events");
	c->handle = handle;
	c->number = ++numbers;
	return c;
}

static struct evaluate_comm *add_known(MPI_Comm handle)
{
	struct evaluate_comm *c = add(handle);

	ask(c);
	return c;
}

static void put_neighbour(struct evaluate *e, const struct evaluate_comm *c, int rank)
{
	struct trace_event event = evaluate_event(e, TRACE_EVENT_NEIGHBOUR, c->number, 0);

	event.peer = evaluate_peer(c->peers, rank);
	if (event.peer != TRACE_NO_PEER)
		evaluate_put(e, &event);
}

static void put_listed(struct evaluate *e, const struct evaluate_comm *c, bool distributed)
{
	int n = 0, out = 0, weighted;
	size_t bytes;
	int *list;

	if (distributed)
		hook_mpi_top.Dist_graph_neighbors_count(c->handle, &n, &out, &weighted);
	else
		hook_mpi_top.Graph_neighbors_count(c->handle, c->rank, &n);
	bytes = (size_t)(2 * (n + out) + 1) * sizeof(int);
	list = evaluate_memory(bytes);
	if (distributed)
		hook_mpi_top.Dist_graph_neighbors(c->handle, n, list, list + n, out, list + 2 * n,
						  list + 2 * n + out);
	else
		hook_mpi_top.Graph_neighbors(c->handle, c->rank, n, list);
	for (int i = 0; i < n; i++)
		put_neighbour(e, c, list[i]);
	munmap(list, bytes);
}

static void put_neighbours(struct evaluate *e, const struct evaluate_comm *c)
{
	int kind = MPI_UNDEFINED, dimensions = 0;

	if (c->remote)
		return;
	hook_mpi_top.Topo_test(c->handle, &kind);
	if (kind == MPI_GRAPH || kind == MPI_DIST_GRAPH)
		put_listed(e, c, kind == MPI_DIST_GRAPH);
	if (kind != MPI_CART)
		return;
	hook_mpi_top.Cartdim_get(c->handle, &dimensions);
	for (int i = 0; i < dimensions; i++) {
		int before = MPI_PROC_NULL, after = MPI_PROC_NULL;

		hook_mpi_top.Cart_shift(c->handle, i, 1, &before, &after);
		put_neighbour(e, c, before);
		put_neighbour(e, c, after);
	}
}

static void put_comm(struct evaluate *e, const struct evaluate_comm *c)
{
	struct trace_event event = evaluate_event(e, TRACE_EVENT_COMM, c->number, c->name);

	event.bytes = (uint64_t)c->size;
	event.want_peer = c->remote;
	event.peer = c->rank;
	event.want_tag = c->second;
	evaluate_put(e, &event);
}

/* It has got its name: its event, and those of its neighbours. */
static void introduce(struct evaluate *e, struct evaluate_comm *c, uint64_t name)
{
	c->name = name;
	put_comm(e, c);
	put_neighbours(e, c);
}

static const struct evaluate_comm *find_or_name(struct evaluate *e, MPI_Comm handle)
{
	struct evaluate_comm *c = find(handle);
	uint64_t base;

	if (c)
		return c;
	c = add_known(handle);
	base = mix(3, members(c));
	introduce(e, c, mix(base, count(base)));
	return c;
}

const struct evaluate_comm *evaluate_comm(struct evaluate *e, MPI_Comm handle, bool valid)
{
	const struct evaluate_comm *c;

	hook_mpi_lock(&locked);
	c = valid && handle != MPI_COMM_NULL ? find_or_name(e, handle) : find(handle);
	hook_mpi_unlock(&locked);
	return c;
}

void evaluate_comms_open(struct evaluate *e)
{
	hook_mpi_top.Comm_group(MPI_COMM_WORLD, &world_group);
	introduce(e, add_known(MPI_COMM_WORLD), mix(1, 0));
	introduce(e, add_known(MPI_COMM_SELF), mix(2, hook_process.rank));
}

void evaluate_comm_created(struct evaluate *e, MPI_Comm parent, MPI_Comm created)
{
	const struct evaluate_comm *p;
	struct evaluate_comm *c;
	uint64_t base;

	hook_mpi_lock(&locked);
	p = find_or_name(e, parent);
	base = mix(4, p->name);
	base = mix(base, count(base));
	if (created != MPI_COMM_NULL) {
		c = add_known(created);
		introduce(e, c, mix(base, members(c)));
	}
	hook_mpi_unlock(&locked);
}

void evaluate_comm_created_by_group(struct evaluate *e, int tag, MPI_Comm created)
{
	struct evaluate_comm *c;
	uint64_t base;

	if (created == MPI_COMM_NULL)
		return;
	hook_mpi_lock(&locked);
	c = add_known(created);
	base = mix(mix(5, members(c)), (uint64_t)(uint32_t)tag);
	introduce(e, c, mix(base, count(base)));
	hook_mpi_unlock(&locked);
}

void evaluate_comm_copied(struct evaluate *e, MPI_Comm parent, MPI_Comm created)
{
	const struct evaluate_comm *p;
	struct evaluate_comm *c, copy;
	uint64_t base;

	hook_mpi_lock(&locked);
	p = find_or_name(e, parent);
	base = mix(4, p->name);
	copy = *p;
	copy.name = mix(mix(base, count(base)), members(p));
	c = add(created);
	copy.entry = c->entry;
	copy.handle = c->handle;
	copy.number = c->number;
	*c = copy;
	put_comm(e, c);
	hook_mpi_unlock(&locked);
}

void evaluate_comm_freed(MPI_Comm handle)
{
	hook_mpi_lock(&locked);
	forget(handle);
	hook_mpi_unlock(&locked);
}

int32_t evaluate_peer(const struct evaluate_group *peers, int rank)
{
	if (rank == MPI_ANY_SOURCE)
		return TRACE_ANY;
	if (rank == MPI_ROOT)
		return (int32_t)hook_process.rank;
	if (!peers || rank < 0 || rank >= peers->size)
		return TRACE_NO_PEER;
	if (peers->same)
		return rank;
	return peers->rank[rank] >= 0 ? peers->rank[rank] : TRACE_NO_PEER;
}
