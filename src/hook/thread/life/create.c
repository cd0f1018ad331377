/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Begin and end of threads (joining: join.c). A thread is one of the program's own if the program
 * itself made it. It is named by its place in the tree of threads. For us it lives until the
 * destructors of its thread-specific values have run: ours belongs to a key that is made before any
 * of the program's, so that it is the first of each round, and it asks for another round as often
 * as there are any.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <threads.h>

#include "hook/common/end.h"
#include "hook/common/real.h"
#include "hook/common/thread.h"
#include "hook/kit/lock.h"
#include "hook/kit/text.h"
#include "hook/program/sanitizer.h"
#include "hook/thread/call/real.h"
#include "hook/thread/gomp/gomp.h"
#include "hook/thread/life/stack.h"
#include "hook/thread/life/stuck.h"
#include "hook/thread/race/race.h"
#include "hook/thread/serial/baton.h"
#include "hook/thread/sync/streams.h"

#define SITE __builtin_return_address(0)

static pthread_key_t key;

static const struct {
	bool masks; /* signals, while a thread has no streams: nobody would know of a handler */
	bool opens_itself; /* its streams */
	bool opens_child;  /* that of a new thread: it counts before it runs */
	bool ends_passive;
} of_mode[] = {
	[HOOK_RECORD] = {.masks = true, .opens_itself = true, .ends_passive = true},
	[HOOK_REPLAY] = {.opens_child = true},
};

/* But those of faults: what they interrupt cannot go on without their handler. */
static void fill(sigset_t *all)
{
	sigfillset(all);
	for (int sig = 1; sig < NSIG; sig++) {
		if (hook_signal_is_fatal(sig))
			sigdelset(all, sig);
	}
}

static void block_signals(sigset_t *before)
{
	sigset_t all;

	fill(&all);
	/* cppcheck-suppress uninitvar */
	REAL(pthread_sigmask)(SIG_BLOCK, &all, before);
}

static void ends(void *arg)
{
	struct hook_thread *t = arg;
	sigset_t mask;

	if (hook_self != t)
		return;
	if (++t->life.rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
		pthread_setspecific(key, t);
		return;
	}
	hook_depth = 1;
	if (of_mode[hook_process.mode].masks && !hook_thread_is_main(t))
		block_signals(&mask);
	else
		REAL(pthread_sigmask)(SIG_SETMASK, NULL, &mask);
	hook_signal_end(t, &mask);
	hook_depth = 1;
	hook_race_ends(t);
	hook_thread_heap.leave();
	hook_stack_ends();
	hook_sync_let_go(t);
	hook_end_of_thread(t);
	if (of_mode[hook_process.mode].ends_passive)
		t->passive = 1;
	hook_sync_close(t);
	hook_baton_leave(t);
	hook_sync_list_remove(t);
	if (hook_thread_is_main(t))
		hook_thread_main_ends(t);
	else
		hook_thread_close(t);
}

/* Of all keys the first. */
__attribute__((constructor)) static void make_key(void)
{
	pthread_key_create(&key, ends);
}

static void begins(struct hook_thread *t)
{
	hook_depth = HOOK_CLOSED;
	hook_self = t;
	hook_thread_heap.enter(t);
	hook_stack_begins();
	t->life.handle = (uint64_t)pthread_self();
	hook_thread_number(t);
	hook_race_begins(t);
	if (of_mode[hook_process.mode].opens_itself)
		hook_sync_open(t);
	pthread_setspecific(key, t);
	if (!t->life.is_of_team)
		hook_baton_enter(t);
	hook_sync_leave(t);
	if (t->life.masked)
		REAL(pthread_sigmask)(SIG_SETMASK, &t->life.mask, NULL);
}

/* What the program does afterwards, in destructors, comes after what it did in its last region. */
static void is_let_go(struct hook_thread **t)
{
	if (!(*t)->life.is_of_team)
		return;
	hook_gomp_body_left(*t);
	hook_depth = 1;
	hook_baton_enter(*t);
	hook_sync_leave(*t);
}

static void *thread_main(void *arg)
{
	struct hook_thread *t __attribute__((cleanup(is_let_go))) = arg;

	begins(t);
	return t->life.start(t->life.start_arg);
}

/* A thread of C11 returns an int: t->start is of another type than it says. */
static void *thread_main_c11(void *arg)
{
	struct hook_thread *t = arg;
	int (*start)(void *) = (int (*)(void *))(void (*)(void))t->life.start;

	begins(t);
	return (void *)(intptr_t)start(t->life.start_arg);
}

/* Of a thread so deep in the tree that its name would be too long: a hash of that, "0~" before it.
 */
static void name_deep(const char *whole, struct hook_text *out)
{
	uint64_t x = 0xcbf29ce484222325ull;

	for (const char *p = whole; *p; p++)
		x = (x ^ (uint8_t)*p) * 0x100000001b3ull;
	hook_text_add(out, "0~");
	for (int shift = 60; shift >= 0; shift -= 4) {
		char digit[2] = {"0123456789abcdef"[x >> shift & 15], '\0'};

		hook_text_add(out, digit);
	}
}

/* A thread that is nothing yet but its name. */
static struct hook_thread *next_child(const struct hook_thread *parent)
{
	struct hook_thread *t = hook_thread_new();
	char whole[TRACE_NAME_BYTES + 16];
	struct hook_text text = hook_text_in(whole, sizeof(whole)), name;

	if (!t)
		return NULL;
	hook_text_add(&text, parent->name);
	hook_text_add(&text, ".");
	hook_text_number(&text, parent->children + 1);
	name = hook_text_in(t->name, sizeof(t->name));
	if (strlen(whole) < sizeof(t->name))
		hook_text_add(&name, whole);
	else
		name_deep(whole, &name);
	return t;
}

struct creation {
	pthread_t *thread;
	const pthread_attr_t *attr;
	void *(*start)(void *);
	void *arg;
	bool c11;
	const void *site;
};

static void adopt(struct hook_thread *parent, struct hook_thread *t, const struct creation *n)
{
	parent->children++;
	t->passive = parent->passive;
	t->life.is_of_team = parent->life.makes_team;
	t->serial.blocks_trap = parent->serial.blocks_trap;
	t->life.start = n->start;
	t->life.start_arg = n->arg;
	hook_thread_heap.child(t, n->attr);
	hook_race_child(t);
	/* It counts from now on: others must not take it for one that has nothing to do. */
	if (of_mode[hook_process.mode].opens_child)
		hook_sync_open(t);
	hook_sync_list_add(t);
}

static void abandon(struct hook_thread *t)
{
	hook_stack_return(t);
	hook_thread_heap.no_child(t);
	hook_race_no_child(t);
	hook_sync_list_remove(t);
	hook_thread_close(t);
}

static int create_alone(const struct creation *n)
{
	if (!n->c11)
		return hook_sync_real.pthread_create(n->thread, n->attr, n->start, n->arg);
	return hook_sync_real.thrd_create(n->thread, (int (*)(void *))(void (*)(void))n->start,
					  n->arg);
}

static HOOK_FRAME int create_now(const struct creation *n, struct hook_thread *t)
{
	const pthread_attr_t *attr;
	pthread_attr_t mine;
	int rc;

	if (!t)
		return create_alone(n);
	attr = hook_stack_attr(t, n->attr, &mine) ? &mine : n->attr;
	hook_sanitizer_enter(n->site);
	rc = hook_sync_real.pthread_create(n->thread, attr, n->c11 ? thread_main_c11 : thread_main,
					   t);
	hook_sanitizer_leave();
	if (!rc || !n->c11)
		return rc;
	return rc == ENOMEM ? thrd_nomem : thrd_error;
}

static bool has_mask(const pthread_attr_t *attr)
{
	sigset_t mask;

	return attr && pthread_attr_getsigmask_np(attr, &mask) != PTHREAD_ATTR_NO_SIGMASK_NP;
}

/* The mask that the attributes ask for is another one meanwhile: they cannot be copied. */
static HOOK_FRAME int create_masked(const struct creation *n, struct hook_thread *t)
{
	static struct hook_lock busy;
	pthread_attr_t *attr = (pthread_attr_t *)n->attr;
	sigset_t all, mask;
	int rc;

	fill(&all);
	hook_lock_take(&busy);
	pthread_attr_getsigmask_np(attr, &mask);
	rc = pthread_attr_setsigmask_np(attr, &all);
	if (!rc) {
		t->life.mask = mask;
		t->life.masked = true;
		rc = create_now(n, t);
		pthread_attr_setsigmask_np(attr, &mask);
	}
	hook_lock_give(&busy);
	return rc;
}

static HOOK_FRAME int create(const struct creation *n, struct hook_thread *t)
{
	sigset_t mask;
	int rc;

	if (!t || !of_mode[hook_process.mode].masks)
		return create_now(n, t);
	block_signals(&mask);
	if (has_mask(n->attr)) {
		rc = create_masked(n, t);
	} else {
		t->life.mask = mask;
		t->life.masked = true;
		rc = create_now(n, t);
	}
	REAL(pthread_sigmask)(SIG_SETMASK, &mask, NULL);
	return rc;
}

/* A recorded failure is a failure, and took a name; what has come about must come about. */
static HOOK_FRAME int act(struct hook_thread *parent, const struct hook_sync_call *c, int code)
{
	const struct creation *n = c->object;
	struct hook_thread *t = next_child(parent);
	int rc;

	/* Without one the thread has to do without us. */
	if (t)
		adopt(parent, t, n);
	rc = code > 0 ? code : create(n, t);
	if (rc && t)
		abandon(t);
	if (rc && code == 0)
		hook_failed(parent, "a thread cannot be created: too many are there already");
	return rc;
}

void hook_create_at_end(struct hook_thread *parent, const struct hook_sync_call *c)
{
	const struct creation *n = c->object;
	struct hook_thread *t = next_child(parent);
	char name[TRACE_NAME_BYTES + 32];
	struct trace_view view;
	const char *why;

	if (!t)
		return;
	hook_stream_name(t, "sync", name, sizeof(name));
	if (trace_view_open(&view, hook_process.rank_fd, name, &why) != 0) {
		hook_thread_close(t);
		return;
	}
	trace_view_close(&view);
	adopt(parent, t, n);
	if (create(n, t) != 0)
		abandon(t);
}

static HOOK_FRAME int create_hooked(const struct creation *n)
{
	struct hook_sync_call c = {.op = SYNC_CREATE, .object = (void *)n, .site = n->site};
	struct hook_thread *t = hook_thread_self();
	int error = errno, rc;

	hook_depth = HOOK_CLOSED;
	hook_runtime_find();
	if (!hook_sync_mode) {
		hook_sync_start();
		hook_stack_start();
		hook_thread_number(t);
		t->life.handle = (uint64_t)pthread_self();
		pthread_setspecific(key, t);
		hook_sync_list_add(t);
	}
	if (t->passive)
		rc = create(n, NULL);
	else
		rc = hook_sync_mode->value(t, &c, trace_sync_op_id(c.op), act);
	hook_sync_leave(t);
	errno = error;
	return rc;
}

HOOK_EXPORT HOOK_FRAME int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
					  void *(*start)(void *), void *arg)
{
	struct creation n = {thread, attr, start, arg, false, SITE};

	if (hook_depth || hook_sanitizer_calls(SITE))
		return SYNC_REAL(pthread_create)(thread, attr, start, arg);
	return create_hooked(&n);
}

HOOK_EXPORT HOOK_FRAME int thrd_create(thrd_t *thread, thrd_start_t start, void *arg)
{
	struct creation n = {thread, NULL, (void *(*)(void *))(void (*)(void))start,
			     arg,    true, SITE};

	if (hook_depth)
		return SYNC_REAL(thrd_create)(thread, start, arg);
	return create_hooked(&n);
}
