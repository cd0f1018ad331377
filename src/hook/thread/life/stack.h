/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of the program's threads, at the same addresses in every replay: a thread's handle, its
 * thread-local variables and the variables of its functions are there. Each slot of the heap has
 * one.
 */
#ifndef HOOK_SYNC_STACK_H
#define HOOK_SYNC_STACK_H

#include <pthread.h>

#include "hook/common/hook.h"

/* The first thread is about to be made. */
void hook_stack_start(void);

/*
 * The attributes with which t is to be made: a copy of attr that need not be destroyed. False if t
 * has no stack of ours.
 */
bool hook_stack_attr(const struct hook_thread *t, const pthread_attr_t *attr, pthread_attr_t *mine);

/* The thread was not made after all. */
void hook_stack_return(const struct hook_thread *t);

/* The calling thread uses it and is about to end: the deep pages are given back. */
void hook_stack_begins(void);
void hook_stack_ends(void);

/* That thread was. */
void hook_stack_joined(pthread_t thread);
void hook_stack_detached(pthread_t thread);

#endif
