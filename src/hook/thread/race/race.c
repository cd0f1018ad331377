/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mode around that of replay: a release is told before it is done, an acquire after it. Locks of
 * stdio and of libc order nothing that the program may rely on. Invariant: what is told follows
 * from what the thread did alone, so that a second pass finds the same segments.
 */
#include "hook/thread/race/race.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "hook/common/addresses.h"
#include "hook/common/process.h"
#include "hook/thread/atomic/atom.h"
#include "hook/thread/call/once.h"
#include "hook/thread/evaluate/stacks.h"
#include "hook/thread/serial/baton.h"

#define STACK_ROOM (HEAP_GIB / 2) /* a stack of ours lies in one of these: life/stack.c */

const struct hook_race_table *hook_race;
bool hook_race_obeys;

static const struct hook_sync_mode *below;

/* What is in an order among tasks is told by tasks.c. */
static bool orders(const struct hook_sync_call *c)
{
	return c->op != SYNC_GOMP_TASK && c->op < SYNC_STREAM && c->op != SYNC_IO &&
	       (c->op < SYNC_MEMORY || c->op > SYNC_LIBC_LAST);
}

/* As libc has it: part of the binary interface, since programs allocate it. */
struct barrier {
	uint32_t in, round, count;
};

/* What those that had it for reading gave back: it is for writers, not for each other. */
static const void *readers(const void *lock)
{
	return (const char *)lock + 1;
}

static bool is_had(int rc)
{
	return rc == 0 || rc == EOWNERDEAD;
}

static int race_take(struct hook_thread *t, const struct hook_sync_call *c)
{
	int rc = below->take(t, c);

	if (is_had(rc) && orders(c))
		hook_race->acquire(c->object);
	return rc;
}

static int race_lock(pthread_mutex_t *m, const void *site)
{
	int rc = below->lock(m, site);

	if (is_had(rc))
		hook_race->acquire(m);
	return rc;
}

static int race_release(struct hook_thread *t, const struct hook_sync_call *c)
{
	if (orders(c))
		hook_race->release(c->object);
	return below->release(t, c);
}

static int race_unlock(pthread_mutex_t *m)
{
	hook_race->release(m);
	return below->unlock(m);
}

/* It has the mutex again, also when it is cancelled. */
static void has_again(void **mutex)
{
	hook_race->acquire(*mutex);
}

static int race_wait(struct hook_thread *t, const struct hook_sync_call *c)
{
	void *mutex __attribute__((cleanup(has_again))) = c->object;

	hook_race->release(mutex);
	return below->wait(t, c);
}

static bool is_write_lock(const struct hook_sync_call *c)
{
	return c->op >= SYNC_WRLOCK && c->op <= SYNC_CLOCKWRLOCK;
}

static int race_share(struct hook_thread *t, const struct hook_sync_call *c)
{
	int rc = below->share(t, c);

	if (rc || !orders(c))
		return rc;
	hook_race->acquire(c->object);
	if (is_write_lock(c))
		hook_race->acquire(readers(c->object));
	return 0;
}

static int race_unshare(struct hook_thread *t, pthread_rwlock_t *l)
{
	hook_race->release(l->__data.__cur_writer == t->tid ? (const void *)l : readers(l));
	return below->unshare(t, l);
}

static int race_post(struct hook_thread *t, const struct hook_sync_call *c)
{
	if (orders(c))
		hook_race->release(c->object);
	return below->post(t, c);
}

/* A call of pthread_once at work. */
struct once {
	struct once *outer;
	bool asked, ran;
};

static __thread struct once *once;

static int race_value(struct hook_thread *t, const struct hook_sync_call *c, uint64_t id,
		      hook_sync_act *act)
{
	void *meeting = NULL;
	int code;

	if (c->op == SYNC_BARRIER_WAIT)
		meeting = hook_race->arrive(c->object, ((const struct barrier *)c->object)->count);
	code = below->value(t, c, id, act);
	if (c->op == SYNC_BARRIER_WAIT)
		hook_race->leave(c->object, meeting);
	if (!code && c->op >= SYNC_JOIN && c->op <= SYNC_CLOCKJOIN)
		hook_race->acquire(c->object);
	if (c->op == SYNC_ONCE && once && !once->asked) {
		once->asked = true;
		once->ran = code == 1;
	}
	return code;
}

static void race_once(struct hook_thread *t, const struct hook_sync_call *c)
{
	struct once o = {.outer = once};

	once = &o;
	below->once(t, c);
	once = o.outer;
	/* The routine's end is told where it is (call/once.c). */
	if (!o.ran)
		hook_race->acquire(c->object);
}

static void race_step(struct hook_thread *t, const struct hook_sync_call *c)
{
	below->step(t, c);
}

static const struct hook_sync_mode race = {
	.take = race_take,
	.lock = race_lock,
	.release = race_release,
	.unlock = race_unlock,
	.wait = race_wait,
	.share = race_share,
	.unshare = race_unshare,
	.post = race_post,
	.value = race_value,
	.once = race_once,
	.step = race_step,
};

/* The unwinder allocates, and takes locks of the loader: not the program's. */
static unsigned walk(const void *site, uint64_t *frame, unsigned most)
{
	int depth = hook_depth;
	unsigned n;

	hook_depth = 1;
	n = hook_stacks_walk(site, frame, most);
	hook_depth = depth;
	return n;
}

static void differs(const char *expected, const char *found)
{
	hook_depth = 1;
	hook_diverged(hook_thread_self(), "an access to memory", expected, found);
}

/* A thread that never made another operation waits, too, or computes: that is found out slowly. */
#define POLLS_AT_END (1u << 20)

static int polls(uint64_t times)
{
	struct hook_thread *t = hook_self;
	int error = errno;

	if (!t || hook_depth || !hook_baton_on ||
	    (!hook_baton_parks_next(t) && times < POLLS_AT_END))
		return 0;
	hook_depth = HOOK_CLOSED;
	if (hook_race_obeys)
		hook_baton_park(t);
	else
		hook_baton_answer(t, HOOK_PROBE_WAITS);
	hook_return_to(t, 0);
	errno = error;
	return 1;
}

static const struct hook_race_frames frames = {walk, differs, polls};

static void tell_counts(const struct hook_thread *t)
{
	hook_race->counts(&t->replay.events, &t->replay.sync_reader.ops);
}

const struct hook_sync_mode *hook_race_start(const struct hook_sync_mode *mode)
{
	const struct hook_race_table *table = dlsym(RTLD_DEFAULT, HOOK_RACE_NAME);
	char name[64], watch[64];
	int dir;

	if (!table)
		table = hook_race_of_valgrind();
	if (!table)
		return mode;
	if (table->version != HOOK_RACE_VERSION)
		hook_failed(hook_thread_self(),
			    "the checked program was linked by another version of Reprise");
	snprintf(name, sizeof(name), "races-%04u-%u", hook_process.rank, hook_process.process);
	snprintf(watch, sizeof(watch), "races-watch-%04u-%u", hook_process.rank,
		 hook_process.process);
	dir = open(hook_process.session, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (hook_atoms_forbidden)
		table->forbidden();
	if (dir < 0 || table->start(dir, name, watch, &frames) != 0)
		hook_failed(hook_thread_self(), "what is found cannot be written to the session");
	close(dir);
	below = mode;
	hook_race = table;
	hook_race_obeys = table->obeys && table->obeys();
	tell_counts(hook_thread_self());
	return &race;
}

void hook_race_stop(void)
{
	if (hook_race)
		hook_race->stop();
	hook_race = NULL;
	hook_race_obeys = false;
}

void hook_race_child(struct hook_thread *t)
{
	if (hook_race)
		t->replay.race = hook_race->fork(t->name);
}

void hook_race_no_child(const struct hook_thread *t)
{
	if (hook_race && t->replay.race)
		hook_race->abandon(t->replay.race);
}

void hook_race_begins(struct hook_thread *t)
{
	const char *handle = (const char *)t->life.handle;
	const char *stack = (const char *)(t->life.handle & ~(STACK_ROOM - 1));

	if (!hook_race)
		return;
	hook_race->begin(t->replay.race);
	tell_counts(t);
	/* What the last thread on this stack did there is over; but it may not be joined yet. */
	if (t->life.has_stack) {
		hook_race->reset(stack, (size_t)(handle - stack));
		hook_race->reset_data(handle, STACK_ROOM - (size_t)(handle - stack));
	}
}

void hook_race_ends(const struct hook_thread *t)
{
	if (!hook_race)
		return;
	/* Whoever joined the last thread of that handle may not have acquired it before. */
	hook_race->forget((const void *)t->life.handle);
	hook_race->release((const void *)t->life.handle);
	hook_race->end();
}
