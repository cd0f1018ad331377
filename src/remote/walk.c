/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From one stay to the next on foot: instruction by instruction, but calls in which the goal cannot
 * be are run over. It can be in a call only if its stack is deeper and has the call's return
 * address in that place. It is walked twice: once to learn how long the way is, and once to a place
 * a few single instructions before the goal, where a copy is kept. Mostly the way is the same each
 * time; but who asks for the time waits in the vDSO while the kernel changes it. Invariant: from a
 * copy that is kept it has been walked to the goal.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "remote/registers.h"
#include "remote/travel.h"

#define LONGEST 15 /* bytes of an instruction */
#define RECENT 64  /* steps of which it is known what they were */
#define TRIES 20   /* walks of which each was as long as the one before it */

static const uint64_t all_signals = ~0ull;

struct walk {
	struct remote_travel *travel;
	const struct remote_stay *goal; /* NULL: it ends after so many steps */
	struct user_regs_struct there;  /* its registers */
	struct user_regs_struct here;
	bool in_call;      /* the last step has made a call, in which the goal is not */
	uint64_t back, sp; /* where that returns to, and the stack there */
	int64_t steps;
	enum { ALONE = 0, OVER_CALL, IN_VDSO } was[RECENT]; /* the last ones */
	uint64_t vdso, vdso_end;
};

static void find_vdso(struct walk *w)
{
	char path[32], line[4400];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", w->travel->live.pid);
	maps = fopen(path, "re");
	while (maps && !w->vdso && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "[vdso]"))
			(void)!sscanf(line, "%" SCNx64 "-%" SCNx64, &w->vdso, &w->vdso_end);
	}
	if (maps)
		fclose(maps);
}

static int look(struct walk *w)
{
	const struct remote_thread *t = remote_process_thread(&w->travel->live, w->travel->focus);

	return t ? remote_process_registers(t, &w->here) : -1;
}

static bool is_there(const struct walk *w)
{
	uint64_t places;

	return w->here.rip == w->there.rip && w->here.rsp == w->there.rsp &&
	       remote_stay_compare(w->travel, w->goal, &places) == REMOTE_SAME;
}

/* Has the step from there made a call, and may the goal be inside? */
static void look_for_call(struct walk *w, const struct user_regs_struct *before)
{
	const struct remote_process *goal = &w->goal->copy.process;
	uint64_t back = 0, word = 0;

	w->in_call = false;
	if (w->here.rsp != before->rsp - 8 ||
	    remote_process_read(&w->travel->live, w->here.rsp, &back, 8) != 8 ||
	    back - before->rip - 1 >= LONGEST || w->here.rip == back)
		return;
	if (w->there.rsp <= w->here.rsp && remote_process_read(goal, w->here.rsp, &word, 8) == 8 &&
	    word == back)
		return;
	w->in_call = true;
	w->back = back;
	w->sp = before->rsp;
}

/* Over the call, or one instruction. */
static enum remote_way step(struct walk *w)
{
	struct remote_travel *t = w->travel;
	struct remote_run how = {.number = t->focus,
				 .step = !w->in_call,
				 .mark = w->in_call ? w->back : 0,
				 .wake = remote_find_wakes,
				 .context = t,
				 .quiet = &all_signals};
	struct user_regs_struct before = w->here;
	struct remote_stop stop;

	if (w->steps % 256 == 255 && remote_find_wakes(t))
		return remote_find_told(t);
	do {
		remote_process_run(&t->live, &how, &stop);
		if (stop.kind == REMOTE_TOLD)
			return remote_find_told(t);
		if (stop.kind == REMOTE_GONE || look(w) != 0)
			return REMOTE_WAY_LOST;
	} while (stop.kind == REMOTE_SIGNAL || (w->in_call && w->here.rsp != w->sp));
	w->was[w->steps % RECENT] = w->in_call                                     ? OVER_CALL
				    : before.rip - w->vdso < w->vdso_end - w->vdso ? IN_VDSO
										   : ALONE;
	w->steps++;
	if (w->in_call)
		w->in_call = false;
	else
		look_for_call(w, &before);
	return REMOTE_WAY_DONE;
}

/* From the stay before the last one to that, or so many steps. */
static enum remote_way walk(struct walk *w, int64_t most, bool to_goal)
{
	struct remote_travel *t = w->travel;
	enum remote_way way = REMOTE_WAY_DONE;

	w->goal = &t->stay[t->stays - 1];
	w->steps = 0;
	w->in_call = false;
	if (remote_stay_take_up(t, t->stays - 2) != 0 || look(w) != 0)
		return REMOTE_WAY_LOST;
	while (way == REMOTE_WAY_DONE && w->steps < most && !(to_goal && is_there(w)))
		way = step(w);
	if (way == REMOTE_WAY_DONE && ((to_goal && !is_there(w)) || t->live.unsure))
		way = REMOTE_WAY_LOST;
	return way;
}

/*
 * A copy after so many steps of the way, which has been walked to the goal in `all` steps. *again:
 * it was not the same way.
 */
static enum remote_way keep_at(struct walk *w, int64_t steps, int64_t all, bool *again)
{
	struct remote_travel *t = w->travel;
	struct remote_stay stay = {.steps = -1};
	enum remote_way way = walk(w, steps, false);

	*again = way == REMOTE_WAY_LOST;
	if (way != REMOTE_WAY_DONE)
		return way;
	remote_travel_drain(t);
	stay.printed = t->printed;
	stay.since = remote_process_cpu(&t->live) - t->base;
	if (remote_copy_keep(&t->live, &t->slot->copy, &stay.copy) != 0)
		return REMOTE_WAY_LOST;
	while (way == REMOTE_WAY_DONE && w->steps < all)
		way = step(w);
	if (way == REMOTE_WAY_DONE && !is_there(w))
		way = REMOTE_WAY_LOST;
	*again = way == REMOTE_WAY_LOST;
	if (way == REMOTE_WAY_DONE)
		remote_stay_insert(t, t->stays - 1, &stay);
	else
		remote_copy_drop(&stay.copy);
	return way;
}

/* How many steps before the goal are such that they are the same each time. */
static int64_t sure_steps(const struct walk *w)
{
	int64_t n = 0;

	while (n < w->steps && n < RECENT) {
		int was = w->was[(w->steps - n - 1) % RECENT];

		if (was == OVER_CALL || (was == IN_VDSO && n > 0))
			break;
		n++;
	}
	return n;
}

enum remote_way remote_walk(struct remote_travel *t, int64_t most)
{
	struct walk w = {.travel = t};
	const struct remote_thread *there =
		remote_process_thread(&t->stay[t->stays - 1].copy.process, t->focus);
	unsigned tries = 0;

	if (!there || remote_process_registers(there, &w.there) != 0)
		return REMOTE_WAY_LOST;
	find_vdso(&w);
	for (;;) {
		enum remote_way way = walk(&w, most, true);
		int64_t all = w.steps, single = sure_steps(&w);
		bool again = false;

		if (way != REMOTE_WAY_DONE)
			return way;
		/* If it came out of a call, its end is inside of that. */
		if (single < all)
			way = keep_at(&w, all - (single ? single : 1), all, &again);
		if (again && ++tries < TRIES)
			continue;
		if (way == REMOTE_WAY_DONE && (single || !all))
			t->stay[t->stays - 1].steps = single;
		if (way != REMOTE_WAY_DONE || single || !all)
			return way;
	}
}
