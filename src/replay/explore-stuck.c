/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Can anything still happen among ranks that are all inside MPI calls? Ranks count in their slots
 * the messages sent to each rank and received by it, by kind, and the collective operations that
 * they have entered on communicators of all ranks. From these we prove, if possible, that no
 * current call will return:
 *
 *   a receive, probe or wait   needs a message, and none is on its way to that rank, or none of
 * that source, tag and communicator (kinds are few: two may be taken for one) a send needs a
 * receiver, and its receiver is in a call that takes nothing, without receives posted before, or
 * has ended a barrier, an allreduce, … needs all ranks, and one has not entered it a broadcast, a
 * scatter     needs its root, and that has not entered it MPI_Finalize               sends nothing
 * to anybody
 *
 * What cannot be judged so (a large message on its way, other communicators) is left to the
 * patience of the user. A message that has come may not have been noticed: so each rank must have
 * had the processor for a while, or have slept, since anything changed.
 */
#include "replay/explore.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/calls.h"

#define AWAKE_TICKS 5 /* hundredths of a second in which MPI looks thousands of times */
#define SETTLED 1.0   /* seconds */
#define LOOK_EVERY 0.1

enum need {
	UNKNOWN,
	MESSAGE,
	RECEIVER,
	ALL,
	ALL_IF_ROOT,
	ROOT,
	NOTHING,
};

static const struct {
	const char *call;
	enum need need;
} needs[] = {
	{"Recv", MESSAGE},
	{"Probe", MESSAGE},
	{"Mprobe", MESSAGE},
	{"Sendrecv", MESSAGE},
	{"Sendrecv_replace", MESSAGE},
	{"Wait", MESSAGE},
	{"Waitall", MESSAGE},
	{"Waitany", MESSAGE},
	{"Waitsome", MESSAGE},
	{"Send", RECEIVER},
	{"Ssend", RECEIVER},
	{"Rsend", RECEIVER},
	{"Barrier", ALL},
	{"Allreduce", ALL},
	{"Allgather", ALL},
	{"Allgatherv", ALL},
	{"Alltoall", ALL},
	{"Reduce_scatter", ALL},
	{"Reduce_scatter_block", ALL},
	{"Comm_dup", ALL},
	{"Comm_split", ALL},
	{"Comm_create", ALL},
	{"Gather", ALL_IF_ROOT},
	{"Gatherv", ALL_IF_ROOT},
	{"Reduce", ALL_IF_ROOT},
	{"Bcast", ROOT},
	{"Scatter", ROOT},
	{"Scatterv", ROOT},
	{"Finalize", NOTHING},
};

static enum need need_of(const struct replay_slot *slot)
{
	const char *name = trace_call_name(slot->call);
	size_t n;

	if (strncmp(name, "MPI_", 4) != 0)
		return UNKNOWN;
	name += 4;
	n = strlen(name);
	if (n > 2 && strcmp(name + n - 2, "_c") == 0)
		n -= 2;
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		if (strlen(needs[i].call) == n && strncmp(needs[i].call, name, n) == 0)
			return needs[i].need;
	}
	return UNKNOWN;
}

static bool is_gone(const struct replay_slot *slot)
{
	return slot->state == REPLAY_GONE;
}

/* It has no use for a message that is on its way to it. */
static bool takes_nothing(const struct replay_slot *slot)
{
	enum need need = need_of(slot);

	return is_gone(slot) || (!slot->open && need != MESSAGE && need != UNKNOWN);
}

/* Is there a message for this rank that the receive would take? */
static bool may_come(const struct replay_front *f, const struct replay_slot *slot,
		     const struct replay_want *want)
{
	const int32_t *count = want->tag == REPLAY_ANY ? slot->of_source : slot->with_tag;

	if (want->source != REPLAY_ANY)
		return count[replay_kind(want->source, want->tag, want->comm)] != 0;
	for (size_t i = 0; i < f->ranks; i++) {
		if (count[replay_kind((int32_t)i, want->tag, want->comm)] != 0)
			return true;
	}
	return false;
}

/* It needs a message of a kind, and none of that kind is on its way. */
static bool wants_in_vain(const struct replay_front *f, const struct replay_slot *slot)
{
	for (uint32_t i = 0; i < slot->wants && i < REPLAY_WANTS; i++) {
		if (!may_come(f, slot, &slot->want[i]))
			return true;
	}
	return false;
}

/* The collective operation that `slot` is in. */
static bool has_entered(const struct replay_slot *slot, const struct replay_slot *other)
{
	return other->entered[slot->comm - 1] >= slot->entered[slot->comm - 1];
}

static bool all_have_entered(const struct replay_front *f, const struct replay_slot *slot)
{
	for (size_t i = 0; i < f->ranks; i++) {
		if (!has_entered(slot, &f->state->slot[i]))
			return false;
	}
	return true;
}

/* Is it proven that the call at work does not return unless another rank does something? */
static bool is_stuck(const struct replay_front *f, size_t rank)
{
	const struct replay_slot *slot = &f->state->slot[rank];
	bool has_to = slot->to >= 0 && (size_t)slot->to < f->ranks;
	bool is_of_all = slot->comm > 0 && slot->comm <= REPLAY_COMMS;
	const struct replay_slot *to = has_to ? &f->state->slot[slot->to] : NULL;

	if (slot->sent_here != slot->received && !takes_nothing(slot) && !wants_in_vain(f, slot))
		return false;
	switch (need_of(slot)) {
	case MESSAGE:
	case NOTHING:
		return true;
	case RECEIVER:
		return to && takes_nothing(to);
	case ALL:
		return is_of_all && !all_have_entered(f, slot);
	case ALL_IF_ROOT:
		return is_of_all && to == slot && !all_have_entered(f, slot);
	case ROOT:
		return is_of_all && to && to != slot && !has_entered(slot, to);
	default:
		return false;
	}
}

static bool all_are_stuck(const struct replay_front *f)
{
	size_t waiting = 0;

	for (size_t i = 0; i < f->ranks; i++) {
		const struct replay_slot *slot = &f->state->slot[i];

		if (is_gone(slot))
			continue;
		if (slot->state != REPLAY_RUNNING || !(slot->events & 1) || slot->uncounted ||
		    !is_stuck(f, i))
			return false;
		waiting += need_of(slot) != NOTHING;
	}
	return waiting > 0;
}

void replay_stuck_open(struct replay_stuck *s, size_t ranks)
{
	*s = (struct replay_stuck){.ticks = rp_alloc(ranks, sizeof(*s->ticks)),
				   .awake = rp_alloc(ranks, sizeof(*s->awake))};
}

void replay_stuck_close(struct replay_stuck *s)
{
	free(s->ticks);
	free(s->awake);
}

/* Something has happened: the processor time of each rank counts from here. */
void replay_stuck_changed(struct replay_stuck *s)
{
	s->looked = 0;
	s->started = false;
}

static void look(struct replay_stuck *s, const struct replay_front *f)
{
	for (size_t i = 0; i < f->ranks; i++) {
		uint64_t ticks = 0;
		char state = replay_process_state(f->state->slot[i].pid, &ticks);

		if (!s->started) {
			s->ticks[i] = ticks;
			s->awake[i] = false;
		}
		s->awake[i] = s->awake[i] || state != 'S';
	}
	s->started = true;
}

/* Each has slept at every look, or has had its time. */
static bool have_settled(const struct replay_stuck *s, const struct replay_front *f)
{
	for (size_t i = 0; i < f->ranks; i++) {
		uint64_t ticks = 0;

		if (is_gone(&f->state->slot[i]) || !s->awake[i])
			continue;
		replay_process_state(f->state->slot[i].pid, &ticks);
		if (ticks < s->ticks[i] + AWAKE_TICKS)
			return false;
	}
	return true;
}

bool replay_is_stuck(struct replay_stuck *s, const struct replay_front *f, double silent)
{
	if (silent < s->looked + LOOK_EVERY)
		return false;
	s->looked = silent;
	/* One that seems to be stuck may be on its way: they are watched from then on. */
	if (!all_are_stuck(f)) {
		s->started = false;
		return false;
	}
	if (!s->started)
		s->proven = silent;
	look(s, f);
	return silent > s->proven + SETTLED && have_settled(s, f) && all_are_stuck(f);
}
