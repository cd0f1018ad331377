/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places that are far away, in a rank alone or a program with one thread. The trace may have images
 * of it from the middle of its run: a new process goes on from the last one before the goal, and
 * the stays begin there. Whatever is before the first stay is found in the same way, when somebody
 * wants to go there.
 *
 * An image is taken inside of a call, in our own code, where no other process ever comes. So the
 * first stay is where an event behind that call begins: there is one such moment in the run, in
 * whatever process. Without MPI, calls that the hooks stand in for are the events. Other moments
 * are compared, as always (same.c). But processes that were restored from different images differ
 * in times that MPI has noted in libc's heap, which is left out then.
 *
 * A rank alone begins with an image, too. Any other program has begun at its first instruction: of
 * that process the first stay is put aside.
 */
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "remote/start.h"
#include "replay/from.h"

#define LONG 10 /* seconds: how far a stay may be behind the event in which it is */

static const uint64_t all_signals = ~0ull;

bool remote_far_may(const struct remote_travel *t)
{
	const struct trace_run_rank *rank = &t->front->run->rank[t->one];

	if (t->front->alone)
		return true;
	return replay_halt_unit(t->front->run) == REPLAY_UNIT_CALL && !t->live.turns &&
	       rank->processes == 1 && !remote_start_has_children(t);
}

/* The word that counts events, in the memory of the rank, and what it counts in one of them. */
static uint64_t counter(const struct remote_travel *t)
{
	return t->front->alone ? remote_goto_slot(t) + offsetof(struct replay_slot, events)
			       : t->slot->copy.calls;
}

static uint64_t words(const struct remote_travel *t, uint64_t events)
{
	return t->front->alone ? events << 1 : events;
}

static uint64_t in_memory(const struct remote_travel *t, const struct remote_process *p)
{
	uint64_t n = 0;

	(void)!remote_process_read(p, t->slot->copy.calls, &n, sizeof(n));
	return n;
}

static uint64_t count(const struct remote_travel *t)
{
	return t->front->alone ? t->slot->events : in_memory(t, &t->live);
}

static uint64_t count_of(const struct remote_travel *t, const struct remote_stay *stay)
{
	return t->front->alone ? remote_same_events(t, stay) : in_memory(t, &stay->copy.process);
}

static struct remote_points written(uint64_t address)
{
	return (struct remote_points){
		.watch = {{.kind = REMOTE_WATCH_WRITE, .address = address, .length = 8}}};
}

static struct remote_points at_events(const struct remote_travel *t)
{
	return written(counter(t));
}

/* How many calls there are is not known: there may be none behind an image. */
static int lost(struct remote_travel *t)
{
	if (!t->front->alone && remote_travel_at_end(t) &&
	    !replay_front_any(t->front, REPLAY_WHY_DIVERGED))
		return RP_EXIT_FAILURE;
	return remote_start_say_lost(t);
}

/* From before its first instruction to where that event begins. */
static int come_to_event(struct remote_travel *t, uint64_t resume, uint64_t event)
{
	struct remote_points points;
	struct remote_run how = {.number = 1,
				 .mark = resume,
				 .wake = remote_start_is_over,
				 .context = t,
				 .quiet = &all_signals};
	struct remote_stop stop;

	/* Until it is restored there may be something else at that address. */
	do
		remote_process_run(&t->live, &how, &stop);
	while (stop.kind == REMOTE_MARK && !remote_goto_slot(t));
	if (stop.kind != REMOTE_MARK)
		return lost(t);
	how.points = &points;
	how.mark = 0;
	/* Where it counts calls is known when the slot is what it was. */
	points = written(remote_goto_slot(t) + offsetof(struct replay_slot, copy.calls));
	if (!t->front->alone)
		remote_process_run(&t->live, &how, &stop);
	points = at_events(t);
	while (count(t) < words(t, event)) {
		remote_process_run(&t->live, &how, &stop);
		if (stop.kind != REMOTE_WATCHED)
			return lost(t);
	}
	return 0;
}

void remote_far_drop(struct remote_travel *t)
{
	while (t->stays > 1)
		remote_stay_forget(t);
	if (t->stays && !t->front->alone && t->is_whole && t->lost <= 0 && !t->has_start) {
		t->start = t->stay[0];
		t->start_how = t->slot->copy;
		t->has_start = true;
		t->stays = 0;
	}
	while (t->stays)
		remote_stay_forget(t);
}

/* The process that has begun at its first instruction. */
static int take_start(struct remote_travel *t)
{
	if (!t->has_start)
		return RP_EXIT_FAILURE;
	t->has_start = false;
	t->start.steps = -1;
	t->start.since = 0;
	t->start.printed = t->shown;
	remote_stay_insert(t, 0, &t->start);
	t->slot->copy = t->start_how;
	if (remote_stay_take_up(t, 0) != 0)
		return RP_EXIT_FAILURE;
	remote_travel_find_state(t);
	t->is_whole = true;
	t->is_event = false;
	t->lost = 0;
	t->focus = 1;
	t->part++;
	return 0;
}

/* A new process, which becomes the only stay. */
static int begin(struct remote_travel *t, const struct replay_from_image *image)
{
	struct replay_front *f = t->front;
	int code;

	if (!image->path)
		return take_start(t);
	if (!f->image)
		f->image = rp_alloc(f->ranks, sizeof(*f->image));
	free(f->image[t->one]);
	f->image[t->one] = image->path;
	remote_process_kill(&t->live);
	remote_travel_drain(t);
	remote_stay_forget_word(t);
	/* How much had been printed is not known: whatever comes is shown. */
	t->printed = t->shown;
	t->slot->events = 0;
	t->slot->state = 0;
	t->slot->go = t->slot->halted = 0;
	if (image->first)
		return remote_start_first(t);
	t->slot->halt = REPLAY_HALT_END;
	code = remote_start_process(t);
	/* A call that is being made may not have begun to be an event. */
	if (!code)
		code = come_to_event(t, image->resume, image->event + f->alone);
	if (code)
		return code;
	t->live.only = f->alone ? t->focus : 0;
	t->is_whole = false;
	t->is_event = true;
	remote_travel_open(t);
	t->lost = f->alone ? 0 : image->elapsed;
	return 0;
}

/* The last image whose first stay is not behind that event, or the first of all. */
static bool find(const struct remote_travel *t, uint64_t event, struct replay_from_image *image)
{
	uint64_t last = t->front->run->rank[t->one].events;

	*image = (struct replay_from_image){.first = true};
	if (t->no_copy)
		return false;
	event = event < last || !t->front->alone ? event : last;
	/* Which of the threads of an image are MPI's own is known of the first one alone. */
	if (event && !t->live.turns && !t->rereads &&
	    replay_from_last(t->front, t->one, event - 1, image))
		return true;
	*image = (struct replay_from_image){.first = true};
	if (!t->front->alone)
		return true;
	image->path = replay_from_first(t->front, t->one);
	return image->path != NULL;
}

/* Where it can go on from, as events: where it stands, or a stay. 0: nowhere. */
static uint64_t nearest(const struct remote_travel *t, uint64_t event)
{
	uint64_t one = words(t, 1), found = count(t) / one;

	if (found < event)
		return found;
	for (size_t i = t->stays; i > 0; i--) {
		found = count_of(t, &t->stay[i - 1]) / one;
		if (found < event)
			return found;
	}
	return 0;
}

/* From that image, or if nothing comes behind it from the one before. */
static enum remote_way begin_before(struct remote_travel *t, struct replay_from_image *image)
{
	while (begin(t, image) != 0) {
		if (image->first || t->front->alone || !find(t, image->event, image))
			return REMOTE_WAY_LOST;
	}
	return REMOTE_WAY_DONE;
}

enum remote_way remote_far_go(struct remote_travel *t, uint64_t event, bool *gone)
{
	uint64_t have;
	struct replay_from_image image;

	*gone = false;
	if (!remote_far_may(t))
		return REMOTE_WAY_DONE;
	have = nearest(t, event);
	if (!find(t, event, &image))
		return have ? REMOTE_WAY_DONE : REMOTE_WAY_LOST;
	if ((have && image.event <= have) || (!image.path && t->is_whole)) {
		free(image.path);
		return REMOTE_WAY_DONE;
	}
	remote_far_drop(t);
	*gone = true;
	return begin_before(t, &image) == REMOTE_WAY_DONE ? REMOTE_WAY_DONE : remote_far_begin(t);
}

enum remote_way remote_far_begin(struct remote_travel *t)
{
	struct replay_from_image image = {.first = true};

	if (t->front->alone)
		image.path = replay_from_first(t->front, t->one);
	if (!image.path && !t->has_start && !(remote_far_may(t) && t->is_whole && t->lost <= 0))
		return REMOTE_WAY_LOST;
	remote_far_drop(t);
	return begin(t, &image) == 0 ? REMOTE_WAY_DONE : REMOTE_WAY_LOST;
}

/* On to the goal, which is not where an event begins. */
static enum remote_way find_goal(struct remote_travel *t, const struct remote_stay *goal)
{
	struct remote_stop last;
	enum remote_way way;
	uint64_t hits;

	remote_stay_insert(t, t->stays, goal);
	t->stay[t->stays - 1].since = LONG;
	t->across = true;
	way = remote_find_pass(t, NULL, 0, 0, &hits, &last);
	t->across = false;
	t->stays--;
	return way;
}

/* From the first stay on to the goal. A copy of the process takes its place. */
static enum remote_way come_to(struct remote_travel *t, struct remote_stay *goal, uint64_t events,
			       bool is_event)
{
	uint64_t more;
	struct remote_points points = at_events(t);
	enum remote_way way = REMOTE_WAY_DONE;

	while (way == REMOTE_WAY_DONE && count(t) < events)
		way = remote_goto_run(t, &points);
	if (way == REMOTE_WAY_DONE && !is_event)
		way = find_goal(t, goal);
	t->steps = -1;
	if (way == REMOTE_WAY_DONE && (count(t) != events || remote_stay_push(t) != 0))
		way = REMOTE_WAY_LOST;
	if (way != REMOTE_WAY_DONE)
		return way;
	/* Of what was printed before, only the difference is known. */
	more = goal->printed - t->printed;
	for (size_t i = 0; i < t->stays; i++)
		t->stay[i].printed += more;
	remote_copy_drop(&goal->copy);
	return way;
}

enum remote_way remote_far_earlier(struct remote_travel *t)
{
	struct remote_stay goal = t->stay[0];
	uint64_t events, event;
	bool is_event = t->is_event;
	double lost_time = t->lost;
	struct replay_from_image image;
	enum remote_way way = REMOTE_WAY_LOST;

	if (t->is_whole)
		return REMOTE_WAY_BEGIN;
	events = count_of(t, &goal);
	event = remote_far_may(t) ? events / words(t, 1) : 0;
	t->stays = 0;
	/* It has to be before the goal. */
	if (event && find(t, event - 1, &image))
		way = begin_before(t, &image);
	if (way == REMOTE_WAY_DONE)
		way = come_to(t, &goal, events, is_event);
	if (way == REMOTE_WAY_DONE)
		return way;
	remote_far_drop(t);
	remote_stay_insert(t, 0, &goal);
	t->is_whole = false;
	t->is_event = is_event;
	t->lost = lost_time;
	if (way == REMOTE_WAY_LOST)
		rp_say("the way back was not found: it is behind an image");
	return way;
}
