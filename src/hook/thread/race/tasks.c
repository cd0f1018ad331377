/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks of OpenMP in the order that the program asks for, whoever runs them. A task comes after its
 * making, and after the tasks that it depends on, which are its siblings. Its end comes before the
 * end of a wait of its maker, of a group, or of a barrier. The stack below a task, and its thread's
 * own variables, are used by one task after the other, and that is no race. Nor is memory that a
 * task has for its thread alone: one that asks for the thread's number comes after those before it
 * on the thread. Only so many tasks between two barriers have a clock of their own; others are part
 * of the thread that runs them, and come after all tasks of the team that have ended.
 */
#include <dlfcn.h>
#include <link.h>

#include "hook/kit/random.h"
#include "hook/kit/text.h"
#include "hook/thread/gomp/gomp.h"
#include "hook/thread/race/race.h"

#define STACK_BELOW (1ul << 20)
/* Addresses that nobody has, for objects that are none. */
#define OBJECTS (1ul << 62)

enum part { CHILDREN, READ, WRITTEN, BOUND, PARTS };

static uint64_t frames;

static const void *object(uint64_t of, enum part part)
{
	return (const void *)(OBJECTS + of * PARTS + part);
}

/* What is at the address, for the children of one task. */
static const void *dependence(uint64_t maker, const void *address, enum part part)
{
	uint64_t h = ((uintptr_t)address ^ hook_random_spread(maker)) * 0xc2b2ae3d27d4eb4full;

	return (const void *)(OBJECTS << 1 | (h >> 3 & ~3ul) | part);
}

static uint64_t frame_id(struct hook_gomp_frame *f)
{
	if (!f->id)
		f->id = __atomic_add_fetch(&frames, 1, __ATOMIC_RELAXED);
	return f->id;
}

/* What a task depends on. */
struct list {
	void **at;
	uint32_t count, outs, plain; /* the first `outs` of the plain ones are written */
};

/*
 * As gcc has them: how many there are and how many of these are written, then the addresses; or 0,
 * and then how many of each kind. Of the latter, objects of the program that name what is meant
 * are the last ones.
 */
static struct list list_of(void **depend)
{
	struct list l = {0};
	uint32_t ins;

	if (!depend)
		return l;
	if (depend[0]) {
		l.count = l.plain = (uint32_t)(uintptr_t)depend[0];
		l.outs = (uint32_t)(uintptr_t)depend[1];
		l.at = depend + 2;
		return l;
	}
	l.count = (uint32_t)(uintptr_t)depend[1];
	l.outs = (uint32_t)((uintptr_t)depend[2] + (uintptr_t)depend[3]);
	ins = (uint32_t)(uintptr_t)depend[4];
	l.plain = l.outs + ins;
	l.at = depend + 5;
	return l;
}

uint32_t hook_race_depends(void **depend)
{
	return hook_race ? list_of(depend).count : 0;
}

/* Whatever such an object says, it counts as written. */
static bool is_out(const struct list *l, uint32_t i)
{
	return i < l->outs || i >= l->plain;
}

static const void *address_at(const struct list *l, uint32_t i)
{
	return i < l->plain ? l->at[i] : *(void **)l->at[i];
}

static void acquire_depends(uint64_t maker, const struct list *l)
{
	for (uint32_t i = 0; i < l->count; i++) {
		hook_race_acquire(dependence(maker, address_at(l, i), WRITTEN));
		if (is_out(l, i))
			hook_race_acquire(dependence(maker, address_at(l, i), READ));
	}
}

/* The program may forget its objects: what they name is kept, and what is written comes first. */
static void keep_depends(struct hook_race_task *task, void **depend)
{
	struct list l = list_of(depend);

	for (int out = 1; out >= 0; out--) {
		for (uint32_t i = 0; i < l.count; i++) {
			if (is_out(&l, i) == out)
				task->depend[task->depends++] = (void *)address_at(&l, i);
		}
		if (out)
			task->outs = task->depends;
	}
}

void hook_race_task_made(struct hook_race_task *task, const struct hook_thread *t,
			 struct hook_gomp_frame *maker, uint64_t number, void **depend)
{
	struct hook_text name = hook_text_in(task->name, sizeof(task->name));

	if (!hook_race)
		return;
	keep_depends(task, depend);
	hook_text_add(&name, t->name);
	hook_text_add(&name, " task ");
	hook_text_number(&name, (int64_t)number);
	task->maker = frame_id(maker);
	task->team = maker->team;
	hook_race->forget(task);
	hook_race->release(task);
}

void hook_race_task_apart(struct hook_race_task *task)
{
	task->apart = true;
	if (hook_race && hook_race->task_waits)
		hook_race->task_waits(task);
}

static int own_variables(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			*(size_t *)arg = info->dlpi_phdr[i].p_memsz;
	}
	return 1; /* only the program's, which is the first */
}

/* What tasks on one thread have one after the other; their frame is above all they do. */
static void reset_own(void)
{
	static size_t bytes = SIZE_MAX;
	char *here = (char *)hook_gomp_frame, *end = __builtin_thread_pointer();

	if (bytes == SIZE_MAX) {
		size_t n = 0;

		dl_iterate_phdr(own_variables, &n);
		bytes = (n + 63) & ~63ul;
	}
	hook_race->reset_data(here - STACK_BELOW, STACK_BELOW);
	if (bytes)
		hook_race->reset_data(end - bytes, bytes);
}

static const void *bound_to_here(void)
{
	return object((uintptr_t)__builtin_thread_pointer() >> 3, BOUND);
}

void hook_race_task_begins(struct hook_race_task *task)
{
	if (!hook_race)
		return;
	hook_race->release(bound_to_here());
	task->was = task->apart && hook_race->task_begin ? hook_race->task_begin(task, task->name)
							 : NULL;
	if (task->was) {
		const struct list l = {task->depend, task->depends, task->outs, task->depends};

		reset_own();
		acquire_depends(task->maker, &l);
	} else {
		if (hook_race->task_hidden)
			hook_race->task_hidden();
		hook_race->acquire(task);
		hook_race->acquire(HOOK_RACE_TASKS(task->team));
	}
	hook_race->forget(task);
}

void hook_race_task_ends(struct hook_race_task *task)
{
	if (!hook_race)
		return;
	for (uint32_t i = 0; i < task->depends; i++)
		hook_race->release(
			dependence(task->maker, task->depend[i], i < task->outs ? WRITTEN : READ));
	hook_race->release(object(task->maker, CHILDREN));
	hook_race->release(HOOK_RACE_TASKS(task->team));
	if (task->bound)
		hook_race->release(bound_to_here());
	if (task->joined)
		hook_race->release(task);
	hook_race_frame_ends(hook_gomp_frame);
	if (!task->was)
		return;
	reset_own();
	hook_race->task_end(task->was);
	if (task->bound)
		hook_race->acquire(bound_to_here());
	if (task->joined) {
		hook_race->acquire(task);
		hook_race->forget(task);
	}
}

void hook_race_frame_ends(const struct hook_gomp_frame *f)
{
	if (hook_race && f->id)
		hook_race->forget(object(f->id, CHILDREN));
}

void hook_race_children_over(struct hook_gomp_frame *f)
{
	if (hook_race && f->id)
		hook_race->acquire(object(f->id, CHILDREN));
}

void hook_race_tasks_over(const void *team)
{
	if (hook_race)
		hook_race->acquire(HOOK_RACE_TASKS(team));
}

void hook_race_depended(struct hook_gomp_frame *f, void **depend)
{
	const struct list l = list_of(depend);

	if (hook_race && f->id)
		acquire_depends(f->id, &l);
}

HOOK_EXPORT int omp_get_thread_num(void);

/*
 * Whose number it is, as the caller would find it without us: that of the program, or of a library
 * that was loaded for the caller alone, which need not be libgomp.
 */
static int number_for(const void *site)
{
	static int (*global)(void);
	int (*real)(void) = global;
	int depth = hook_depth;
	void *library = NULL;
	Dl_info info;

	if (real)
		return real();
	hook_depth = 1;
	global = real = (int (*)(void))hook_real("omp_get_thread_num");
	if (!real && dladdr(site, &info))
		library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (library) {
		real = (int (*)(void))dlsym(library, "omp_get_thread_num");
		dlclose(library);
	}
	hook_depth = depth;
	return real ? real() : 0;
}

/* Whoever asks may have memory by that number. */
int omp_get_thread_num(void)
{
	struct hook_race_task *task = hook_race && hook_gomp_frame ? hook_gomp_frame->task : NULL;

	if (task && !hook_depth && !task->bound) {
		task->bound = true;
		hook_race->acquire(bound_to_here());
	}
	return number_for(__builtin_return_address(0));
}
