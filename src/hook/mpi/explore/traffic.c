/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Along a prelude: counts, in the slots of the session, the messages that are on their way to each
 * rank and the collective operations that each has entered, so that the front can tell ranks whose
 * message will come from ranks that wait for ever. Invariant: while a message for a rank is on its
 * way, its `sent_here` is above its `received`, unless the rank says that it does something that is
 * not counted.
 */
#include "hook/mpi/explore/explore.h"
#include "hook/session/session.h"

static int world;
static MPI_Group world_group;
static MPI_Comm last_comm; /* whose peers were looked up last */
static MPI_Group last_group;
static int last_size;
static bool last_is_world; /* all ranks are in it, and it is no intercommunicator */
static MPI_Comm comm_of_all[REPLAY_COMMS];
static uint32_t comms;

static void forget_comm(void)
{
	if (last_comm != MPI_COMM_NULL)
		hook_mpi_top.Group_free(&last_group);
	last_comm = MPI_COMM_NULL;
}

static void look_at(MPI_Comm comm)
{
	int inter = 0;

	if (comm == last_comm)
		return;
	forget_comm();
	hook_mpi_top.Comm_test_inter(comm, &inter);
	if (inter)
		hook_mpi_top.Comm_remote_group(comm, &last_group);
	else
		hook_mpi_top.Comm_group(comm, &last_group);
	hook_mpi_top.Group_size(last_group, &last_size);
	last_is_world = !inter && last_size == world;
	last_comm = comm;
}

/* A rank of the communicator among all ranks; -1 if it is not one of these. */
static int in_world(MPI_Comm comm, int rank)
{
	int there = MPI_UNDEFINED;

	if (rank < 0 || comm == MPI_COMM_NULL)
		return -1;
	if (comm == MPI_COMM_WORLD)
		return rank < world ? rank : -1;
	look_at(comm);
	if (rank >= last_size)
		return -1;
	hook_mpi_top.Group_translate_ranks(last_group, 1, &rank, world_group, &there);
	return there >= 0 && there < world ? there : -1;
}

/* Its place in slots, plus 1; 0: it is none of all ranks, or there are too many. */
static uint32_t place_of(MPI_Comm comm)
{
	for (uint32_t i = 0; i < comms; i++) {
		if (comm_of_all[i] == comm)
			return i + 1;
	}
	return 0;
}

static void sends(int dest, int tag, MPI_Comm comm)
{
	struct replay_want message = {(int32_t)hook_process.rank, tag, place_of(comm)};
	int to = in_world(comm, dest);

	hook_slot->to = to;
	if (to >= 0)
		hook_session_message_to((uint32_t)to, &message);
}

/* What the next event of the main thread needs, as far as it is known. */
static struct replay_want next_want[REPLAY_WANTS];
static uint32_t next_wants;

void explore_waits_for(int source, int tag, MPI_Comm comm)
{
	int from = REPLAY_ANY;

	if (hook_slot->uncounted || source == MPI_PROC_NULL || next_wants == REPLAY_WANTS ||
	    !hook_thread_is_main(hook_self))
		return;
	if (source != MPI_ANY_SOURCE)
		from = in_world(comm, source);
	if (from < 0 && source != MPI_ANY_SOURCE)
		return;
	next_want[next_wants++] =
		(struct replay_want){from, tag == MPI_ANY_TAG ? REPLAY_ANY : tag, place_of(comm)};
}

void explore_waits_for_all(int count, const MPI_Request requests[])
{
	for (int i = 0; i < count && next_wants < REPLAY_WANTS; i++) {
		struct hook_request *r;

		hook_requests_lock();
		r = hook_requests_find(requests[i]);
		if (r && r->flags & REQUEST_ACTIVE)
			explore_waits_for(r->want.source, r->want.tag, r->want.comm);
		hook_requests_unlock();
	}
}

void explore_traffic_begin(void)
{
	for (uint32_t i = 0; i < next_wants; i++)
		hook_slot->want[i] = next_want[i];
	hook_slot->wants = next_wants;
	next_wants = 0;
}

/* All ranks make it, in the same order: so its place is the same in all slots. */
static void created(struct hook_thread *t, MPI_Comm parent, MPI_Comm comm)
{
	(void)t;
	if (hook_slot->uncounted || parent != MPI_COMM_NULL || comm == MPI_COMM_NULL)
		return;
	look_at(comm);
	if (last_is_world && comms < REPLAY_COMMS)
		comm_of_all[comms++] = comm;
}

static void freeing(struct hook_thread *t, MPI_Comm comm)
{
	uint32_t place = place_of(comm);

	(void)t;
	/* What is received on it later cannot be named any more. */
	if (hook_requests_count())
		hook_slot->uncounted = 1;
	if (comm == last_comm)
		forget_comm();
	if (place)
		comm_of_all[place - 1] = MPI_COMM_NULL;
}

static void enters(const struct hook_mpi_act *act)
{
	hook_slot->comm = act->comm == MPI_COMM_NULL ? 0 : place_of(act->comm);
	if (!hook_slot->comm)
		return;
	hook_slot->to = in_world(act->comm, act->peer);
	__atomic_add_fetch(&hook_slot->entered[hook_slot->comm - 1], 1, __ATOMIC_RELAXED);
}

static void noting(struct hook_thread *t, const struct hook_mpi_act *act)
{
	(void)t;
	if (hook_slot->uncounted)
		return;
	switch (act->kind) {
	case HOOK_ACT_SEND:
	case HOOK_ACT_ISEND:
	case HOOK_ACT_IEXCHANGE:
		sends(act->peer, act->tag, act->comm);
		break;
	case HOOK_ACT_EXCHANGE:
		sends(act->peer, act->tag, act->comm);
		explore_waits_for(act->want_peer, act->want_tag, act->comm);
		break;
	case HOOK_ACT_RECV:
		explore_waits_for(act->peer, act->tag, act->comm);
		break;
	case HOOK_ACT_COLL:
	case HOOK_ACT_COMM:
		enters(act);
		break;
	case HOOK_ACT_COMM_FREE:
	case HOOK_ACT_MRECV:
	case HOOK_ACT_IRECV:
	case HOOK_ACT_RECV_INIT:
	case HOOK_ACT_START:
	case HOOK_ACT_FREE:
	case HOOK_ACT_CANCEL:
		break;
	default:
		hook_slot->uncounted = 1;
	}
}

void explore_takes(MPI_Comm comm, const MPI_Status *status)
{
	struct replay_want message = {0};

	if (hook_slot->uncounted || status->MPI_SOURCE < 0)
		return;
	message = (struct replay_want){in_world(comm, status->MPI_SOURCE), status->MPI_TAG,
				       place_of(comm)};
	hook_session_message_taken(&message);
}

static bool received(struct hook_thread *t, uint32_t kind, int source, MPI_Comm comm,
		     const MPI_Status *status)
{
	(void)t, (void)source;
	if (kind == TRACE_SRC)
		explore_takes(comm, status);
	return false;
}

static bool completed(struct hook_thread *t, struct hook_request *r, MPI_Status *status,
		      bool retire)
{
	(void)t;
	if (retire && !hook_mpi_is_cancelled(r->flags & REQUEST_CANCEL, status))
		explore_takes(r->want.comm, status);
	return false;
}

static void closing(struct hook_thread *t)
{
	(void)t;
	forget_comm();
	hook_mpi_top.Group_free(&world_group);
}

void explore_traffic_calls(struct hook_mpi_mode *mode)
{
	mode->noting = noting;
	mode->comm_created = created;
	mode->comm_freeing = freeing;
}

void explore_traffic_open(int ranks)
{
	static const struct record_tracing counting = {received, completed, closing};

	world = ranks;
	last_comm = MPI_COMM_NULL;
	comm_of_all[0] = MPI_COMM_WORLD;
	comms = 1;
	hook_mpi_top.Comm_group(MPI_COMM_WORLD, &world_group);
	record_tracing = &counting;
	hook_slot->uncounted = !hook_session_is_local() || hook_mpi_turns;
}
