/* SPDX-License-Identifier: Apache-2.0 */
/* Replay: the program's threads as a whole: can they still come any further? */
#ifndef HOOK_SYNC_STUCK_H
#define HOOK_SYNC_STUCK_H

#include <sched.h>

#include "hook/kit/text.h"
#include "hook/thread/sync/sync.h"

/* The list of the program's threads, in both modes. */
void hook_sync_list_add(struct hook_thread *t);
void hook_sync_list_remove(struct hook_thread *t);
void hook_sync_list_clear(void);
void hook_sync_list_each(void (*act)(struct hook_thread *t));
bool hook_sync_has_others(const struct hook_thread *t);

/*
 * 0, unless there are so many threads that a walk over all of them at every turn would cost too
 * much.
 */
unsigned int hook_sync_crowd(void);

/*
 * Called every now and then by a thread that waits. If all wait and nothing has happened between
 * two calls, it is the end: of the recording, if the run was cut off, or a divergence.
 */
void hook_sync_look(struct hook_thread *t);

/* The threads that run, except t: on t's processor, and elsewhere, as far as is known. */
struct hook_sync_around {
	size_t here, elsewhere;
};
struct hook_sync_around hook_sync_around(const struct hook_thread *t);

/* Takes the processors of threads that run out of a set. */
void hook_sync_take_out_used(cpu_set_t *set);

/* Naps for a moment in place of a wait that nobody would end, and looks. */
void hook_sync_nap(struct hook_thread *t);

/*
 * Returns when no other thread can come any further in its recording: true if all have done the
 * operations and events that they did.
 */
bool hook_sync_await_others(struct hook_thread *t);

/* What the threads are about: ": 0 in …, 0.1 runs …". */
void hook_sync_describe_all(struct hook_text *out);

/* They have not: reports a divergence, with what each of them is doing. */
void hook_sync_say_behind(struct hook_thread *t) __attribute__((noreturn));

/*
 * The thread with this handle is to be cancelled. True if it has not yet done what it did in the
 * recording.
 */
bool hook_sync_put_off_cancel(uint64_t handle);

/* The real number of the thread that was given this one by gettid; 0: there is none. */
int hook_sync_real_tid(int given);

#endif
