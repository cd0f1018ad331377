/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of communicators besides MPI_COMM_WORLD, by handle. An attribute tells when one is
 * freed, by any call. MPI keeps it as long as something is to be received there, and does not reuse
 * its handle before. So what we know of it is kept until the handle comes anew. Clocks ride only if
 * all members, of both groups of an intercommunicator, are in our MPI_COMM_WORLD; all of them come
 * to the same answer.
 */
#include <string.h>
#include <sys/mman.h>

#include "hook/kit/pages.h"
#include "hook/kit/random.h"
#include "hook/mpi/stamp/stamp.h"

#define TABLE 1024 /* communicators known at a time; a slot is simply taken over */

struct known {
	MPI_Comm comm; /* valid if size is not 0 */
	int size;      /* of the peers' group */
	int rank;      /* ours, there */
	bool inter, rides, freed;
	int *world; /* ranks in MPI_COMM_WORLD; NULL: not yet */
	size_t bytes;
};

static struct known table[TABLE];
static int keyval;
static bool has_keyval;

static struct known *slot_of(MPI_Comm comm)
{
	return &table[hook_random_spread((uintptr_t)comm) >> 54];
}

static void forget(struct known *k)
{
	if (k->world)
		munmap(k->world, k->bytes);
	memset(k, 0, sizeof(*k));
}

static int not_copied(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
	(void)comm, (void)key, (void)extra, (void)in, (void)out;
	*flag = 0;
	return MPI_SUCCESS;
}

static int freed(MPI_Comm comm, int key, void *value, void *extra)
{
	struct known *k = slot_of(comm);

	(void)key, (void)value, (void)extra;
	if (k->size && k->comm == comm)
		k->freed = true;
	return MPI_SUCCESS;
}

/* The ranks in MPI_COMM_WORLD of a group, behind them room for its own; NULL if memory is out. */
static int *translate(MPI_Group group, int size, size_t *bytes)
{
	MPI_Group world;
	int *ranks;

	*bytes = (size_t)size * 2 * sizeof(int);
	ranks = hook_pages(*bytes);
	if (!ranks)
		return NULL;
	for (int i = 0; i < size; i++)
		ranks[size + i] = i;
	stamp_below.Comm_group(MPI_COMM_WORLD, &world);
	stamp_below.Group_translate_ranks(group, size, ranks + size, world, ranks);
	stamp_below.Group_free(&world);
	return ranks;
}

static bool all_in_world(const int *world, int size)
{
	for (int i = 0; i < size; i++) {
		if (world[i] < 0)
			return false;
	}
	return true;
}

static bool learn_peers(struct known *k, MPI_Group peers)
{
	stamp_below.Group_size(peers, &k->size);
	if (k->size == 0) {
		k->size = 1;
	} else {
		k->world = translate(peers, k->size, &k->bytes);
		if (!k->world)
			stamp_flow_give_up(); /* others know who is in it */
	}
	stamp_below.Group_free(&peers);
	return k->world && all_in_world(k->world, k->size);
}

/* Of an intercommunicator: our own group may mix launches where the other does not. */
static bool locals_in_world(MPI_Comm comm)
{
	struct known locals = {0};
	MPI_Group group;
	bool all;

	all = stamp_below.Comm_group(comm, &group) == MPI_SUCCESS && learn_peers(&locals, group);
	forget(&locals);
	return all;
}

/*
 * A communicator whose slot was another's in between has the attribute already. To set it again
 * calls freed(); so that comes first.
 */
static void learn(struct known *k, MPI_Comm comm)
{
	MPI_Group peers;
	int inter = 0, rc;

	if (!has_keyval)
		stamp_below.Comm_create_keyval(not_copied, freed, &keyval, NULL);
	has_keyval = true;
	stamp_below.Comm_set_attr(comm, keyval, NULL);
	k->comm = comm;
	stamp_below.Comm_rank(comm, &k->rank);
	stamp_below.Comm_test_inter(comm, &inter);
	k->inter = inter;
	/* Where that fails nothing else can be done with it either. */
	rc = inter ? stamp_below.Comm_remote_group(comm, &peers)
		   : stamp_below.Comm_group(comm, &peers);
	k->rides = rc == MPI_SUCCESS && learn_peers(k, peers) && (!inter || locals_in_world(comm));
}

static struct known *look_up(MPI_Comm comm)
{
	struct known *k = slot_of(comm);

	if (k->size && k->comm == comm && !k->freed)
		return k;
	forget(k);
	learn(k, comm);
	return k;
}

bool stamp_comm_looked_up_rides(MPI_Comm comm)
{
	return comm != MPI_COMM_NULL && look_up(comm)->rides;
}

int stamp_comm_looked_up_world(MPI_Comm comm, int rank)
{
	struct known *k;

	if (comm == MPI_COMM_NULL)
		return -1;
	k = look_up(comm);
	return k->rides && rank >= 0 && rank < k->size ? k->world[rank] : -1;
}

int stamp_comm_remembered_world(MPI_Comm comm, int rank)
{
	const struct known *k = slot_of(comm);

	if (!k->size || k->comm != comm || !k->rides || rank < 0 || rank >= k->size)
		return -1;
	return k->world[rank];
}

bool stamp_comm_team(MPI_Comm comm, struct stamp_team *team)
{
	const struct known *k;

	*team = (struct stamp_team){NULL, (int)stamp_clock.ranks, (int)stamp_clock.rank};
	if (comm == MPI_COMM_WORLD)
		return true;
	if (comm == MPI_COMM_NULL)
		return false;
	k = look_up(comm);
	*team = (struct stamp_team){k->world, k->size, k->rank};
	return k->rides && !k->inter;
}
