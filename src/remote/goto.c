/* SPDX-License-Identifier: Apache-2.0 */
/* Places of the recording: its ends, and events of the rank, which the rank counts in its slot. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "remote/travel.h"

#define APART 0.25 /* seconds of processor time between two copies */

static const uint64_t all_signals = ~0ull;

enum remote_way remote_goto_begin(struct remote_travel *t)
{
	enum remote_way way = REMOTE_WAY_DONE;

	t->silent = true;
	if (!t->is_whole || t->lost > 0) {
		way = remote_far_begin(t);
	} else {
		while (t->stays > 1)
			remote_stay_remove(t, t->stays - 1);
		if (!t->stays || remote_stay_take_up(t, 0) != 0)
			way = REMOTE_WAY_LOST;
	}
	t->silent = false;
	return way;
}

enum remote_way remote_goto_run(struct remote_travel *t, const struct remote_points *points)
{
	struct remote_run how = {.points = points,
				 .number = t->focus,
				 .word = t->state,
				 .wake = t->state ? t->wake : remote_find_wakes,
				 .context = t->state ? t->context : t,
				 .quiet = &all_signals};
	struct remote_stop stop;

	t->awake.pid = 0;
	for (;;) {
		how.cpu = t->no_copy || t->looks_only ? 0 : APART;
		remote_process_run(&t->live, &how, &stop);
		t->steps = -1;
		remote_travel_drain(t);
		remote_travel_doubt(t);
		switch (stop.kind) {
		case REMOTE_TIRED:
			remote_travel_keep(t);
			break;
		case REMOTE_TOLD:
			return remote_travel_at_end(t) ? REMOTE_WAY_LOST : REMOTE_WAY_STOPPED;
		case REMOTE_GONE:
			return REMOTE_WAY_LOST;
		default:
			return REMOTE_WAY_DONE;
		}
	}
}

enum remote_way remote_goto_end(struct remote_travel *t)
{
	enum remote_way way;
	bool gone;

	if (remote_travel_at_end(t))
		return t->live.gone ? REMOTE_WAY_LOST : REMOTE_WAY_DONE;
	way = remote_far_go(t, UINT64_MAX, &gone);
	if (way == REMOTE_WAY_DONE)
		way = remote_goto_run(t, NULL);
	return way == REMOTE_WAY_LOST && !t->live.gone ? REMOTE_WAY_DONE : way;
}

uint64_t remote_goto_slot(const struct remote_travel *t)
{
	const struct replay_front *f = t->front;
	char path[32], line[4400], name[4400];
	uint64_t start, found = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", t->live.pid);
	snprintf(name, sizeof(name), "%s/state\n", f->session);
	maps = fopen(path, "re");
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		if (strlen(line) > strlen(name) &&
		    strcmp(line + strlen(line) - strlen(name), name) == 0 &&
		    sscanf(line, "%" SCNx64, &start) == 1)
			found = start + (uint64_t)((const char *)t->slot - (const char *)f->state);
	}
	if (maps)
		fclose(maps);
	return found;
}

enum remote_way remote_goto_event(struct remote_travel *t, uint64_t event)
{
	uint64_t slot = remote_goto_slot(t), at = slot + offsetof(struct replay_slot, events);
	struct remote_points points = {
		.watch = {{.kind = REMOTE_WATCH_WRITE, .address = at, .length = 8}}};
	enum remote_way way;
	bool gone;

	if (!slot || !t->stays)
		return REMOTE_WAY_LOST;
	way = remote_far_go(t, event, &gone);
	if (way != REMOTE_WAY_DONE)
		return way;
	if (!gone && t->slot->events >> 1 >= event) {
		while (t->stays > 1 && remote_same_events(t, &t->stay[t->stays - 1]) >> 1 >= event)
			remote_stay_remove(t, t->stays - 1);
		if (remote_stay_take_up(t, t->stays - 1) != 0)
			return REMOTE_WAY_LOST;
	}
	t->silent = true;
	while (way == REMOTE_WAY_DONE && t->slot->events >> 1 < event)
		way = remote_goto_run(t, &points);
	t->silent = false;
	return way;
}

/* Seconds of processor time until the last stay. */
static double length(const struct remote_travel *t)
{
	double sum = t->lost;

	for (size_t i = 1; i < t->stays; i++)
		sum += t->stay[i].since;
	return sum;
}

double remote_travel_age(const struct remote_travel *t)
{
	double since = remote_process_cpu(&t->live) - t->base;

	return length(t) + (since > 0 ? since : 0);
}

void remote_goto_remember(struct remote_travel *t)
{
	struct remote_stay stay = {.printed = t->printed};
	double at = remote_travel_age(t);

	if (t->before_at > 0)
		remote_copy_drop(&t->before.copy);
	t->before_at = 0;
	if (remote_copy_keep(&t->live, &t->slot->copy, &stay.copy) != 0)
		return;
	t->before = stay;
	t->before_at = at > 0 ? at : 1e-9;
	t->before_part = t->part;
}

/* What is known belongs to another process: all that is left is where it was. */
static enum remote_way begin_there(struct remote_travel *t, struct remote_stay *to, double at)
{
	int rc;

	remote_far_drop(t);
	to->since = 0;
	to->steps = -1;
	remote_stay_insert(t, 0, to);
	t->shown = to->printed;
	t->is_whole = t->is_event = false;
	t->lost = at;
	t->part++;
	t->silent = false;
	rc = remote_stay_take_up(t, 0);
	remote_travel_find_state(t);
	return rc == 0 ? REMOTE_WAY_DONE : REMOTE_WAY_LOST;
}

enum remote_way remote_goto_return(struct remote_travel *t, struct remote_stay *to, double age,
				   unsigned part)
{
	bool lost;

	t->silent = true;
	if (part != t->part)
		return begin_there(t, to, age);
	while (t->stays > 1 && length(t) > age)
		remote_stay_remove(t, t->stays - 1);
	lost = remote_stay_go_to(t, to) != 0;
	t->silent = false;
	remote_copy_drop(&to->copy);
	if (lost)
		return REMOTE_WAY_LOST;
	t->base -= age - length(t);
	t->steps = -1;
	return REMOTE_WAY_DONE;
}

enum remote_way remote_goto_back(struct remote_travel *t)
{
	struct remote_stay to = t->before;
	double at = t->before_at;
	unsigned part = t->before_part;

	if (at <= 0)
		return REMOTE_WAY_BEGIN;
	t->before_at = 0;
	remote_goto_remember(t);
	return remote_goto_return(t, &to, at, part);
}
