/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parallel regions, single and barriers. libgomp gives the threads of a region their numbers in the
 * order in which they were made, so threads and their numbers are the same in every run. Its
 * threads wait for the next region inside of it: between two bodies a thread counts as blocked.
 */
#include "hook/thread/gomp/gomp.h"
#include "hook/thread/race/race.h"
#include "hook/thread/serial/baton.h"

#define SITE __builtin_return_address(0)

static void set_state(struct hook_thread *t, enum hook_thread_state state)
{
	if (t)
		t->wait.state = state;
}

void hook_gomp_region(void *arg)
{
	struct hook_gomp_team *team = arg;
	struct hook_gomp_frame f = {.outer = hook_gomp_frame, .team = team, .loop = team->loop};
	struct hook_thread *t = hook_self;

	if (t)
		t->life.makes_team = false;
	if (hook_depth || !hook_sync_mode || !t) {
		team->body(team->data);
		return;
	}
	set_state(t, HOOK_THREAD_RUNS);
	hook_gomp_body_left(t);
	hook_gomp_point(t);
	hook_gomp_frame = &f;
	hook_race_acquire(team);
	team->body(team->data);
	hook_race_release(HOOK_RACE_OVER(team));
	hook_gomp_body_ends(t);
	hook_race_frame_ends(&f);
	hook_gomp_frame = f.outer;
	set_state(t, HOOK_THREAD_BLOCKED);
	/* What libgomp frees now is no place where another thread may run. */
	hook_depth = team->master == t ? 1 : t->passive;
}

void hook_gomp_region_begins(struct hook_gomp_team *team)
{
	team->master = hook_thread_self();
	team->master->life.makes_team = true;
	hook_race_release(team);
}

static void race_over(const struct hook_gomp_team *team)
{
	hook_race_acquire(HOOK_RACE_OVER(team));
	hook_race_tasks_over(team);
	hook_race_forget(team);
	hook_race_forget(HOOK_RACE_OVER(team));
	hook_race_forget(HOOK_RACE_TASKS(team));
	hook_race_forget(HOOK_RACE_ORDERED(team));
	hook_race_iterations_over(team);
	hook_race_forget(HOOK_RACE_MEETING(team));
}

void hook_gomp_region_over(const struct hook_gomp_team *team)
{
	struct hook_thread *t = hook_self;

	race_over(team);

	if (!hook_sync_mode || !t || t->passive)
		return;
	set_state(t, HOOK_THREAD_RUNS);
	hook_gomp_body_left(t);
	hook_gomp_point(t);
}

HOOK_EXPORT void GOMP_parallel(hook_gomp_body *body, void *data, unsigned int threads,
			       unsigned int flags);

void GOMP_parallel(hook_gomp_body *body, void *data, unsigned int threads, unsigned int flags)
{
	struct hook_gomp_team team = {.body = body, .data = data};

	if (hook_depth) {
		GOMP_REAL(GOMP_parallel)(body, data, threads, flags);
		return;
	}
	hook_gomp_region_begins(&team);
	GOMP_REAL(GOMP_parallel)(hook_gomp_region, &team, threads, flags);
	hook_gomp_region_over(&team);
}

HOOK_EXPORT bool GOMP_single_start(void);
HOOK_EXPORT void *GOMP_single_copy_start(void);
HOOK_EXPORT void GOMP_single_copy_end(void *data);
void GOMP_barrier(void);

/* In replay libgomp need not know that there is a single. */
bool GOMP_single_start(void)
{
	if (!hook_sync_is_on(SITE))
		return GOMP_REAL(GOMP_single_start)();
	HOOK_SYNC_ENTER(t);
	return hook_gomp_number(t, SYNC_GOMP_SINGLE, GOMP_ASK(GOMP_REAL(GOMP_single_start)()),
				SITE);
}

void hook_gomp_meet(struct hook_thread *t, struct hook_gomp_frame *f)
{
	void (*meet)(void) = f->meet;
	void *meeting;

	hook_race_tasks_over(f->team);
	meeting = hook_race_arrive(HOOK_RACE_MEETING(f->team), 0);
	f->meet = NULL;
	f->meetings++;
	t->wait.state = HOOK_THREAD_BLOCKED;
	meet();
	t->wait.state = HOOK_THREAD_RUNS;
	hook_race_leave(HOOK_RACE_MEETING(f->team), meeting);
}

/* In serial mode the order of turns is that of the barrier, too: in replay nobody waits in it. */
static void meeting_begins(struct hook_thread *t, struct hook_gomp_frame *f, void (*meet)(void))
{
	if (hook_baton_on) {
		hook_race_tasks_over(f->team);
		f->meeting = hook_race_arrive(HOOK_RACE_MEETING(f->team), 0);
		f->arrived++;
	}
	hook_baton_leave(t);
	f->meet = hook_baton_on ? NULL : meet;
}

/*
 * In turns, all come before one leaves. A thread that came in vain (it is to do what a single does)
 * comes a second time, to the same barrier, and leaves it as often.
 */
static void leave_in_turns(struct hook_gomp_frame *f)
{
	for (; f->arrived; f->arrived--)
		hook_race_leave(HOOK_RACE_MEETING(f->team), f->meeting);
	hook_race_tasks_over(f->team);
}

/* The end of a barrier: `met` if this thread took part in it. */
static void meeting_ends(struct hook_thread *t, struct hook_gomp_frame *f, bool met)
{
	if (f->meet && met && hook_sync_replays) {
		hook_gomp_meet(t, f);
	} else if (f->meet) {
		f->meet = NULL;
		f->meetings += met;
	}
	hook_baton_enter(t);
	if (hook_baton_on && met)
		leave_in_turns(f);
}

/* In replay the data goes through the team, not through libgomp, which might choose another. */
void *GOMP_single_copy_start(void)
{
	struct hook_gomp_frame *f = hook_gomp_here();
	void *data;
	bool first;

	if (!hook_sync_is_on(SITE) || !f->team)
		return GOMP_REAL(GOMP_single_copy_start)();
	HOOK_SYNC_ENTER(t);
	meeting_begins(t, f, GOMP_REAL(GOMP_barrier));
	data = GOMP_ASK(GOMP_REAL(GOMP_single_copy_start)());
	hook_gomp_run(t, SITE);
	first = hook_gomp_number(t, SYNC_GOMP_SINGLE, !data, SITE);
	meeting_ends(t, f, !first);
	return first || !hook_sync_replays ? data : f->team->copied;
}

void GOMP_single_copy_end(void *data)
{
	struct hook_gomp_frame *f = hook_gomp_here();

	if (!hook_sync_is_on(SITE) || !f->team) {
		GOMP_REAL(GOMP_single_copy_end)(data);
		return;
	}
	HOOK_SYNC_ENTER(t);
	f->team->copied = data;
	meeting_begins(t, f, GOMP_REAL(GOMP_barrier));
	GOMP_ASK(GOMP_REAL(GOMP_single_copy_end)(data));
	hook_gomp_run(t, SITE);
	meeting_ends(t, f, true);
}

static void meet(void (*real)(void), void (*alone)(void), const void *site)
{
	struct hook_gomp_frame *f = hook_gomp_here();
	HOOK_SYNC_ENTER(t);

	f->loop.schedule = GOMP_FIXED;
	meeting_begins(t, f, real);
	GOMP_ASK(real());
	hook_gomp_run(t, site);
	if (alone && hook_baton_on && hook_sync_replays)
		alone();
	meeting_ends(t, f, true);
}

/* The end of a construct, or a barrier: all threads of the team meet. `alone` ends it, too. */
#define MEETING(name, alone)                                                                       \
	HOOK_EXPORT void name(void);                                                               \
	void name(void)                                                                            \
	{                                                                                          \
		if (hook_sync_is_on(SITE))                                                         \
			meet(GOMP_REAL(name), alone, SITE);                                        \
		else                                                                               \
			GOMP_REAL(name)();                                                         \
	}

void GOMP_loop_end_nowait(void);
void GOMP_sections_end_nowait(void);

MEETING(GOMP_barrier, NULL)
MEETING(GOMP_loop_end, GOMP_REAL(GOMP_loop_end_nowait))
MEETING(GOMP_sections_end, GOMP_REAL(GOMP_sections_end_nowait))

/*
 * Cancellation: what a thread is told is recorded; in replay libgomp hears nothing of it. A thread
 * can be told so in a barrier that others have passed, so that in replay nobody meets: each comes
 * to the barrier and leaves it in the order of the team.
 */
static bool meet_or_not(bool (*real)(void), void (*alone)(void), const void *site)
{
	bool cancelled;
	HOOK_SYNC_ENTER(t);

	hook_gomp_here()->loop.schedule = GOMP_FIXED;
	hook_baton_leave(t);
	hook_gomp_order_before(t, site);
	hook_depth = 1;
	cancelled = GOMP_ASK(real());
	hook_gomp_run(t, site);
	cancelled = hook_gomp_number(t, SYNC_GOMP_CANCEL, cancelled, site);
	hook_gomp_order_after(t, site);
	if (alone && hook_sync_replays)
		alone();
	hook_baton_enter(t);
	return cancelled;
}

#define MEETING_CANCEL(name, alone)                                                                \
	HOOK_EXPORT bool name(void);                                                               \
	bool name(void)                                                                            \
	{                                                                                          \
		if (!hook_sync_is_on(SITE))                                                        \
			return GOMP_REAL(name)();                                                  \
		return meet_or_not(GOMP_REAL(name), alone, SITE);                                  \
	}

MEETING_CANCEL(GOMP_barrier_cancel, NULL)
MEETING_CANCEL(GOMP_loop_end_cancel, GOMP_REAL(GOMP_loop_end_nowait))
MEETING_CANCEL(GOMP_sections_end_cancel, GOMP_REAL(GOMP_sections_end_nowait))

HOOK_EXPORT bool GOMP_cancel(int which, bool really);
HOOK_EXPORT bool GOMP_cancellation_point(int which);

bool GOMP_cancel(int which, bool really)
{
	if (!hook_sync_is_on(SITE))
		return GOMP_REAL(GOMP_cancel)(which, really);
	HOOK_SYNC_ENTER(t);
	return hook_gomp_number(t, SYNC_GOMP_CANCEL,
				GOMP_ASK(GOMP_REAL(GOMP_cancel)(which, really)), SITE);
}

bool GOMP_cancellation_point(int which)
{
	if (!hook_sync_is_on(SITE))
		return GOMP_REAL(GOMP_cancellation_point)(which);
	HOOK_SYNC_ENTER(t);
	return hook_gomp_number(t, SYNC_GOMP_CANCEL,
				GOMP_ASK(GOMP_REAL(GOMP_cancellation_point)(which)), SITE);
}
