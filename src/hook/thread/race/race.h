/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay of a checked program: its runtime (hook/race/interface.h) is told of each operation that
 * orders threads. Everything here does nothing where there is none.
 */
#ifndef HOOK_THREAD_RACE_H
#define HOOK_THREAD_RACE_H

#include "hook/race/interface.h"
#include "hook/thread/sync/sync.h"

struct hook_gomp_frame;
struct hook_gomp_team;

/* What a task of OpenMP waited for, and who waits for it. */
struct hook_race_task {
	uint64_t maker; /* of the frame that made it: whose children are waited for */
	const void *team;
	bool joined;            /* its maker waits for its end before it goes on */
	bool apart;             /* it has a clock of its own */
	bool bound;             /* it asked on which thread it runs */
	uint32_t depends, outs; /* of the first so many, `outs` are written */
	void **depend;
	void *was; /* at work: what it is run by */
	char name[96];
};

/* What stands for the parts of a team of OpenMP; its address is for its beginning. */
#define HOOK_RACE_OVER(team) ((const char *)(team) + 1)
#define HOOK_RACE_TASKS(team) ((const char *)(team) + 2)
#define HOOK_RACE_ORDERED(team) ((const char *)(team) + 3)
#define HOOK_RACE_MEETING(team) ((const char *)(team) + 4)

/*
 * Tasks have clocks of their own, so that a race between two of them shows even if one thread ran
 * both. All of these do nothing where nobody looks for races.
 */
void hook_race_task_made(struct hook_race_task *task, const struct hook_thread *t,
			 struct hook_gomp_frame *maker, uint64_t number, void **depend);
/* It has a clock of its own. */
void hook_race_task_apart(struct hook_race_task *task);
void hook_race_task_begins(struct hook_race_task *task);
void hook_race_task_ends(struct hook_race_task *task);
/* Nobody waits for its children any more. */
void hook_race_frame_ends(const struct hook_gomp_frame *f);
/* The frame's children are done; those of the team; those that it depends on. */
void hook_race_children_over(struct hook_gomp_frame *f);
void hook_race_tasks_over(const void *team);
void hook_race_depended(struct hook_gomp_frame *f, void **depend);
/* How many words of `depend` name what is depended on. */
uint32_t hook_race_depends(void **depend);

extern const struct hook_race_table *hook_race; /* NULL: nobody wants to know */

/* It keeps accesses in their order: whatever is in an order only by turns need not wait for them.
 */
extern bool hook_race_obeys;

/* The table of our Valgrind tool, if the program runs in it; else NULL. */
const struct hook_race_table *hook_race_of_valgrind(void);

/* Does the program run in it? One thread at a time runs then. */
extern bool hook_race_in_valgrind;

/*
 * In Valgrind: wakes who waits at the word, as soon as the calling thread does not run any more.
 * False: the tool does not know how.
 */
bool hook_race_of_valgrind_wake(const int *word);

/* Before the first thread: a block of the heap. */
void hook_race_of_valgrind_early(const void *p, size_t n);

/* The first thread is about to be made: the mode that tells, or the one that is given. */
const struct hook_sync_mode *hook_race_start(const struct hook_sync_mode *mode);
void hook_race_stop(void);

/* Made by the calling thread, or not after all; begins, in itself; and ends. */
void hook_race_child(struct hook_thread *t);
void hook_race_no_child(const struct hook_thread *t);
void hook_race_begins(struct hook_thread *t);
void hook_race_ends(const struct hook_thread *t);

/*
 * Iterations of a loop of OpenMP that wait for certain others: the one of these numbers, of the
 * frame at work, was waited for. The region is over.
 */
void hook_race_iteration_awaited(const uint64_t number[]);
void hook_race_iterations_over(const struct hook_gomp_team *team);

/*
 * Order by MPI (messages.c): once MPI is open; and around each call that is an event, if there is
 * any such order.
 */
extern bool hook_race_by_messages;
void hook_race_messages_open(void);
void hook_race_message_begins(const struct hook_thread *t, uint64_t event);
void hook_race_message_ends(uint64_t event);

/* The process ends, whatever the reason. */
static inline void hook_race_finish(void)
{
	if (__builtin_expect(hook_race != NULL, 0))
		hook_race->finish();
}

static inline void hook_race_acquire(const void *object)
{
	if (__builtin_expect(hook_race != NULL, 0))
		hook_race->acquire(object);
}

static inline void hook_race_release(const void *object)
{
	if (__builtin_expect(hook_race != NULL, 0))
		hook_race->release(object);
}

/* An atomic operation, in its turn; `what` is an enum race_atomic. */
static inline void hook_race_atomic(const void *object, int what, int order)
{
	if (__builtin_expect(hook_race != NULL, 0))
		hook_race->atomic(object, what, order);
}

/*
 * Of a variable of a function (C++): before a thread looks whether it is made, after it found that
 * it is, and before it tells that it has made it.
 */
static inline bool hook_race_minds_guards(void)
{
	return __builtin_expect(hook_race != NULL, 0) && hook_race->guard;
}

static inline void hook_race_guard(const void *guard)
{
	if (hook_race_minds_guards())
		hook_race->guard(guard);
}

static inline void hook_race_guard_made(const void *guard)
{
	if (hook_race_minds_guards())
		hook_race->acquire(guard);
}

static inline void hook_race_guard_makes(const void *guard)
{
	if (hook_race_minds_guards())
		hook_race->release(guard);
}

static inline void hook_race_fence(int order)
{
	if (__builtin_expect(hook_race != NULL, 0))
		hook_race->fence(order);
}

static inline void hook_race_forget(const void *object)
{
	if (__builtin_expect(hook_race != NULL, 0))
		hook_race->forget(object);
}

/* The memory is used for something else from now on. */
static inline void hook_race_reset(const void *address, size_t n)
{
	if (__builtin_expect(hook_race != NULL, 0))
		hook_race->reset(address, n);
}

static inline void hook_race_passed(void)
{
	if (__builtin_expect(hook_race_obeys, 0))
		hook_race->passed();
}

static inline void *hook_race_arrive(const void *object, uint32_t count)
{
	return __builtin_expect(hook_race != NULL, 0) ? hook_race->arrive(object, count) : NULL;
}

static inline void hook_race_leave(const void *object, void *meeting)
{
	if (__builtin_expect(hook_race != NULL, 0))
		hook_race->leave(object, meeting);
}

#endif
