/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the program: their state, names and streams. */
#ifndef HOOK_THREAD_H
#define HOOK_THREAD_H

#include <pthread.h>

#include "hook/common/hook.h"

/* A new thread's state, zero but for the seed of its noise; NULL if there is no memory. */
struct hook_thread *hook_thread_new(void);

/* Closes its streams and frees it. */
void hook_thread_close(struct hook_thread *t);

/* The main thread starts to run the program's code. */
void hook_thread_adopt_main(void);

/* The main thread ends before the process does. The thread that ends the process speaks for it. */
void hook_thread_main_ends(struct hook_thread *t);

/* Makes sure that the order stream of t is open; in replay the first record is read. */
void hook_thread_open(struct hook_thread *t);

/* Replay: moves t->next on. */
void hook_thread_advance(struct hook_thread *t);

/* A mode's own part of a thread that ends; may be NULL. */
extern void (*hook_thread_closing)(struct hook_thread *t);

/* Finds out its numbers; or, in a restored process, those that are new. By the thread itself. */
void hook_thread_number(struct hook_thread *t);
void hook_thread_renumber(struct hook_thread *t);

/* Its heap, which heap/ looks after. */
struct hook_thread_heap {
	/*
	 * In the parent, before t is started. t is a child of the calling thread, and may get a
	 * stack that suits these attributes.
	 */
	void (*child)(struct hook_thread *t, const pthread_attr_t *attr);
	/* The child was not started after all. */
	void (*no_child)(struct hook_thread *t);
	/* In the child, before the program's code runs. */
	void (*enter)(struct hook_thread *t);
	/* The calling thread runs no more of the program's code: its heap is for a later thread. */
	void (*leave)(void);
};
extern const struct hook_thread_heap hook_thread_heap;

static inline bool hook_thread_is_main(const struct hook_thread *t)
{
	return t->name[1] == 0;
}

/* In a forked child: lets go of streams that belong to the parent. */
void hook_thread_forget(void);

#endif
