/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places of the recording that a thread counts: events of MPI, or without MPI operations of
 * threads. Each thread counts in its own memory, so its word is watched; and until the thread is
 * there, the list of threads is.
 */
#include <stddef.h>
#include <string.h>

#include "remote/travel.h"

#define LIST_MOST 100000 /* a list that is longer is none */

struct goal {
	const char *name; /* of the thread */
	bool calls;       /* events, and not operations */
	uint64_t number;
	bool behind; /* the operation before it has just been done */
};

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

static bool count(const struct remote_travel *t, const struct remote_process *p,
		  const struct goal *goal, uint64_t *n)
{
	const struct replay_threads *list = &t->slot->threads;
	uint64_t at = find(t, p, goal->name);

	return at && remote_process_read(p, at + (goal->calls ? list->events : list->ops), n,
					 sizeof(*n)) == sizeof(*n);
}

/* Is the thread there, and has it yet to come to the goal? */
static bool is_before(const struct remote_travel *t, const struct remote_process *p,
		      const struct goal *goal)
{
	uint64_t n;

	return count(t, p, goal, &n) && n + (goal->calls ? 0 : 1) < goal->number;
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
	if (at <= 1 && t->front->alone && (!t->is_whole || t->lost > 0) &&
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
	uint64_t at = find(t, &t->live, goal->name);

	*is_there = at != 0;
	if (at)
		return at + (goal->calls ? list->events : goal->behind ? list->ops : list->begun);
	if (list->first)
		return list->first;
	at = remote_goto_slot(t);
	return at ? at + offsetof(struct replay_slot, threads.first) : 0;
}

/* *passed: it has done more than that. */
static enum remote_way go_on(struct remote_travel *t, const struct goal *goal, bool *passed)
{
	uint64_t there = goal->number - (goal->calls ? 0 : 1), n = 0;
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

enum remote_way remote_goto_thread(struct remote_travel *t, const char *name, bool calls,
				   uint64_t number)
{
	struct goal goal = {.name = name, .calls = calls, .number = number};
	enum remote_way way;
	bool passed = false;

	t->silent = true;
	way = t->stays ? go_before(t, &goal) : REMOTE_WAY_LOST;
	if (way == REMOTE_WAY_DONE)
		way = go_on(t, &goal, &passed);
	/* One that is done in line begins without a sign: then it stops behind the one before. */
	if (way == REMOTE_WAY_DONE && passed && !calls) {
		goal.behind = true;
		way = go_before(t, &goal);
		if (way == REMOTE_WAY_DONE)
			way = go_on(t, &goal, &passed);
	}
	t->silent = false;
	return way == REMOTE_WAY_DONE && passed ? REMOTE_WAY_LOST : way;
}
