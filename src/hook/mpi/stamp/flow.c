/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ranks learn of each other by collective operations. Operations in which every rank of the
 * run waits for all others are counted: a rank with n of them behind it knows what all had seen
 * before their n-th. For other operations, each rank that gives something to another leaves its
 * clock in the ledger before the call, and the other takes it after its own call. If clocks ride
 * within messages, these operations are left out, which is safe. The n-th of a pair to end gets the
 * n-th clock; racing.md says why that clock never knows too much.
 *
 * Because of a rank that sends no messages, nothing could ever be forgotten. So at each
 * COUNT_EVERY-th counted operation, ranks tell each other how many messages they have sent.
 *
 * Invariant: what a rank counts or leaves in the ledger is never more than what others count or
 * take there. A rank that can no longer be sure of this gives up: it counts and tells nothing.
 */
#include "hook/mpi/stamp/stamp.h"

#define COUNT_EVERY 64
#define UNKNOWN UINT32_MAX /* messages: never so many have come */

static bool given_up;

void stamp_flow_give_up(void)
{
	given_up = true;
	for (unsigned int turn = 0; stamp_apart && turn < 2; turn++) {
		uint32_t *row = hook_ledger_row(turn, stamp_clock.rank);

		for (uint32_t i = 0; i < stamp_clock.ranks; i++)
			__atomic_store_n(&row[i], UNKNOWN, __ATOMIC_RELAXED);
	}
}

static bool has_size(MPI_Datatype type)
{
	int size = 0;

	if (type == MPI_DATATYPE_NULL)
		return false;
	if (stamp_type_plain_size(type))
		return true;
	stamp_below.Type_size(type, &size);
	return size != 0; /* MPI_UNDEFINED: it is larger than an int */
}

bool stamp_flow_moves(MPI_Count count, MPI_Datatype type)
{
	return count > 0 && has_size(type);
}

bool stamp_flow_some(const struct stamp_flow *f, const void *counts, int i)
{
	if (!counts)
		return false; /* MPI will complain */
	return f->wide ? ((const MPI_Count *)counts)[i] > 0 : ((const int *)counts)[i] > 0;
}

bool stamp_flow_every(const struct stamp_flow *f, const void *counts)
{
	for (int i = 0; i < f->team.size; i++) {
		if (!stamp_flow_some(f, counts, i))
			return false;
	}
	return true;
}

static bool has(const struct stamp_flow *f, const void *counts, const MPI_Datatype *types, int i)
{
	return (!counts || stamp_flow_some(f, counts, i)) && (!types || has_size(types[i]));
}

/* Does it go from the first to the second, as far as their ranks say? */
static bool leads(const struct stamp_flow *f, int from, int to)
{
	switch (f->kind) {
	case STAMP_FLOW_ALL:
		return from != to;
	case STAMP_FLOW_FROM_ROOT:
		return from != to && from == f->root;
	case STAMP_FLOW_TO_ROOT:
		return from != to && to == f->root;
	case STAMP_FLOW_UP:
		return from < to;
	case STAMP_FLOW_NONE:
		break;
	}
	return false;
}

static bool goes_to(const struct stamp_flow *f, int i)
{
	return f->gives && leads(f, f->team.rank, i) && has(f, f->to, f->to_type, i);
}

static bool comes_from(const struct stamp_flow *f, int i)
{
	return f->takes && leads(f, i, f->team.rank) && has(f, f->from, f->from_type, i);
}

static uint32_t world_of(const struct stamp_flow *f, int i)
{
	return (uint32_t)(f->team.world ? f->team.world[i] : i);
}

/*
 * No message has it. Different operations have different ones, so that in a program where two ranks
 * differ in what they give and take, against the rules, one takes at least nothing of another kind.
 */
static int32_t tag_of(const struct stamp_flow *f)
{
	uint32_t what = (uint32_t)f->team.size * 4096 + (uint32_t)f->root * 8 + f->kind;

	return -1 - (int32_t)(what & INT32_MAX);
}

static void tell(uint32_t dest, int32_t tag)
{
	void *place = hook_ledger_place(dest);

	if (!place)
		return;
	hook_clock_tell(&stamp_clock, dest, place);
	hook_ledger_wrote(dest, tag);
}

static void hear(uint32_t source, int32_t tag)
{
	const void *clock = hook_ledger_take(source, tag);

	if (clock)
		hook_clock_hear(&stamp_clock, clock);
}

static bool counts_messages(void)
{
	return stamp_apart && (stamp_clock.syncs + 1) % COUNT_EVERY == 0;
}

/* Which of the tables in the ledger is written, or has been written, for the next one counted. */
static unsigned int turn(void)
{
	return stamp_clock.syncs / COUNT_EVERY;
}

static void write_counts(void)
{
	uint32_t *row = hook_ledger_row(turn(), stamp_clock.rank);

	for (uint32_t i = 0; i < stamp_clock.ranks; i++)
		__atomic_store_n(&row[i], stamp_clock.peer[i].sent, __ATOMIC_RELAXED);
}

static void read_counts(unsigned int from_turn)
{
	for (uint32_t i = 0; i < stamp_clock.ranks; i++) {
		const uint32_t *row = hook_ledger_row(from_turn, i);

		hook_clock_told(&stamp_clock, i,
				__atomic_load_n(&row[stamp_clock.rank], __ATOMIC_RELAXED));
	}
}

void stamp_flow_begin(struct stamp_flow *f)
{
	if (f->kind == STAMP_FLOW_NONE)
		return;
	if (f->posted || f->team.size != (int)stamp_clock.ranks)
		f->global = false;
	f->tells = stamp_apart && !f->global;
	if (given_up)
		return;
	if (f->global && counts_messages())
		write_counts();
	for (int i = 0; f->tells && i < f->team.size; i++) {
		if (goes_to(f, i))
			tell(world_of(f, i), tag_of(f));
	}
}

/*
 * The same by messages of MPI, where there is no ledger. Only where the program itself is in an
 * operation of MPI_COMM_WORLD: one that it began there before and has not waited for may come after
 * this one at another rank.
 */
static void exchange_counts(MPI_Comm comm)
{
	static uint32_t times;

	if (stamp_apart || comm != MPI_COMM_WORLD || ++times % COUNT_EVERY ||
	    !stamp_exchange_counts() || given_up)
		return;
	for (uint32_t i = 0; i < stamp_clock.ranks; i++)
		hook_clock_told(&stamp_clock, i, stamp_counts[i]);
}

static void synchronised(MPI_Comm comm)
{
	bool counts = counts_messages();
	unsigned int from_turn = turn();

	if (!given_up) {
		hook_clock_sync(&stamp_clock);
		if (counts)
			read_counts(from_turn);
	}
	exchange_counts(comm);
}

/* Has MPI refused to begin, because of an argument? Then no other rank can have ended it. */
static bool is_refused(int rc)
{
	switch (hook_mpi_class(rc)) {
	case MPI_ERR_BUFFER:
	case MPI_ERR_COUNT:
	case MPI_ERR_TYPE:
	case MPI_ERR_COMM:
	case MPI_ERR_ROOT:
	case MPI_ERR_OP:
	case MPI_ERR_ARG:
		return true;
	default:
		return false;
	}
}

/* One that failed here may have been counted by others. */
static void failed(const struct stamp_flow *f, MPI_Comm comm, int rc)
{
	if (!f->global || is_refused(rc))
		return;
	stamp_flow_give_up();
	exchange_counts(comm);
}

void stamp_flow_end(struct stamp_flow *f, MPI_Comm comm, int rc)
{
	if (f->kind == STAMP_FLOW_NONE)
		return;
	if (rc != MPI_SUCCESS) {
		failed(f, comm, rc);
		return;
	}
	if (f->global)
		synchronised(comm);
	for (int i = 0; f->tells && i < f->team.size; i++) {
		if (comes_from(f, i))
			hear(world_of(f, i), tag_of(f));
	}
}

/* Those to be heard are kept: the communicator may be gone when the request completes. */
void stamp_flow_post(const struct stamp_flow *f, int rc, const MPI_Request *request)
{
	struct stamp_request *r;
	uint32_t *from;
	size_t n = 0;

	for (int i = 0; f->kind && f->tells && rc == MPI_SUCCESS && i < f->team.size; i++)
		n += comes_from(f, i);
	r = n ? stamp_request_new() : NULL;
	if (!r)
		return;
	from = stamp_request_room(r, n * sizeof(*from));
	if (!from) {
		stamp_request_drop(r);
		return;
	}
	r->flags = STAMP_FLOW | STAMP_ACTIVE;
	r->tag = tag_of(f);
	for (int i = 0; i < f->team.size; i++) {
		if (comes_from(f, i))
			from[r->bytes++] = world_of(f, i);
	}
	stamp_request_insert(r, *request);
}

void stamp_flow_heard(struct stamp_request *r, int rc)
{
	const uint32_t *from = r->room;

	for (size_t i = 0; rc == MPI_SUCCESS && i < r->bytes; i++)
		hear(from[i], r->tag);
}
