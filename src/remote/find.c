/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the last stay again, from the one before. First by time: the process is run for most of
 * the time that lies between, and a copy kept there, until little is left. Where that ran too far
 * the goal does not come any more, and the copy is thrown away. Then by address: each passage is
 * compared. At last on foot (walk.c).
 */
#include <signal.h>

#include "base/log.h"
#include "remote/travel.h"

#define NEAR 0.0001    /* seconds of processor time that need not be divided */
#define PASSAGES 50000 /* that are compared before a nearer place is looked for */
#define PASSAGES_LAST 2000000
#define WALK_FIRST 5000 /* steps on foot before a nearer place is looked for */
#define WALK_LAST 3000000
#define SLACK 0.5 /* seconds more than it should take */

static const uint64_t all_signals = ~0ull;

static uint64_t pc_of(const struct remote_travel *t, const struct remote_process *p)
{
	const struct remote_thread *thread = remote_process_thread(p, t->focus);
	struct user_regs_struct regs;

	return thread && remote_process_registers(thread, &regs) == 0 ? regs.rip : 0;
}

static bool has_break(const struct remote_points *points, uint64_t at)
{
	for (size_t i = 0; points && i < points->breaks; i++) {
		if (points->at[i] == at)
			return true;
	}
	return false;
}

bool remote_find_break(const struct remote_travel *t, const struct remote_points *points)
{
	return has_break(points, pc_of(t, &t->stay[t->stays - 1].copy.process));
}

static enum remote_way lost(const struct remote_travel *t, const char *why)
{
	(void)t;
	rp_say("the way back was not found: %s", why);
	return REMOTE_WAY_LOST;
}

/* Somebody interrupts it, or it has come to its end, far behind the goal. */
bool remote_find_wakes(void *context)
{
	struct remote_travel *t = context;

	return t->wake(t->context) || remote_travel_at_end(t);
}

enum remote_way remote_find_told(struct remote_travel *t)
{
	return remote_travel_at_end(t) ? REMOTE_WAY_LOST : REMOTE_WAY_STOPPED;
}

/* Until the goal, or until it has passed the address so often; *passed: how often that was. */
static enum remote_way pass(struct remote_travel *t, const struct remote_points *points, int signal,
			    uint64_t most_hits, uint64_t most_passed, uint64_t *hits,
			    struct remote_stop *last, uint64_t *passed)
{
	const struct remote_stay *goal = &t->stay[t->stays - 1];
	double limit = 20 * goal->since + SLACK;
	uint64_t quiet = all_signals & ~(signal ? 1ull << signal : 0);
	struct remote_run how = {.points = points,
				 .number = t->focus,
				 .mark = pc_of(t, &goal->copy.process),
				 .wake = remote_find_wakes,
				 .context = t,
				 .quiet = &quiet};
	struct remote_stop stop;
	unsigned runs = 0;

	*hits = *passed = 0;
	if (remote_stay_is_here(t, goal))
		return REMOTE_WAY_DONE;
	for (;;) {
		how.cpu = limit - (remote_process_cpu(&t->live) - t->base);
		if (how.cpu <= 0)
			return REMOTE_WAY_LOST;
		remote_process_run(&t->live, &how, &stop);
		if (++runs % 256 == 0 && remote_find_wakes(t))
			return remote_find_told(t);
		switch (stop.kind) {
		case REMOTE_TOLD:
			return remote_find_told(t);
		case REMOTE_MARK:
			++*passed;
			if (remote_stay_is_here(t, goal))
				return REMOTE_WAY_DONE;
			if (most_passed && *passed >= most_passed)
				return REMOTE_WAY_LOST;
			/* The process is moved over a breakpoint in the same place. */
			if (!has_break(points, how.mark))
				break;
			stop.kind = REMOTE_BREAK;
			goto hit;
		case REMOTE_WATCHED:
			/* It is the goal that stands where an event has just begun. */
			if (stop.event && pc_of(t, &t->live) == how.mark &&
			    remote_stay_is_here(t, goal))
				return REMOTE_WAY_DONE;
			/* fallthrough */
		case REMOTE_BREAK:
		case REMOTE_SIGNAL:
hit:
			*last = stop;
			if (++*hits == most_hits)
				return REMOTE_WAY_DONE;
			break;
		case REMOTE_GONE:
		case REMOTE_TIRED:
			return REMOTE_WAY_LOST;
		default:
			break;
		}
	}
}

enum remote_way remote_find_pass(struct remote_travel *t, const struct remote_points *points,
				 int signal, uint64_t most, uint64_t *hits,
				 struct remote_stop *last)
{
	uint64_t passed;

	if (remote_stay_take_up(t, t->stays - 2) != 0)
		return lost(t, "the process could not be copied");
	return pass(t, points, signal, most, 0, hits, last, &passed);
}

/* Is the goal found from the stay before it? *passed: how often its address came, the goal's too.
 */
static enum remote_way is_found(struct remote_travel *t, uint64_t most, uint64_t *passed)
{
	struct remote_stop last;
	uint64_t hits;

	if (remote_stay_take_up(t, t->stays - 2) != 0)
		return lost(t, "the process could not be copied");
	return pass(t, NULL, 0, 0, most, &hits, &last, passed);
}

/* A copy behind the stay before the goal, after that much time. False: it did not come to be. */
static bool approach(struct remote_travel *t, double seconds)
{
	struct remote_run how = {.number = t->focus,
				 .wake = remote_find_wakes,
				 .context = t,
				 .quiet = &all_signals,
				 .cpu = seconds};
	struct remote_stay stay = {.steps = -1};
	struct remote_stop stop;

	if (remote_stay_take_up(t, t->stays - 2) != 0)
		return false;
	remote_process_run(&t->live, &how, &stop);
	/* Who has said his last word waits, without a sign and for ever. */
	if (stop.kind != REMOTE_TIRED || t->slot->state == REPLAY_AT_END)
		return false;
	remote_travel_drain(t);
	stay.printed = t->printed;
	stay.since = remote_process_cpu(&t->live) - t->base;
	if (remote_copy_keep(&t->live, &t->slot->copy, &stay.copy) != 0)
		return false;
	remote_stay_insert(t, t->stays - 1, &stay);
	return true;
}

static enum remote_way near(struct remote_travel *t, uint64_t *passed)
{
	static const double parts[] = {0.9, 0.7, 0.4};
	size_t first = t->stays - 2;
	unsigned part = 0;
	enum remote_way way;
	bool found;

	/* Where the address is rare it is found at once. */
	way = is_found(t, PASSAGES, passed);
	if (way == REMOTE_WAY_STOPPED ||
	    (way == REMOTE_WAY_DONE && t->stay[t->stays - 1].since < NEAR))
		return way;
	found = way == REMOTE_WAY_DONE;
	for (; part < sizeof(parts) / sizeof(parts[0]); part++) {
		while (t->stay[t->stays - 1].since > NEAR &&
		       approach(t, parts[part] * t->stay[t->stays - 1].since))
			continue;
		way = is_found(t, PASSAGES_LAST, passed);
		if (way != REMOTE_WAY_LOST)
			return way;
		while (t->stays - 2 > first)
			remote_stay_remove(t, t->stays - 2);
	}
	if (found)
		return is_found(t, PASSAGES, passed);
	return lost(t, "what the program did differs from what it did before");
}

enum remote_way remote_find_near(struct remote_travel *t)
{
	uint64_t passed;

	return near(t, &passed);
}

/* A copy at the last passage before the goal. */
static enum remote_way stay_at_passage(struct remote_travel *t, uint64_t wanted)
{
	struct remote_stay stay = {.steps = -1};
	struct remote_run how = {.number = t->focus,
				 .mark = pc_of(t, &t->stay[t->stays - 1].copy.process),
				 .wake = remote_find_wakes,
				 .context = t,
				 .quiet = &all_signals};
	struct remote_stop stop;

	if (remote_stay_take_up(t, t->stays - 2) != 0)
		return lost(t, "the process could not be copied");
	for (uint64_t passed = 0; passed < wanted; passed += stop.kind == REMOTE_MARK) {
		remote_process_run(&t->live, &how, &stop);
		if (stop.kind == REMOTE_TOLD)
			return remote_find_told(t);
		if (stop.kind == REMOTE_GONE)
			return lost(t, "the process ended on the way");
	}
	stay.printed = t->printed;
	stay.since = remote_process_cpu(&t->live) - t->base;
	if (remote_copy_keep(&t->live, &t->slot->copy, &stay.copy) != 0)
		return lost(t, "the process could not be copied");
	remote_stay_insert(t, t->stays - 1, &stay);
	return REMOTE_WAY_DONE;
}

enum remote_way remote_find_steps(struct remote_travel *t)
{
	uint64_t passed;
	enum remote_way way;

	if (t->stay[t->stays - 1].steps >= 0)
		return REMOTE_WAY_DONE;
	way = is_found(t, PASSAGES, &passed);
	if (way == REMOTE_WAY_DONE && passed > 1)
		way = stay_at_passage(t, passed - 1);
	if (way == REMOTE_WAY_DONE)
		way = remote_walk(t, WALK_FIRST);
	if (way != REMOTE_WAY_LOST)
		return way;
	way = near(t, &passed);
	if (way == REMOTE_WAY_DONE && passed > 1)
		way = stay_at_passage(t, passed - 1);
	if (way == REMOTE_WAY_DONE)
		way = remote_walk(t, WALK_LAST);
	return way == REMOTE_WAY_LOST ? lost(t, "it is too far from anything that is known") : way;
}
