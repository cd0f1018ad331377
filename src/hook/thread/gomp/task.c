/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks. A team has one order. Each making, beginning and end of a task, and each end of a wait for
 * tasks, is a version of it. For every place where libgomp may run tasks, a thread's recording says
 * which tasks ran there. A task is named by the thread that made it and how many tasks that thread
 * had made. In replay libgomp hears of a task only when it runs: we keep those that were made and
 * not begun, and the thread runs them where it did, each in its turn. So everything that a task or
 * a wait had to wait for, children, groups or dependences, is earlier in the order.
 */
#include <stdlib.h>
#include <string.h>

#include "hook/thread/gomp/task.h"
#include "hook/thread/race/race.h"
#include "hook/thread/serial/baton.h"

#define SITE __builtin_return_address(0)

struct hook_gomp_task {
	struct hook_gomp_task *next; /* pending */
	struct hook_gomp_team *team;
	unsigned int maker;
	uint64_t number;
	uint32_t meetings; /* before it was made */
	unsigned int flags;
	hook_gomp_body *body;
	void *data; /* behind this struct */
	bool final; /* tasks that it makes run at once */
	struct hook_race_task race;
};

/* A version of the team's order; in replay a task is put among those pending, or taken. */
struct step {
	struct hook_gomp_task *put;
	unsigned int maker; /* of the one to take */
	uint64_t number;
	struct hook_gomp_task *taken;
};

static __thread uint64_t made; /* by this thread */
static __thread bool left_body;

HOOK_EXPORT void GOMP_task(hook_gomp_body *body, void *data, hook_gomp_copier *copy, long size,
			   long align, bool deferrable, unsigned int flags, void **depend,
			   int priority, void *detach);
HOOK_EXPORT void GOMP_taskwait_depend(void **depend);
int omp_get_thread_num(void);

static __typeof__(GOMP_task) *real_task_now(void)
{
	return GOMP_REAL(GOMP_task);
}

struct hook_sync_spot hook_gomp_spot(const struct hook_sync_call *c)
{
	struct hook_gomp_team *team = c->object;

	return (struct hook_sync_spot){&team->id, team->version};
}

/* Lists through the tasks themselves, which come from malloc; the kit's table would take pages of
   its own for each team. */
static struct hook_gomp_task **bucket(struct hook_gomp_team *team, uint64_t number)
{
	return &team->pending[number % HOOK_GOMP_BUCKETS];
}

/*
 * Who looks for races has as many clocks for tasks between two barriers, and in all: each of those
 * is in the log. Tasks are made in turn, so these are the same in every replay.
 */
#define CLOCKS 96
#define MOST_CLOCKS 16384

static bool has_clock(struct hook_gomp_team *team, const struct hook_gomp_task *task)
{
	static uint32_t all;

	if (team->phase != task->meetings) {
		team->phase = task->meetings;
		team->clocks = 0;
	}
	return team->clocks++ < CLOCKS &&
	       __atomic_fetch_add(&all, 1, __ATOMIC_RELAXED) < MOST_CLOCKS;
}

/* Only one thread has the turn, so the lists need no lock. */
static void take_step(struct hook_gomp_team *team, struct step *s)
{
	struct hook_gomp_task **p = bucket(team, s->put ? s->put->number : s->number);

	if (s->put) {
		s->put->next = *p;
		*p = s->put;
		if (has_clock(team, s->put))
			hook_race_task_apart(&s->put->race);
		return;
	}
	while (*p && ((*p)->maker != s->maker || (*p)->number != s->number))
		p = &(*p)->next;
	s->taken = *p;
	if (*p)
		*p = (*p)->next;
}

int hook_gomp_do(const struct hook_sync_call *c)
{
	if (c->op != SYNC_GOMP_TASK)
		return ((const struct hook_gomp_lock *)c->cond)->take(c->object);
	if (c->cond && hook_sync_replays)
		take_step(c->object, c->cond);
	return 0;
}

/* Before something that others may wait for. */
static void order_post(struct hook_thread *t, struct hook_gomp_team *team, struct step *s,
		       const void *site)
{
	struct hook_sync_call c = {.op = SYNC_GOMP_TASK, .object = team, .cond = s, .site = site};

	if (!t->passive)
		hook_sync_plain->post(t, &c);
}

/* After something that others may have been waited for. */
static void order_share(struct hook_thread *t, struct hook_gomp_team *team, struct step *s,
			const void *site)
{
	struct hook_sync_call c = {.op = SYNC_GOMP_TASK, .object = team, .cond = s, .site = site};

	if (!t->passive)
		hook_sync_plain->share(t, &c);
}

void hook_gomp_order_before(struct hook_thread *t, const void *site)
{
	struct hook_gomp_team *team = hook_gomp_here()->team;

	if (!team)
		return;
	hook_race_release(HOOK_RACE_TASKS(team));
	order_post(t, team, NULL, site);
}

void hook_gomp_order_after(struct hook_thread *t, const void *site)
{
	struct hook_gomp_team *team = hook_gomp_here()->team;

	if (!team)
		return;
	order_share(t, team, NULL, site);
	hook_race_acquire(HOOK_RACE_TASKS(team));
}

/* The program's part of a task. It may begin regions while the thread is at the end of one. */
static void run_body(struct hook_thread *t, struct hook_gomp_task *task)
{
	struct hook_gomp_frame f = {.outer = hook_gomp_frame,
				    .team = task->team,
				    .meetings = task->meetings,
				    .final = task->final,
				    .task = &task->race};
	bool left = left_body;

	left_body = false;
	hook_gomp_frame = &f;
	hook_race_task_begins(&task->race);
	hook_gomp_point(t);
	task->body(task->data);
	hook_depth = 1;
	hook_race_task_ends(&task->race);
	hook_gomp_frame = f.outer;
	left_body = left;
	order_post(t, task->team, NULL, (const void *)task->body);
	hook_baton_leave(t);
	free(task);
}

/*
 * A thread that has not yet left a barrier may run what one that has left it made: then the barrier
 * is over, and in replay nobody must wait there for this thread.
 */
static void note_met(struct hook_thread *t, const struct hook_gomp_task *task)
{
	struct hook_gomp_frame *f = hook_gomp_here();

	if (!f->meet || f->team != task->team || task->meetings == f->meetings)
		return;
	hook_gomp_number(t, SYNC_GOMP_RUN, TRACE_GOMP_MET, (const void *)task->body);
	f->meet = NULL;
	f->meetings++;
}

static void run_recorded(void *arg)
{
	struct hook_gomp_task *task = *(struct hook_gomp_task **)arg;
	const void *site = (const void *)task->body;
	int depth = hook_depth;
	struct hook_thread *t = hook_sync_enter();

	note_met(t, task);
	hook_gomp_number(t, SYNC_GOMP_RUN, TRACE_GOMP_TASK + task->maker, site);
	hook_gomp_number(t, SYNC_GOMP_NUMBER, task->number, site);
	order_share(t, task->team, NULL, site);
	run_body(t, task);
	hook_depth = depth;
}

static void run_replayed(void *arg)
{
	run_body(hook_self, *(struct hook_gomp_task **)arg);
}

static void run_now(struct hook_thread *t, struct hook_gomp_team *team, unsigned int maker,
		    const void *site)
{
	struct step s = {.maker = maker};

	s.number = hook_gomp_number(t, SYNC_GOMP_NUMBER, 0, site);
	order_share(t, team, &s, site);
	if (!s.taken)
		hook_diverged(t, hook_sync_name(SYNC_GOMP_NUMBER), "a task that was made before",
			      "no such task");
	real_task_now()(run_replayed, &s.taken, NULL, sizeof(s.taken), _Alignof(void *), false,
			s.taken->flags & GOMP_FLAG_FINAL, NULL, 0, NULL);
}

/* Replay: does what comes next; false if it is over. */
static bool run_next(struct hook_thread *t, const void *site)
{
	struct hook_gomp_frame *f = hook_gomp_here();
	uint64_t n = hook_gomp_number(t, SYNC_GOMP_RUN, TRACE_GOMP_OVER, site);

	if (n == TRACE_GOMP_MET && f->meet)
		hook_gomp_meet(t, f);
	else if (n >= TRACE_GOMP_TASK)
		run_now(t, f->team, (unsigned int)n - TRACE_GOMP_TASK, site);
	return n != TRACE_GOMP_OVER;
}

void hook_gomp_run(struct hook_thread *t, const void *site)
{
	if (!hook_gomp_here()->team)
		return;
	while (run_next(t, site))
		;
}

/* Replay: where a thread that libgomp made was killed or let go, nothing says that it is out. */
static bool is_last_body(const struct hook_thread *t)
{
	return t->replay.sync_reader.ops >= t->replay.sync_reader.total &&
	       GOMP_REAL(omp_get_thread_num)() != 0;
}

/*
 * Tasks can run after the body, too, while the thread waits for the others inside of libgomp. That
 * they are over is written when it comes out.
 */
void hook_gomp_body_ends(struct hook_thread *t)
{
	const void *site = (const void *)hook_gomp_here()->team->body;

	hook_depth = 1;
	hook_baton_leave(t);
	if (!hook_sync_replays)
		left_body = true;
	else
		while (!is_last_body(t) && run_next(t, site))
			;
	hook_depth = t->passive;
}

void hook_gomp_body_left(struct hook_thread *t)
{
	if (!left_body)
		return;
	left_body = false;
	hook_depth = 1;
	hook_gomp_number(t, SYNC_GOMP_RUN, TRACE_GOMP_OVER, NULL);
	hook_depth = t->passive;
}

static bool is_final(const struct hook_gomp_making *m)
{
	return hook_gomp_here()->final || m->flags & GOMP_FLAG_FINAL;
}

static struct hook_gomp_task *task_new(struct hook_thread *t, const struct hook_gomp_making *m)
{
	size_t depends = hook_race_depends(m->depend) * sizeof(void *);
	struct hook_gomp_task *task =
		malloc(sizeof(*task) + depends + (size_t)(m->size + m->align));
	uintptr_t data = (uintptr_t)(task + 1) + depends;

	if (!task)
		return NULL;
	data = (data + (uintptr_t)m->align - 1) / (uintptr_t)m->align * (uintptr_t)m->align;
	*task = (struct hook_gomp_task){.team = hook_gomp_here()->team,
					.maker = (unsigned int)GOMP_REAL(omp_get_thread_num)(),
					.number = ++made,
					.meetings = hook_gomp_here()->meetings,
					.flags = m->flags,
					.body = m->body,
					.data = (void *)data,
					.final = is_final(m),
					.race.depend = (void **)(task + 1),
					.race.joined = !m->deferrable || hook_gomp_here()->final};
	hook_race_reset(task->data, (size_t)m->size);
	hook_depth = t->passive;
	if (m->copy)
		m->copy(task->data, m->data);
	else
		memcpy(task->data, m->data, (size_t)m->size);
	hook_depth = 1;
	if (m->has_part)
		memcpy(task->data, m->part, sizeof(m->part));
	return task;
}

void hook_gomp_make(struct hook_thread *t, const struct hook_gomp_making *m, const void *site)
{
	struct hook_gomp_task *task = task_new(t, m);
	struct step s = {.put = task};

	if (!task)
		hook_failed(t, "there is no memory for a task");
	hook_race_task_made(&task->race, t, hook_gomp_here(), task->number, m->depend);
	order_post(t, task->team, &s, site);
	if (hook_sync_replays || (!m->deferrable && m->depend))
		hook_baton_leave(t);
	hook_depth = 1;
	GOMP_ASK(real_task_now()(run_recorded, &task, NULL, sizeof(task), _Alignof(void *),
				 m->deferrable, m->flags, m->depend, m->priority, NULL));
	hook_gomp_run(t, site);
	hook_baton_point(t);
}

/* Reductions by tasks and detached tasks are more than an order. */
bool hook_gomp_makes(unsigned int flags, const void *site)
{
	if (flags & GOMP_FLAG_REDUCTION)
		hook_gomp_not_kept(GOMP_REST_REDUCTION);
	if (flags & GOMP_FLAG_DETACH)
		hook_gomp_not_kept(GOMP_REST_DETACH);
	return hook_sync_is_on(site) && hook_gomp_here()->team &&
	       !(flags & (GOMP_FLAG_REDUCTION | GOMP_FLAG_DETACH));
}

void GOMP_task(hook_gomp_body *body, void *data, hook_gomp_copier *copy, long size, long align,
	       bool deferrable, unsigned int flags, void **depend, int priority, void *detach)
{
	struct hook_gomp_making m =
		hook_gomp_making_of(body, data, copy, size, align, flags, priority);

	if (!hook_gomp_makes(flags, SITE)) {
		real_task_now()(body, data, copy, size, align, deferrable, flags, depend, priority,
				detach);
		return;
	}
	m.deferrable = deferrable;
	m.depend = depend;
	HOOK_SYNC_ENTER(t);
	hook_gomp_make(t, &m, SITE);
}

/* Waits for tasks: over when those are. */
#define WAIT(name, over)                                                                           \
	HOOK_EXPORT void name(void);                                                               \
	void name(void)                                                                            \
	{                                                                                          \
		struct hook_gomp_team *team = hook_gomp_here()->team;                              \
                                                                                                   \
		if (!hook_sync_is_on(SITE) || !team) {                                             \
			GOMP_REAL(name)();                                                         \
			return;                                                                    \
		}                                                                                  \
		HOOK_SYNC_ENTER(t);                                                                \
		hook_baton_leave(t);                                                               \
		if (hook_sync_replays)                                                             \
			hook_gomp_run(t, SITE);                                                    \
		GOMP_REAL(name)();                                                                 \
		if (!hook_sync_replays)                                                            \
			hook_gomp_run(t, SITE);                                                    \
		order_share(t, team, NULL, SITE);                                                  \
		over;                                                                              \
		hook_baton_enter(t);                                                               \
	}

WAIT(GOMP_taskwait, hook_race_children_over(hook_gomp_here()))
WAIT(GOMP_taskgroup_end, hook_race_tasks_over(team))
WAIT(GOMP_taskyield, )

void GOMP_taskwait_depend(void **depend)
{
	struct hook_gomp_team *team = hook_gomp_here()->team;

	if (!hook_sync_is_on(SITE) || !team) {
		GOMP_REAL(GOMP_taskwait_depend)(depend);
		return;
	}
	HOOK_SYNC_ENTER(t);
	hook_baton_leave(t);
	GOMP_ASK(GOMP_REAL(GOMP_taskwait_depend)(depend));
	hook_gomp_run(t, SITE);
	order_share(t, team, NULL, SITE);
	hook_race_depended(hook_gomp_here(), depend);
	hook_baton_enter(t);
}
