/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the process is becomes the last stay before anything is looked for, so that a search that
 * is given up, or fails, leaves it there.
 */
#include "remote/travel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

#define APART 0.25 /* seconds of processor time between two copies */
#define CLOSE 100  /* instructions from the nearest copy */

static const uint64_t all_signals = ~0ull;

void remote_travel_drain(struct remote_travel *t)
{
	char bytes[4096];
	ssize_t n;

	while (t->output >= 0 && (n = read(t->output, bytes, sizeof(bytes))) > 0) {
		uint64_t from = t->printed;

		t->printed += (uint64_t)n;
		if (t->silent || t->printed <= t->shown)
			continue;
		from = from < t->shown ? t->shown - from : 0;
		t->shown = t->printed;
		t->show(t->context, bytes + from, (size_t)n - from);
	}
}

bool remote_travel_at_end(struct remote_travel *t)
{
	replay_session_read(t->front);
	/* One that was taken back to where it had said its word has yet to be heard again. */
	if (!t->front->word[t->one].why && t->slot && t->slot->state == REPLAY_AT_END) {
		remote_stay_recall_word(t);
		replay_session_read(t->front);
	}
	return t->front->word[t->one].why != NULL;
}

void remote_travel_keep(struct remote_travel *t)
{
	if (t->no_copy)
		return;
	t->no_copy = remote_stay_push(t);
	if (!t->no_copy)
		remote_stay_thin(t);
}

void remote_travel_find_state(struct remote_travel *t)
{
	uint64_t slot = remote_goto_slot(t);

	t->state = slot ? slot + offsetof(struct replay_slot, state) : 0;
}

void remote_travel_open(struct remote_travel *t)
{
	remote_travel_find_state(t);
	t->base = remote_process_cpu(&t->live);
	t->lost = 0;
	remote_travel_keep(t);
}

void remote_travel_close(struct remote_travel *t)
{
	while (t->stays)
		remote_stay_remove(t, t->stays - 1);
	if (t->before_at > 0)
		remote_copy_drop(&t->before.copy);
	if (t->has_start)
		remote_copy_drop(&t->start.copy);
	remote_process_kill(&t->live);
	free(t->stay);
	if (t->output >= 0) {
		close(t->output);
		close(t->output_to);
	}
}

void remote_travel_doubt(struct remote_travel *t)
{
	if (!t->live.unsure)
		return;
	if (t->looks_only) {
		t->live.unsure = 0;
		return;
	}
	rp_say("threads waited for something that nobody but time decides: there is no way back "
	       "beyond this");
	t->lost = remote_travel_age(t);
	if (t->lost <= 0)
		t->lost = 1e-9;
	while (t->stays)
		remote_stay_forget(t);
	t->live.unsure = 0;
	t->base = remote_process_cpu(&t->live);
	t->steps = -1;
	t->part++;
	remote_travel_keep(t);
}

void remote_travel_run(struct remote_travel *t, bool step, unsigned number,
		       struct remote_stop *stop)
{
	struct remote_run how = {.points = &t->points,
				 .number = number,
				 .step = step,
				 .word = t->front->released ? 0 : t->state,
				 .wake = t->wake,
				 .context = t->context,
				 .quiet = &t->quiet};

	for (;;) {
		how.cpu = step || t->no_copy ? 0 : APART;
		remote_process_run(&t->live, &how, stop);
		t->steps =
			step && t->steps >= 0 && number == t->focus && stop->kind == REMOTE_STEPPED
				? t->steps + 1
				: -1;
		remote_travel_drain(t);
		remote_travel_doubt(t);
		if (stop->kind != REMOTE_TIRED)
			return;
		remote_travel_keep(t);
	}
}

void remote_travel_look_at(struct remote_travel *t, unsigned number)
{
	if (number == t->focus)
		return;
	t->focus = number;
	t->steps = -1;
	for (size_t i = 0; i < t->stays; i++)
		t->stay[i].steps = -1;
}

/* Steps forward, so often, without a word. */
static enum remote_way steps_on(struct remote_travel *t, int64_t n)
{
	struct remote_run how = {.number = t->focus,
				 .step = true,
				 .wake = t->wake,
				 .context = t->context,
				 .quiet = &all_signals};
	struct remote_stop stop;

	for (int64_t i = 0; i < n; i++) {
		do
			remote_process_run(&t->live, &how, &stop);
		while (stop.kind == REMOTE_SIGNAL);
		if (stop.kind == REMOTE_TOLD)
			return REMOTE_WAY_STOPPED;
		if (stop.kind == REMOTE_GONE || t->live.unsure) {
			rp_say(t->live.unsure ? "the way back was not found: threads waited"
					      : "the process ended on the way back");
			return REMOTE_WAY_LOST;
		}
		t->steps++;
	}
	return REMOTE_WAY_DONE;
}

/* The last stay is what the process was; it becomes the process again. */
static enum remote_way stay_there(struct remote_travel *t, enum remote_way way)
{
	if (remote_stay_take_up(t, t->stays - 1) != 0) {
		rp_say("the process could not be copied");
		return REMOTE_WAY_LOST;
	}
	if (t->stays > 1)
		remote_stay_remove(t, t->stays - 1);
	return way;
}

static enum remote_way begin_search(struct remote_travel *t)
{
	int rc = t->no_copy ? t->no_copy : remote_stay_push(t);

	t->silent = true;
	t->awake.pid = 0;
	if (!rc)
		return REMOTE_WAY_DONE;
	rp_say("there is no way back: the process cannot be copied: %s", strerror(-rc));
	return REMOTE_WAY_LOST;
}

/* To one instruction before the last stay, which is left out then. */
static enum remote_way one_before(struct remote_travel *t)
{
	enum remote_way way = REMOTE_WAY_DONE;
	int64_t steps;
	bool behind;

	for (;;) {
		way = t->stays == 1 ? remote_far_earlier(t) : REMOTE_WAY_DONE;
		if (way == REMOTE_WAY_DONE)
			way = remote_find_turn(t, &behind);
		if (way == REMOTE_WAY_DONE && behind)
			return stay_there(t, REMOTE_WAY_DONE);
		if (way == REMOTE_WAY_DONE)
			way = remote_find_steps(t);
		if (way != REMOTE_WAY_DONE)
			return stay_there(t, way);
		steps = t->stay[t->stays - 1].steps;
		if (steps > 0)
			break;
		remote_stay_forget(t);
	}
	if (remote_stay_take_up(t, t->stays - 2) != 0)
		return stay_there(t, REMOTE_WAY_LOST);
	/* More of them may follow. */
	if (steps > 2 * CLOSE) {
		way = steps_on(t, steps - CLOSE);
		if (way == REMOTE_WAY_DONE) {
			struct remote_stay stay = {.steps = steps - CLOSE, .printed = t->printed};

			stay.since = remote_process_cpu(&t->live) - t->base;
			if (remote_copy_keep(&t->live, &t->slot->copy, &stay.copy) == 0) {
				remote_stay_insert(t, t->stays - 1, &stay);
				t->base = remote_process_cpu(&t->live);
				t->steps = 0;
				steps = CLOSE;
			}
		}
	}
	if (way == REMOTE_WAY_DONE)
		way = steps_on(t, steps - 1 - t->steps);
	if (way != REMOTE_WAY_DONE)
		return stay_there(t, way);
	remote_stay_forget(t);
	return REMOTE_WAY_DONE;
}

static enum remote_way end_search(struct remote_travel *t, enum remote_way way)
{
	remote_travel_drain(t);
	t->silent = false;
	return way;
}

enum remote_way remote_travel_step_back(struct remote_travel *t)
{
	enum remote_way way = begin_search(t);

	if (way == REMOTE_WAY_DONE)
		way = one_before(t);
	return end_search(t, way);
}

/* To the last of these before the last stay, which is left out then. */
static enum remote_way last_before(struct remote_travel *t, const struct remote_points *points,
				   int signal, struct remote_stop *stop)
{
	enum remote_way way;
	unsigned number;
	uint64_t hits;
	bool here;

	for (;;) {
		way = t->stays == 1 ? remote_far_earlier(t) : REMOTE_WAY_DONE;
		if (way != REMOTE_WAY_DONE)
			return stay_there(t, way);
		way = remote_find_pass(t, points, signal, 0, &hits, stop);
		if (way == REMOTE_WAY_LOST) {
			way = remote_find_near(t);
			if (way == REMOTE_WAY_DONE)
				way = remote_find_pass(t, points, signal, 0, &hits, stop);
		}
		if (way != REMOTE_WAY_DONE)
			return stay_there(t, way);
		if (hits)
			break;
		/* Two stays may be the same moment. */
		here = t->stay[t->stays - 1].steps == 0;
		remote_stay_forget(t);
		if (!here && remote_find_break(t, points, &number)) {
			*stop = (struct remote_stop){.kind = REMOTE_BREAK, .number = number};
			way = stay_there(t, REMOTE_WAY_DONE);
			remote_travel_look_at(t, number);
			return way;
		}
	}
	way = remote_find_pass(t, points, signal, hits, &hits, stop);
	if (way != REMOTE_WAY_DONE)
		return stay_there(t, way);
	remote_stay_forget(t);
	t->steps = -1;
	remote_travel_look_at(t, stop->number);
	return REMOTE_WAY_DONE;
}

enum remote_way remote_travel_back(struct remote_travel *t, struct remote_stop *stop)
{
	enum remote_way way = begin_search(t);

	if (way == REMOTE_WAY_DONE)
		way = last_before(t, &t->points, 0, stop);
	/* What was written there is as it was before. */
	if (way == REMOTE_WAY_DONE && stop->kind == REMOTE_WATCHED && !stop->event) {
		way = begin_search(t);
		if (way == REMOTE_WAY_DONE)
			way = one_before(t);
	}
	return end_search(t, way);
}

enum remote_way remote_travel_back_to_signal(struct remote_travel *t, int signal)
{
	static const struct remote_points none;
	struct remote_stop stop;
	struct remote_thread *thread;
	enum remote_way way = begin_search(t);

	if (way == REMOTE_WAY_DONE)
		way = last_before(t, &none, signal, &stop);
	thread = way == REMOTE_WAY_DONE ? remote_process_thread(&t->live, stop.number) : NULL;
	/* It has yet to be told of. */
	if (thread) {
		thread->signal = 0;
		thread->has_pending = true;
		thread->pending = W_STOPCODE(signal);
	}
	return end_search(t, way);
}
