/* SPDX-License-Identifier: Apache-2.0 */
/* Loops whose parts are tasks: split as libgomp does, and made as others are. */
#include "hook/thread/gomp/task.h"

#define SITE __builtin_return_address(0)

HOOK_EXPORT void GOMP_taskloop(hook_gomp_body *body, void *data, hook_gomp_copier *copy, long size,
			       long align, unsigned int flags, unsigned long tasks, int priority,
			       long start, long end, long step);
HOOK_EXPORT void GOMP_taskloop_ull(hook_gomp_body *body, void *data, hook_gomp_copier *copy,
				   long size, long align, unsigned int flags, unsigned long tasks,
				   int priority, unsigned long long start, unsigned long long end,
				   unsigned long long step);
void GOMP_taskgroup_end(void);
int omp_get_num_threads(void);
void GOMP_taskgroup_start(void);

/* A loop of which each task gets a part. */
struct taskloop {
	uint64_t start, end, step, count;
	uint64_t tasks, each, more; /* the first `more` of them have one iteration more */
};

static struct taskloop split(unsigned int flags, uint64_t wanted, bool up, uint64_t start,
			     uint64_t end, uint64_t step)
{
	struct taskloop l = {.start = start, .end = end, .step = step};

	l.count = up ? (end - start - 1) / step + 1 : (start - end - 1) / -step + 1;
	if (flags & GOMP_FLAG_GRAINSIZE) {
		l.each = wanted ? wanted : 1;
		l.tasks = l.count / l.each;
		if (flags & GOMP_FLAG_STRICT) {
			l.tasks += l.count % l.each != 0;
			return l;
		}
	} else {
		l.tasks = wanted ? wanted : (uint64_t)GOMP_REAL(omp_get_num_threads)();
	}
	if (l.tasks == 0)
		l.tasks = 1;
	if (l.tasks > l.count)
		l.tasks = l.count;
	l.each = l.count / l.tasks;
	l.more = l.count % l.tasks;
	return l;
}

static void make_all(struct hook_thread *t, struct hook_gomp_making *m, const struct taskloop *l,
		     const void *site)
{
	uint64_t at = 0;

	m->has_part = true;
	for (uint64_t i = 0; i < l->tasks; i++) {
		m->part[0] = l->start + at * l->step;
		at += l->each + (i < l->more);
		m->part[1] = at < l->count ? l->start + at * l->step : l->end;
		hook_gomp_make(t, m, site);
	}
}

static void taskloop(struct hook_gomp_making *m, const struct taskloop *l, const void *site)
{
	bool group = !(m->flags & GOMP_FLAG_NOGROUP);

	m->deferrable = m->flags & GOMP_FLAG_IF;
	m->flags &= 0xff;
	if (group)
		GOMP_REAL(GOMP_taskgroup_start)();
	{
		HOOK_SYNC_ENTER(t);
		make_all(t, m, l, site);
	}
	if (group)
		GOMP_taskgroup_end();
}

void GOMP_taskloop(hook_gomp_body *body, void *data, hook_gomp_copier *copy, long size, long align,
		   unsigned int flags, unsigned long tasks, int priority, long start, long end,
		   long step)
{
	struct hook_gomp_making m =
		hook_gomp_making_of(body, data, copy, size, align, flags, priority);
	struct taskloop l;

	if (!hook_gomp_makes(flags, SITE) || !step || (step > 0 ? start >= end : start <= end)) {
		GOMP_REAL(GOMP_taskloop)
		(body, data, copy, size, align, flags, tasks, priority, start, end, step);
		return;
	}
	l = split(flags, tasks, step > 0, (uint64_t)start, (uint64_t)end, (uint64_t)step);
	taskloop(&m, &l, SITE);
}

void GOMP_taskloop_ull(hook_gomp_body *body, void *data, hook_gomp_copier *copy, long size,
		       long align, unsigned int flags, unsigned long tasks, int priority,
		       unsigned long long start, unsigned long long end, unsigned long long step)
{
	bool up = flags & GOMP_FLAG_UP;
	struct hook_gomp_making m =
		hook_gomp_making_of(body, data, copy, size, align, flags, priority);
	struct taskloop l;

	if (!hook_gomp_makes(flags, SITE) || !step || (up ? start >= end : start <= end)) {
		GOMP_REAL(GOMP_taskloop_ull)
		(body, data, copy, size, align, flags, tasks, priority, start, end, step);
		return;
	}
	l = split(flags, tasks, up, start, end, step);
	taskloop(&m, &l, SITE);
}
