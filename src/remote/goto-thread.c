/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places of the recording that a thread counts: events of MPI, without MPI operations of threads,
 * and without these calls that the hooks stand in for. Each thread counts in its own memory, so its
 * word is watched; and until the thread is there, the list of threads is. Calls are counted by the
 * only thread, which is in no list.
 */
#include <stddef.h>
#include <string.h>

#include "remote/travel.h"

#define LIST_MOST 100000 /* a list that is longer is none */

struct goal {
	const char *name; /* of the thread */
	enum replay_halt_unit unit;
	uint64_t number;
	bool behind; /* the operation before it has just been done */
};

/* What the counter is when the goal begins: operations are counted when they are done. */
static uint64_t value_at(const struct goal *goal)
{
	return goal->number - (goal->unit == REPLAY_UNIT_OPERATION);
}

/* Where the hooks have that thread in their list, or 0. */
static uint64_t find(const struct remote_travel *t, const struct remote_process *p,
		     const char *name)
{
	const struct replay_threads *list = &t->slot->threads;
	char one[REPLAY_NAME_BYTES + 1] = "";
	uint64_t at = 0;

	if (!list->first || remote_process_read(p, list->first, &at, sizeof(at)) != sizeof(at))
		return 0;
	for (size_t n = 0; at && n < LIST_MOST; n++) {
		one[remote_process_read(p, at + list->name, one, REPLAY_NAME_BYTES)] = '\0';
		if (strcmp(one, name) == 0)
			return at;
		if (remote_process_read(p, at + list->next, &at, sizeof(at)) != sizeof(at))
			return 0;
	}
	return 0;
}

/* The word in which it counts, or 0. */
static uint64_t counter(const struct remote_travel *t, const struct remote_process *p,
			const struct goal *goal)
{
	const struct replay_threads *list = &t->slot->threads;
	uint64_t at;

	if (goal->unit == REPLAY_UNIT_CALL)
		return t->slot->copy.calls;
	at = find(t, p, goal->name);
	return !at ? 0 : at + (goal->unit == REPLAY_UNIT_MPI ? list->events : list->ops);
}

static bool count(const struct remote_travel *t, const struct remote_process *p,
		  const struct goal *goal, uint64_t *n)
{
	uint64_t at = counter(t, p, goal);

	return at && remote_process_read(p, at, n, sizeof(*n)) == sizeof(*n);
}

/* Is the thread there, and has it yet to come to the goal? */
static bool is_before(const struct remote_travel *t, const struct remote_process *p,
		      const struct goal *goal)
{
	uint64_t n;

	return count(t, p, goal, &n) && n < value_at(goal);
}

/* From where it can go on to the goal. Who is not there may have been. */
static enum remote_way go_before(struct remote_travel *t, const struct goal *goal)
{
	size_t at = t->stays;

	if (is_before(t, &t->live, goal))
		return REMOTE_WAY_DONE;
	while (at > 1 && !is_before(t, &t->stay[at - 1].copy.process, goal))
		at--;
	/* The history may begin behind it. */
	if (at <= 1 && remote_far_may(t) && (!t->is_whole || t->lost > 0) &&
	    !is_before(t, &t->stay[0].copy.process, goal))
		return remote_far_begin(t);
	while (t->stays > at)
		remote_stay_remove(t, t->stays - 1);
	return remote_stay_take_up(t, at - 1) == 0 ? REMOTE_WAY_DONE : REMOTE_WAY_LOST;
}

/* The word that is written on the way; *is_there: it is the thread's. */
static uint64_t watched(const struct remote_travel *t, const struct goal *goal, bool *is_there)
{
	const struct replay_threads *list = &t->slot->threads;
	uint64_t at = counter(t, &t->live, goal);

	*is_there = at != 0;
	if (at)
		return goal->unit == REPLAY_UNIT_OPERATION && !goal->behind
			       ? at - list->ops + list->begun
			       : at;
	if (list->first)
		return list->first;
	at = remote_goto_slot(t);
	return at ? at + offsetof(struct replay_slot, threads.first) : 0;
}

/* *passed: it has done more than that. */
static enum remote_way go_on(struct remote_travel *t, const struct goal *goal, bool *passed)
{
	uint64_t there = value_at(goal), n = 0;
	struct remote_points points = {0};
	bool is_there, arrived = false;

	while (!arrived) {
		uint64_t at = watched(t, goal, &is_there);
		enum remote_way way;

		if (!at)
			return REMOTE_WAY_LOST;
		points.watch[0] = (struct remote_watch){
			.kind = REMOTE_WATCH_WRITE, .address = at, .length = 8};
		way = remote_goto_run(t, &points);
		if (way != REMOTE_WAY_DONE)
			return way;
		arrived = is_there && count(t, &t->live, goal, &n) && n >= there;
	}
	*passed = n > there;
	return REMOTE_WAY_DONE;
}

enum remote_way remote_goto_thread(struct remote_travel *t, const char *name,
				   enum replay_halt_unit unit, uint64_t number)
{
	struct goal goal = {.name = name, .unit = unit, .number = number};
	enum remote_way way = t->stays ? REMOTE_WAY_DONE : REMOTE_WAY_LOST;
	bool passed = false, gone;

	/* The first stay behind an image may be an event later than the image. */
	if (way == REMOTE_WAY_DONE && unit == REPLAY_UNIT_CALL)
		way = remote_far_go(t, number - 1, &gone);
	t->silent = true;
	if (way == REMOTE_WAY_DONE)
		way = go_before(t, &goal);
	if (way == REMOTE_WAY_DONE)
		way = go_on(t, &goal, &passed);
	/* One that is done in line begins without a sign: then it stops behind the one before. */
	if (way == REMOTE_WAY_DONE && passed && unit == REPLAY_UNIT_OPERATION) {
		goal.behind = true;
		way = go_before(t, &goal);
		if (way == REMOTE_WAY_DONE)
			way = go_on(t, &goal, &passed);
	}
	t->silent = false;
	return way == REMOTE_WAY_DONE && passed ? REMOTE_WAY_LOST : way;
}

/* What to watch for it. False: the thread is not there. */
static bool look(const struct remote_travel *t, const struct goal *goal, struct remote_watch *watch)
{
	const struct replay_threads *list = &t->slot->threads;
	uint64_t at = counter(t, &t->live, goal), thread;

	*watch = (struct remote_watch){.kind = REMOTE_WATCH_WRITE,
				       .address = at,
				       .length = 8,
				       .only = true,
				       .counter = at,
				       .value = value_at(goal)};
	if (!at || goal->unit == REPLAY_UNIT_CALL)
		return at;
	thread = at - (goal->unit == REPLAY_UNIT_MPI ? list->events : list->ops);
	if (goal->unit == REPLAY_UNIT_OPERATION)
		watch->address = thread + list->begun;
	watch->owner = thread + list->name;
	memcpy(watch->name, goal->name, strnlen(goal->name, sizeof(watch->name)));
	return true;
}

/* A thread that is not there yet, or not any more, counts where it did when it was. */
enum remote_way remote_goto_watch(struct remote_travel *t, const char *name,
				  enum replay_halt_unit unit, uint64_t number,
				  struct remote_watch *watch)
{
	const struct goal goal = {.name = name, .unit = unit, .number = number};
	struct remote_stay here = {.printed = t->printed};
	double age = remote_travel_age(t);
	unsigned part = t->part;
	enum remote_way way;

	if (look(t, &goal, watch))
		return REMOTE_WAY_DONE;
	if (remote_copy_keep(&t->live, &t->slot->copy, &here.copy) != 0)
		return REMOTE_WAY_BEGIN;
	t->looks_only = true;
	way = remote_goto_thread(t, name, unit, 1);
	t->looks_only = false;
	if (way == REMOTE_WAY_LOST || (way == REMOTE_WAY_DONE && !look(t, &goal, watch)))
		way = REMOTE_WAY_BEGIN;
	return remote_goto_return(t, &here, age, part) == REMOTE_WAY_DONE ? way : REMOTE_WAY_LOST;
}
