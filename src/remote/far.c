/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places that are far away, in a rank alone. The trace may have images of it from the middle of its
 * run: a new process goes on from the last one before the goal, and the stays begin there. Whatever
 * is before the first stay is found in the same way, when somebody wants to go there.
 *
 * An image is taken inside of a call, in our own code, where no other process ever comes. So the
 * first stay is where the event behind that call begins: there is one such moment in the run, in
 * whatever process. Other moments are compared, as always (same.c). But processes that were
 * restored from different images differ in times that MPI has noted in libc's heap, which is left
 * out then.
 */
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "remote/start.h"
#include "replay/from.h"

#define LONG 10 /* seconds: how far a stay may be behind the event in which it is */

static const uint64_t all_signals = ~0ull;

static struct remote_points at_events(const struct remote_travel *t)
{
	return (struct remote_points){
		.watch = {{.kind = REMOTE_WATCH_WRITE,
			   .address = remote_goto_slot(t) + offsetof(struct replay_slot, events),
			   .length = 8}}};
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
		return remote_start_say_lost(t);
	points = at_events(t);
	how.points = &points;
	how.mark = 0;
	while (t->slot->events >> 1 < event) {
		remote_process_run(&t->live, &how, &stop);
		if (stop.kind != REMOTE_WATCHED)
			return remote_start_say_lost(t);
	}
	return 0;
}

/* A new process, which becomes the only stay. */
static int begin(struct remote_travel *t, const struct replay_from_image *image)
{
	struct replay_front *f = t->front;
	int code;

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
	if (!code)
		code = come_to_event(t, image->resume, image->event + 1);
	if (code)
		return code;
	t->live.only = t->focus;
	t->is_whole = false;
	t->is_event = true;
	remote_travel_open(t);
	return 0;
}

/* The last image whose first stay is not behind that event, or the first of all. */
static bool find(const struct remote_travel *t, uint64_t event, struct replay_from_image *image)
{
	uint64_t last = t->front->run->rank[t->one].events;

	*image = (struct replay_from_image){.first = true};
	if (!t->front->alone || t->no_copy)
		return false;
	event = event < last ? event : last;
	/* Which of the threads of an image are MPI's own is known of the first one alone. */
	if (event && !t->live.turns && replay_from_last(t->front, t->one, event - 1, image))
		return true;
	image->path = replay_from_first(t->front, t->one);
	return image->path != NULL;
}

/* Where it can go on from, as events: where it stands, or a stay. 0: nowhere. */
static uint64_t nearest(const struct remote_travel *t, uint64_t event)
{
	uint64_t found = t->slot->events >> 1;

	if (found < event)
		return found;
	for (size_t i = t->stays; i > 0; i--) {
		found = remote_same_events(t, &t->stay[i - 1]) >> 1;
		if (found < event)
			return found;
	}
	return 0;
}

static void drop_stays(struct remote_travel *t)
{
	while (t->stays)
		remote_stay_forget(t);
}

enum remote_way remote_far_go(struct remote_travel *t, uint64_t event, bool *gone)
{
	uint64_t have = nearest(t, event);
	struct replay_from_image image;

	*gone = false;
	if (!t->front->alone)
		return REMOTE_WAY_DONE;
	if (!find(t, event, &image))
		return have ? REMOTE_WAY_DONE : REMOTE_WAY_LOST;
	if (have && image.event <= have) {
		free(image.path);
		return REMOTE_WAY_DONE;
	}
	drop_stays(t);
	*gone = true;
	return begin(t, &image) == 0 ? REMOTE_WAY_DONE : remote_far_begin(t);
}

enum remote_way remote_far_begin(struct remote_travel *t)
{
	struct replay_from_image image = {.first = true};

	if (t->front->alone)
		image.path = replay_from_first(t->front, t->one);
	if (!image.path)
		return REMOTE_WAY_LOST;
	drop_stays(t);
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
static enum remote_way come_to(struct remote_travel *t, struct remote_stay *goal, bool is_event)
{
	uint64_t events = remote_same_events(t, goal), more;
	struct remote_points points = at_events(t);
	enum remote_way way = REMOTE_WAY_DONE;

	while (way == REMOTE_WAY_DONE && t->slot->events < events)
		way = remote_goto_run(t, &points);
	if (way == REMOTE_WAY_DONE && !is_event)
		way = find_goal(t, goal);
	t->steps = -1;
	if (way == REMOTE_WAY_DONE && (t->slot->events != events || remote_stay_push(t) != 0))
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
	uint64_t event = remote_same_events(t, &goal) >> 1;
	bool is_event = t->is_event;
	struct replay_from_image image;
	enum remote_way way = REMOTE_WAY_LOST;

	if (t->is_whole)
		return REMOTE_WAY_BEGIN;
	t->stays = 0;
	/* It has to be before the goal. */
	if (event && find(t, event - 1, &image) && begin(t, &image) == 0)
		way = come_to(t, &goal, is_event);
	if (way == REMOTE_WAY_DONE)
		return way;
	drop_stays(t);
	remote_stay_insert(t, 0, &goal);
	t->is_whole = false;
	t->is_event = is_event;
	if (way == REMOTE_WAY_LOST)
		rp_say("the way back was not found: it is behind an image");
	return way;
}
