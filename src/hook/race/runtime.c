/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime of a checked program: an object that the program is linked with, in place of the
 * compiler's own. It brings accesses, which the compiler tells of, and synchronisation, which the
 * hook library does, to the engine of race/. A program that is not replayed for that runs as it is.
 * Invariant: it calls neither malloc nor anything that the hook library stands in for.
 */
#include "hook/race/runtime.h"

#include "race/depend.h"
#include "race/inner.h"
#include "race/own.h"
#include "race/segments.h"

static struct race_thread nobody = {.quick = RACE_QUICK_CLOSED};

__thread struct race_thread *runtime_self = &nobody;

bool runtime_is_seen(void)
{
	return runtime_self != &nobody;
}

static void give_up(void)
{
	static const char why[] = "reprise: this checked program needs addresses from 116 TiB on, "
				  "and memory that may be promised (ulimit -v)\n";

	rp_raw_call(SYS_write, 2, (long)why, sizeof(why) - 1, 0, 0, 0);
	rp_raw_call(SYS_exit_group, 125, 0, 0, 0, 0, 0);
}

/* Whatever the thread does next comes after an operation of synchronisation. */
static void segment(void)
{
	if (runtime_segments)
		race_segments_end(runtime_self);
}

static int start(int dir, const char *name, const char *watch,
		 const struct hook_race_frames *frames)
{
	int rc = runtime_log_open(dir, name);

	if (race_start(runtime_log_race) != 0)
		give_up();
	if (rc)
		return rc;
	runtime_watch_open(dir, watch, frames);
	runtime_engine_open(dir, name, frames);
	runtime_log_modules();
	if (runtime_obeys) {
		runtime_self = runtime_obey_first();
		return 0;
	}
	runtime_self = race_thread_first();
	segment();
	runtime_log_thread(runtime_self, "0");
	runtime_early_end();
	return 0;
}

static void stop(void)
{
	runtime_self = &nobody;
}

static void finish(void)
{
	struct race_figures figures;
	bool all = runtime_segments ? race_segments_look() : race_look(runtime_self);

	runtime_log_stopped();
	if (runtime_depends || runtime_obeys)
		return;
	runtime_log_looked(all);
	race_figures(&figures);
	if (figures.lost)
		runtime_log_partly(RACE_STOP_HANDLERS);
}

static void *fork_child(const char *name)
{
	struct race_thread *t;

	if (runtime_obeys)
		return runtime_obey_fork(name);
	segment();
	t = race_stopped() ? NULL : race_thread_fork(runtime_self);
	if (t)
		runtime_log_thread(t, name);
	if (t && runtime_depends)
		race_depend_fork(runtime_self, t);
	runtime_log_stopped();
	return t ? t : &nobody;
}

static void begin(void *child)
{
	runtime_self = child;
	if (runtime_self != &nobody)
		segment();
}

static void abandon(void *child)
{
	if (child != &nobody && !runtime_obeys)
		race_thread_abandon(child);
}

static void end(void)
{
	struct race_thread *t = runtime_self;

	if (t == &nobody)
		return;
	if (runtime_obeys) {
		runtime_obey_end();
		runtime_self = &nobody;
		return;
	}
	segment();
	runtime_self = &nobody;
	if (runtime_depends)
		runtime_log_thread_end(t);
	race_thread_end(t);
	race_thread_detach(t);
	runtime_log_stopped();
}

static void *task_begin(const void *object, const char *name)
{
	struct race_thread *was = runtime_self, *t;

	if (was == &nobody || runtime_depends || runtime_obeys || race_stopped())
		return NULL;
	t = race_thread_task();
	if (!t)
		return NULL;
	runtime_log_thread(t, name);
	runtime_log_task(t, was);
	runtime_self = t;
	segment();
	race_acquire(t, object);
	return was;
}

static void task_waits(const void *object)
{
	if (runtime_self != &nobody && !runtime_depends && !runtime_obeys)
		race_keep(object);
}

static void task_end(void *was)
{
	struct race_thread *t = runtime_self;

	segment();
	runtime_self = was;
	race_thread_end(t);
	race_thread_detach(t);
}

static void task_hidden(void)
{
	if (runtime_self != &nobody && !runtime_depends && !runtime_obeys)
		runtime_log_partly(RACE_STOP_TASKS);
}

static void depend(const void *object)
{
	if (runtime_depends)
		race_depend_sync(runtime_self, object);
}

/* True if the thread has nothing to do with histories and clocks. */
static bool is_aside(const void *object, bool releases)
{
	if (runtime_self == &nobody)
		return true;
	if (runtime_obeys)
		runtime_obey_sync(object, releases);
	return runtime_obeys;
}

static void acquire(const void *object)
{
	if (is_aside(object, false))
		return;
	segment();
	race_acquire(runtime_self, object);
	depend(object);
}

static void release(const void *object)
{
	if (is_aside(object, true))
		return;
	segment();
	depend(object);
	race_release(runtime_self, object);
}

/* Where dependences are looked for or obeyed, it was told of as an access. */
static void atomic(const void *object, int what, int order)
{
	if (runtime_self == &nobody || runtime_depends || runtime_obeys)
		return;
	if (order != __ATOMIC_RELAXED)
		segment();
	race_atomic(runtime_self, object, (enum race_atomic)what, order);
}

static void fence(int order)
{
	if (runtime_self == &nobody || runtime_depends || runtime_obeys)
		return;
	segment();
	race_fence(runtime_self, order);
}

static void forget(const void *object)
{
	if (runtime_self != &nobody && !runtime_obeys)
		race_forget(object);
}

static void *arrive(const void *object, uint32_t count)
{
	if (is_aside(object, true))
		return NULL;
	segment();
	depend(object);
	return race_barrier_arrive(runtime_self, object, count);
}

static void leave(const void *object, void *meeting)
{
	if (is_aside(object, false))
		return;
	segment();
	race_barrier_leave(runtime_self, object, meeting);
	depend(object);
}

static void reset_data(const void *address, size_t n)
{
	/* What comes before what is so whatever the memory is used for. */
	if (runtime_self == &nobody || runtime_depends || runtime_obeys)
		return;
	if (runtime_segments)
		race_segments_reset((uintptr_t)address, n);
	else
		race_reset(runtime_self, (uintptr_t)address, n);
}

static void reset(const void *address, size_t n)
{
	if (runtime_self == &nobody || runtime_depends || runtime_obeys)
		return;
	race_forget_all(runtime_self, address, n);
	reset_data(address, n);
}

/* The heap's, unless the program brings its own. */
static __thread const void *told_block;

static void block(const void *address, size_t n)
{
	told_block = address;
	reset(address, n);
}

void runtime_block(const void *p, size_t n, const void *site)
{
	if (p && site && runtime_early)
		runtime_early_block(p, n, site);
	if (!p || runtime_self == &nobody)
		return;
	if (p != told_block)
		reset(p, n);
	told_block = NULL;
	if (runtime_watches && site)
		runtime_watch_block(p, n, site, runtime_block_number());
}

static int obeys(void)
{
	return runtime_obeys;
}

static void passed(void)
{
	if (runtime_obeys)
		runtime_obey_passed();
}

static void counts(const uint64_t *events, const uint64_t *operations)
{
	if (runtime_self != &nobody && !runtime_obeys)
		runtime_log_counts(runtime_self, events, operations);
}

extern const struct hook_race_table reprise_race;

/* By the linker; not in Valgrind. */
extern const char __start_reprise_text[] __attribute__((weak, visibility("hidden")));
extern const char __stop_reprise_text[] __attribute__((weak, visibility("hidden")));

extern const struct race_own reprise_race_code;

RUNTIME_EXPORT const struct race_own reprise_race_code = {__start_reprise_text,
							  __stop_reprise_text};

RUNTIME_EXPORT const struct hook_race_table reprise_race = {
	.version = HOOK_RACE_VERSION,
	.start = start,
	.stop = stop,
	.finish = finish,
	.fork = fork_child,
	.begin = begin,
	.abandon = abandon,
	.end = end,
	.acquire = acquire,
	.release = release,
	.forget = forget,
	.atomic = atomic,
	.fence = fence,
	.arrive = arrive,
	.leave = leave,
	.reset = reset,
	.reset_data = reset_data,
	.block = block,
	.task_begin = task_begin,
	.task_waits = task_waits,
	.task_end = task_end,
	.task_hidden = task_hidden,
	.obeys = obeys,
	.passed = passed,
	.counts = counts,
	.forbidden = race_forbidden,
};
