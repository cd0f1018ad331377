/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the last stay again, from the one before. First by time: the process is run for most of
 * the time that lies between, and a copy kept there, until little is left. Where that ran too far
 * the goal does not come any more, and the copy is thrown away. Then by address: each passage is
 * compared. At last on foot (walk.c).
 *
 * Numbers of threads are not the same in two processes, and words that look like them may be
 * something else, such as a loop's counter that has just come to that. Then the way is gone once
 * more, in a third process: after as many passages, a counter is where it was, and a number is that
 * of the third one. From then on the places are known to have numbers.
 */
#include <signal.h>
#include <time.h>

#include "base/log.h"
#include "remote/process-inner.h"
#include "remote/travel.h"

#define NEAR 0.0001    /* seconds of processor time that need not be divided */
#define PASSAGES 50000 /* that are compared before a nearer place is looked for */
#define PASSAGES_LAST 2000000
/*
 * Steps on foot before a nearer place is looked for. Calls are run over from the last event on, so
 * it takes few of them; a rank that says its last word takes some for each letter of its paths. A
 * nearer place may be in a loop.
 */
#define WALK_FIRST 60000
#define WALK_LAST 3000000
#define SLACK 0.5    /* seconds more than it should take */
#define CALL_BYTES 2 /* of a system call */
#define TRIES 16     /* to tell numbers of threads from what is counted */

static const uint64_t all_signals = ~0ull;

static uint64_t pc_of_thread(const struct remote_process *p, unsigned number)
{
	const struct remote_thread *thread = remote_process_thread(p, number);
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

static uint64_t pc_of(const struct remote_travel *t, const struct remote_process *p)
{
	return pc_of_thread(p, t->focus);
}

bool remote_find_break(const struct remote_travel *t, const struct remote_points *points,
		       unsigned *number)
{
	const struct remote_process *there = &t->stay[t->stays - 1].copy.process;

	*number = there->turns ? there->turn : t->focus;
	return has_break(points, pc_of_thread(there, *number));
}

static enum remote_way lost(const struct remote_travel *t, const char *why)
{
	(void)t;
	rp_say("the way back was not found: %s", why);
	return REMOTE_WAY_LOST;
}

/* Where it was time that let another thread run, what was done since is not what was done before.
 */
static enum remote_way if_sure(const struct remote_travel *t, enum remote_way way)
{
	return way == REMOTE_WAY_DONE && t->live.unsure
		       ? lost(t, "threads waited for something that nobody but time decides")
		       : way;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Has it done nothing for so long that it waits for what does not come a second time? */
static bool is_asleep(struct remote_travel *t)
{
	double cpu = remote_process_cpu(&t->live);

	if (t->awake.pid != t->live.pid || t->awake.cpu != cpu) {
		t->awake.pid = t->live.pid;
		t->awake.cpu = cpu;
		t->awake.at = now();
	}
	t->awake.not_any_more = now() - t->awake.at > t->front->patience;
	return t->awake.not_any_more;
}

/* Its word is there to be read a moment before it is at its end, where the goal may be. */
static bool is_at_end(const struct remote_travel *t)
{
	return __atomic_load_n(&t->slot->state, __ATOMIC_ACQUIRE) == REPLAY_AT_END;
}

/* Somebody interrupts it, or it has come to its end, far behind the goal, or nowhere. */
bool remote_find_wakes(void *context)
{
	struct remote_travel *t = context;

	return t->wake(t->context) || is_at_end(t) || is_asleep(t);
}

enum remote_way remote_find_told(struct remote_travel *t)
{
	if (is_at_end(t))
		return REMOTE_WAY_LOST;
	if (!t->awake.not_any_more)
		return REMOTE_WAY_STOPPED;
	t->awake.not_any_more = false;
	t->awake.pid = 0;
	rp_say("the way back was not found: the program waits for something that came only once "
	       "(--patience=%g)",
	       t->front->patience);
	return REMOTE_WAY_STOPPED;
}

/* Where the process was like the goal, and may have been there. */
struct alike {
	uint64_t passed, places;
	bool again; /* the way is to be gone once more */
};

/*
 * Is that the goal? `passed`: counts where it could have been, from 1 on. If the process may be
 * there, and if not then nowhere before, the next one will tell.
 */
static bool is_goal(struct remote_travel *t, struct alike *a, uint64_t passed)
{
	struct remote_stay *goal = &t->stay[t->stays - 1];
	uint64_t places;
	enum remote_same same = remote_stay_compare(t, goal, &places);

	if (same != REMOTE_ALIKE || passed < a->passed)
		return same == REMOTE_SAME;
	if (passed == a->passed && places == a->places) {
		goal->places = places;
		return true;
	}
	*a = (struct alike){passed, places, true};
	return false;
}

/* The moment is the only one of its kind. */
static bool is_only_goal(struct remote_travel *t)
{
	struct remote_stay *goal = &t->stay[t->stays - 1];
	uint64_t places;
	enum remote_same same = remote_stay_compare(t, goal, &places);

	if (same == REMOTE_ALIKE)
		goal->places = places;
	return same != REMOTE_OTHER;
}

/* Until the goal, or until it has passed the address so often; *passed: how often that was. */
static enum remote_way run_on(struct remote_travel *t, const struct remote_points *points,
			      int signal, uint64_t most_hits, uint64_t most_passed, uint64_t *hits,
			      struct remote_stop *last, uint64_t *passed, struct alike *alike)
{
	const struct remote_stay *goal = &t->stay[t->stays - 1];
	const struct remote_process *there = &goal->copy.process;
	/* Who runs there comes to its address; at the beginning of a turn nobody does. */
	unsigned number = there->turns ? there->turn : t->focus;
	const struct remote_thread *runs = remote_process_thread(there, number);
	bool at_turn = there->turns && runs && runs->ran < there->taken;
	double limit = 20 * goal->since + SLACK;
	uint64_t quiet = all_signals & ~(signal ? 1ull << signal : 0);
	struct remote_run how = {.points = points,
				 .number = number,
				 .mark = pc_of_thread(there, number),
				 .turn = there->turns ? there->taken + !at_turn : 0,
				 .wake = remote_find_wakes,
				 .context = t,
				 .quiet = &quiet};
	struct remote_stop stop;
	unsigned rounds = 0;

	*hits = *passed = 0;
	if (is_goal(t, alike, 1))
		return REMOTE_WAY_DONE;
	while (!alike->again) {
		how.cpu = limit - (remote_process_cpu(&t->live) - t->base);
		if (how.cpu <= 0)
			return REMOTE_WAY_LOST;
		remote_process_run(&t->live, &how, &stop);
		if (++rounds % 256 == 0 && !is_at_end(t) && remote_find_wakes(t))
			return remote_find_told(t);
		switch (stop.kind) {
		case REMOTE_TOLD:
			/* It may have been stopped just where it was about to stop. */
			return is_at_end(t) && is_only_goal(t) ? REMOTE_WAY_DONE
							       : remote_find_told(t);
		case REMOTE_TURN:
			return at_turn && is_only_goal(t) ? REMOTE_WAY_DONE : REMOTE_WAY_LOST;
		case REMOTE_MARK:
			++*passed;
			if (is_goal(t, alike, *passed + 1))
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
			if (stop.event && pc_of_thread(&t->live, number) == how.mark &&
			    is_only_goal(t))
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
	return REMOTE_WAY_LOST;
}

/* Somebody has ended it, perhaps for want of memory: nothing is like it any more. */
static bool is_ended(const struct remote_process *p)
{
	return remote_process_state(p->pid, p->pid) == 'Z';
}

static enum remote_way pass(struct remote_travel *t, const struct remote_points *points, int signal,
			    uint64_t most_hits, uint64_t most_passed, uint64_t *hits,
			    struct remote_stop *last, uint64_t *passed)
{
	struct alike alike = {0};
	enum remote_way way;
	unsigned tries = 0;

	if (is_ended(&t->stay[t->stays - 1].copy.process)) {
		lost(t, "a copy of the process was ended");
		return REMOTE_WAY_STOPPED;
	}
	do {
		alike.again = false;
		if (remote_stay_take_up(t, t->stays - 2) != 0)
			return lost(t, "the process could not be copied");
		way = run_on(t, points, signal, most_hits, most_passed, hits, last, passed, &alike);
	} while (alike.again && ++tries < TRIES);
	return if_sure(t, way);
}

enum remote_way remote_find_pass(struct remote_travel *t, const struct remote_points *points,
				 int signal, uint64_t most, uint64_t *hits,
				 struct remote_stop *last)
{
	uint64_t passed;

	return pass(t, points, signal, most, 0, hits, last, &passed);
}

/* Is the goal found from the stay before it? *passed: how often its address came, the goal's too.
 */
static enum remote_way is_found(struct remote_travel *t, uint64_t most, uint64_t *passed)
{
	struct remote_stop last;
	enum remote_way way;
	uint64_t hits;

	way = pass(t, NULL, 0, 0, most, &hits, &last, passed);
	/* How long it takes from a copy is known now; it was measured in another process. */
	if (way == REMOTE_WAY_DONE)
		t->stay[t->stays - 1].since = remote_process_cpu(&t->live) - t->base;
	return way;
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
	if (stop.kind != REMOTE_TIRED || t->slot->state == REPLAY_AT_END || t->live.unsure)
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
	if (t->live.unsure)
		return if_sure(t, REMOTE_WAY_DONE);
	stay.printed = t->printed;
	stay.since = remote_process_cpu(&t->live) - t->base;
	if (remote_copy_keep(&t->live, &t->slot->copy, &stay.copy) != 0)
		return lost(t, "the process could not be copied");
	remote_stay_insert(t, t->stays - 1, &stay);
	return REMOTE_WAY_DONE;
}

/*
 * Of threads that take turns: from the stay before the last one until that turn begins, or until
 * the address has been passed so often; *passed: how often that was.
 */
static enum remote_way run_to_turn(struct remote_travel *t, uint64_t turn, uint64_t mark,
				   uint64_t most, uint64_t *passed)
{
	struct remote_run how = {.number = t->focus,
				 .turn = turn,
				 .mark = mark,
				 .wake = remote_find_wakes,
				 .context = t,
				 .quiet = &all_signals};
	struct remote_stop stop;

	*passed = 0;
	if (remote_stay_take_up(t, t->stays - 2) != 0)
		return lost(t, "the process could not be copied");
	do {
		remote_process_run(&t->live, &how, &stop);
		if (stop.kind == REMOTE_TOLD)
			return remote_find_told(t);
		if (stop.kind == REMOTE_GONE)
			return lost(t, "the process ended on the way");
		*passed += stop.kind == REMOTE_MARK;
	} while (stop.kind != REMOTE_TURN && (!most || *passed < most));
	t->steps = -1;
	remote_travel_drain(t);
	return if_sure(t, REMOTE_WAY_DONE);
}

/* A copy where the turn begins in which the thread was the last time. */
static enum remote_way stay_at_turn(struct remote_travel *t)
{
	const struct remote_thread *thread =
		remote_process_thread(&t->stay[t->stays - 1].copy.process, t->focus);
	uint64_t turn = thread ? thread->ran : 0, passed;
	struct remote_stay stay = {.steps = -1};
	enum remote_way way;

	if (!t->live.turns || t->stay[t->stays - 2].copy.process.taken >= turn)
		return REMOTE_WAY_DONE;
	way = run_to_turn(t, turn, 0, 0, &passed);
	if (way != REMOTE_WAY_DONE)
		return way;
	stay.printed = t->printed;
	stay.since = remote_process_cpu(&t->live) - t->base;
	if (remote_copy_keep(&t->live, &t->slot->copy, &stay.copy) != 0)
		return lost(t, "the process could not be copied");
	remote_stay_insert(t, t->stays - 1, &stay);
	return REMOTE_WAY_DONE;
}

enum remote_way remote_find_turn(struct remote_travel *t, bool *behind)
{
	const struct remote_process *goal = &t->stay[t->stays - 1].copy.process;
	const struct remote_thread *thread = remote_process_thread(goal, t->focus);
	uint64_t ran = thread ? thread->ran : 0, mark = pc_of(t, goal), passed;
	enum remote_way way;

	*behind = false;
	if (!t->live.turns || ran == goal->taken)
		return REMOTE_WAY_DONE;
	if (!ran)
		return REMOTE_WAY_BEGIN;
	/* Who waits stands before its call; who does not has made the one in which it gave way. */
	*behind = thread && thread->wait == REMOTE_READY;
	mark -= *behind ? CALL_BYTES : 0;
	while (t->stays > 1 && t->stay[t->stays - 2].copy.process.taken > ran)
		remote_stay_forget(t);
	if (t->stays == 1)
		return REMOTE_WAY_BEGIN;
	way = stay_at_turn(t);
	if (way == REMOTE_WAY_DONE)
		way = run_to_turn(t, ran + 1, mark, 0, &passed);
	if (way == REMOTE_WAY_DONE && !passed)
		way = lost(t, "a thread was stopped by time, not by what it did");
	if (way == REMOTE_WAY_DONE)
		way = run_to_turn(t, ran + 1, mark, passed, &passed);
	if (way != REMOTE_WAY_DONE)
		return way;
	remote_stay_forget(t);
	return remote_stay_push(t) == 0 ? REMOTE_WAY_DONE
					: lost(t, "the process could not be copied");
}

enum remote_way remote_find_steps(struct remote_travel *t)
{
	uint64_t passed;
	enum remote_way way;

	if (t->stay[t->stays - 1].steps >= 0)
		return REMOTE_WAY_DONE;
	way = stay_at_turn(t);
	if (way != REMOTE_WAY_DONE)
		return way;
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
