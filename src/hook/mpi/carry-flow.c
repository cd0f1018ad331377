/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ranks learn of each other by collective operations. Those in which every rank of the run
 * waits for all others are counted: who has n of them behind it knows what all had seen before
 * their n-th. For others each rank that gives something to another leaves its clock in the ledger
 * before the call, and the other takes it after its own; where clocks ride within messages they
 * are left out, which is safe. The n-th of a pair to end gets the n-th clock; see racing.md for why
 * that is never one that knows too much.
 *
 * Without being told how many messages there were, nothing could ever be forgotten because of a
 * rank that sends none: each TELL_EVERY-th that is counted tells that, too.
 */
#include "hook/mpi/carry.h"

#define TELL_EVERY 64
#define FLOW_TAG (-1) /* no message has it */

bool carry_flow_open(struct carry_flow *f, MPI_Comm comm)
{
	f->kind = CARRY_FLOW_NONE;
	return carry_comm_team(comm, &f->team);
}

static bool has_size(MPI_Datatype type)
{
	int size = 0;

	if (type == MPI_DATATYPE_NULL)
		return false;
	if (carry_type_plain_size(type))
		return true;
	carry_mpi.Type_size(type, &size);
	return size != 0; /* MPI_UNDEFINED: it is larger than an int */
}

bool carry_flow_moves(MPI_Count count, MPI_Datatype type)
{
	return count > 0 && has_size(type);
}

bool carry_flow_some(const struct carry_flow *f, const void *counts, int i)
{
	if (!counts)
		return false; /* MPI will complain */
	return f->wide ? ((const MPI_Count *)counts)[i] > 0 : ((const int *)counts)[i] > 0;
}

bool carry_flow_every(const struct carry_flow *f, const void *counts)
{
	for (int i = 0; i < f->team.size; i++) {
		if (!carry_flow_some(f, counts, i))
			return false;
	}
	return true;
}

static bool has(const struct carry_flow *f, const void *counts, const MPI_Datatype *types, int i)
{
	return (!counts || carry_flow_some(f, counts, i)) && (!types || has_size(types[i]));
}

/* Does it go from the first to the second, as far as their ranks say? */
static bool leads(const struct carry_flow *f, int from, int to)
{
	switch (f->kind) {
	case CARRY_FLOW_ALL:
		return from != to;
	case CARRY_FLOW_FROM_ROOT:
		return from != to && from == f->root;
	case CARRY_FLOW_TO_ROOT:
		return from != to && to == f->root;
	case CARRY_FLOW_UP:
		return from < to;
	case CARRY_FLOW_NONE:
		break;
	}
	return false;
}

static bool goes_to(const struct carry_flow *f, int i)
{
	return f->gives && leads(f, f->team.rank, i) && has(f, f->to, f->to_type, i);
}

static bool comes_from(const struct carry_flow *f, int i)
{
	return f->takes && leads(f, i, f->team.rank) && has(f, f->from, f->from_type, i);
}

static uint32_t world_of(const struct carry_flow *f, int i)
{
	return (uint32_t)(f->team.world ? f->team.world[i] : i);
}

static void tell(uint32_t dest)
{
	void *place = hook_ledger_place(dest);

	if (!place)
		return;
	hook_clock_tell(&carry_clock, dest, place);
	hook_ledger_wrote(dest, FLOW_TAG);
}

static void hear(uint32_t source)
{
	const void *clock = hook_ledger_take(source, FLOW_TAG);

	if (clock)
		hook_clock_hear(&carry_clock, clock);
}

void carry_flow_begin(struct carry_flow *f)
{
	if (f->kind == CARRY_FLOW_NONE)
		return;
	if (f->posted || f->team.size != (int)carry_clock.ranks)
		f->global = false;
	f->tells = carry_apart && (!f->global || (carry_clock.syncs + 1) % TELL_EVERY == 0);
	for (int i = 0; f->tells && i < f->team.size; i++) {
		if (goes_to(f, i))
			tell(world_of(f, i));
	}
}

/* The same by messages of MPI, where there is no ledger. */
static void tell_counts(void)
{
	static uint32_t times;

	if (++times % TELL_EVERY || !carry_exchange_counts())
		return;
	for (uint32_t i = 0; i < carry_clock.ranks; i++)
		hook_clock_told(&carry_clock, i, carry_counts[i]);
}

void carry_flow_end(struct carry_flow *f, MPI_Comm comm, int rc)
{
	if (f->kind == CARRY_FLOW_NONE || rc != MPI_SUCCESS)
		return;
	if (f->global)
		hook_clock_sync(&carry_clock);
	for (int i = 0; f->tells && i < f->team.size; i++) {
		if (comes_from(f, i))
			hear(world_of(f, i));
	}
	if (f->global && !carry_apart && comm == MPI_COMM_WORLD)
		tell_counts();
}

/* Those to be heard are kept: the communicator may be gone when the request completes. */
void carry_flow_post(const struct carry_flow *f, int rc, const MPI_Request *request)
{
	struct carry_request *r;
	uint32_t *from;
	size_t n = 0;

	for (int i = 0; f->kind && f->tells && rc == MPI_SUCCESS && i < f->team.size; i++)
		n += comes_from(f, i);
	r = n ? carry_request_new() : NULL;
	if (!r)
		return;
	from = carry_request_room(r, n * sizeof(*from));
	if (!from) {
		carry_request_drop(r);
		return;
	}
	r->flags = CARRY_FLOW | CARRY_ACTIVE;
	for (int i = 0; i < f->team.size; i++) {
		if (comes_from(f, i))
			from[r->bytes++] = world_of(f, i);
	}
	carry_request_insert(r, *request);
}

void carry_flow_heard(struct carry_request *r, int rc)
{
	const uint32_t *from = r->room;

	for (size_t i = 0; rc == MPI_SUCCESS && i < r->bytes; i++)
		hear(from[i]);
}
