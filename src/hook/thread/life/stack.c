/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack is free again when its thread was joined, or was detached and is gone. libc keeps the
 * state of a thread in its stack, and the kernel writes there last: a zero where the thread's
 * number was. Until then nobody takes the slot. So the slot decides which stack a thread gets. The
 * slot is recorded, and whether the thread got one of our stacks. Nothing is unmapped: the next
 * thread of the slot is likely to want the same.
 */
#include "hook/thread/life/stack.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "ckpt/raw.h"
#include "hook/common/addresses.h"
#include "hook/kit/pages.h"
#include "hook/thread/call/real.h"
#include "replay/session.h"

#define STACK_BASE (HEAP_LARGE_BASE + HEAP_LARGE_BYTES + 2 * HEAP_TIB)
#define STACK_BYTES (HEAP_GIB / 2)
#define COLOURS 64u
#define STACK_MOST (STACK_BYTES - COLOURS * HEAP_PAGE)
#define KEPT (64ul << 10) /* of a stack whose thread ends: about what the next one will touch */

_Static_assert(STACK_BASE == REPLAY_STACKS, "a debugger looks for stacks elsewhere");
_Static_assert(STACK_BASE + HEAP_SLOTS * STACK_BYTES <= REPLAY_STACKS_END,
	       "a debugger does not know where stacks end");

static struct stack {
	bool taken, detached;
	pthread_t thread;   /* once it runs */
	size_t mapped;      /* never less: who looks whether a thread is gone looks there */
	size_t size, guard; /* of its last thread */
	size_t asked;       /* what that wanted to have without the guard */
} stacks[HEAP_SLOTS];

static size_t tid_at; /* where in the state of a thread its number is */

/* Not all at the same place of a cache. */
static uintptr_t top_of(uint32_t slot)
{
	return STACK_BASE + (slot + 1ul) * STACK_BYTES - slot % COLOURS * HEAP_PAGE;
}

/* NULL: that thread has none of ours. */
static struct stack *stack_at(pthread_t thread)
{
	uintptr_t at = (uintptr_t)thread - STACK_BASE;

	return at < HEAP_SLOTS * STACK_BYTES ? &stacks[at / STACK_BYTES] : NULL;
}

static bool is_free(uint32_t slot)
{
	const struct stack *s = &stacks[slot];
	pthread_t thread;

	if (!__atomic_load_n(&s->taken, __ATOMIC_ACQUIRE))
		return true;
	thread = __atomic_load_n(&s->thread, __ATOMIC_ACQUIRE);
	return thread && __atomic_load_n(&s->detached, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n((const int *)(thread + tid_at), __ATOMIC_ACQUIRE) == 0;
}

static size_t up(size_t n)
{
	return (n + HEAP_PAGE - 1) & ~(HEAP_PAGE - 1);
}

/* A thread touches little of its stack: no large pages. */
static bool grow(struct stack *s, uintptr_t top, size_t size)
{
	char *at = (char *)(top - size);
	size_t more = size - s->mapped;

	if (hook_pages_at(at, more, MAP_STACK | MAP_NORESERVE))
		return false;
	madvise(at, more, MADV_NOHUGEPAGE);
	s->mapped = size;
	return true;
}

/* The guard is where the stack ends, above what an earlier thread may have had. */
static bool map(uint32_t slot, size_t size, size_t guard)
{
	struct stack *s = &stacks[slot];
	uintptr_t top = top_of(slot);

	if (s->size == size && s->guard == guard)
		return true;
	if (s->guard && mprotect((char *)(top - s->size), s->guard, PROT_READ | PROT_WRITE) != 0)
		return false;
	s->size = s->guard = 0;
	if (size > s->mapped && !grow(s, top, size))
		return false;
	if (guard && mprotect((char *)(top - size), guard, PROT_NONE) != 0)
		return false;
	s->size = size;
	s->guard = guard;
	return true;
}

/* One that the program has not set ends at 0. */
static bool has_own(const pthread_attr_t *attr)
{
	size_t size;
	void *at;

	return pthread_attr_getstack(attr, &at, &size) != 0 || (uintptr_t)at + size != 0;
}

/* The attributes of a thread for which there are none are those of libc. */
static bool wishes(const pthread_attr_t *attr, size_t *size, size_t *guard, bool *detached)
{
	int state = PTHREAD_CREATE_JOINABLE;
	pthread_attr_t usual;
	bool ok;

	if (!attr && pthread_getattr_default_np(&usual) != 0)
		return false;
	ok = pthread_attr_getstacksize(attr ? attr : &usual, size) == 0 &&
	     pthread_attr_getguardsize(attr ? attr : &usual, guard) == 0 &&
	     pthread_attr_getdetachstate(attr ? attr : &usual, &state) == 0;
	if (!attr)
		pthread_attr_destroy(&usual);
	*detached = state == PTHREAD_CREATE_DETACHED;
	return ok;
}

static bool prepare(uint32_t slot, const void *attr)
{
	struct stack *s = &stacks[slot];
	size_t size, guard;
	bool detached;

	__atomic_store_n(&s->taken, false, __ATOMIC_RELEASE);
	if (!slot || (attr && has_own(attr)) || !wishes(attr, &size, &guard, &detached) ||
	    size > STACK_MOST || guard > STACK_MOST || up(size) + up(guard) > STACK_MOST ||
	    !map(slot, up(size) + up(guard), up(guard)))
		return false;
	s->asked = size;
	s->thread = 0;
	s->detached = detached;
	__atomic_store_n(&s->taken, true, __ATOMIC_RELEASE);
	return true;
}

void hook_stack_start(void)
{
	static const struct heap_slot_also also = {is_free, prepare};
	int *tid;

	if (prctl(PR_GET_TID_ADDRESS, &tid) != 0)
		return;
	tid_at = (uintptr_t)tid - (uintptr_t)pthread_self();
	heap_slot_also = &also;
}

void hook_stack_return(const struct hook_thread *t)
{
	if (t->life.has_stack)
		__atomic_store_n(&stacks[t->heap_slot].taken, false, __ATOMIC_RELEASE);
}

bool hook_stack_attr(const struct hook_thread *t, const pthread_attr_t *attr, pthread_attr_t *mine)
{
	const struct stack *s;
	size_t size;

	if (!t->life.has_stack)
		return false;
	s = &stacks[t->heap_slot];
	size = s->size - s->guard;
	if (attr)
		*mine = *attr;
	if ((attr || pthread_getattr_default_np(mine) == 0) &&
	    pthread_attr_setstack(mine, (char *)(top_of(t->heap_slot) - size), size) == 0)
		return true;
	hook_stack_return(t);
	return false;
}

void hook_stack_begins(void)
{
	struct stack *s = stack_at(pthread_self());

	if (s)
		__atomic_store_n(&s->thread, pthread_self(), __ATOMIC_RELEASE);
}

void hook_stack_joined(pthread_t thread)
{
	struct stack *s = stack_at(thread);

	if (s)
		__atomic_store_n(&s->taken, false, __ATOMIC_RELEASE);
}

void hook_stack_detached(pthread_t thread)
{
	struct stack *s = stack_at(thread);

	if (s)
		__atomic_store_n(&s->detached, true, __ATOMIC_RELEASE);
}

void hook_stack_ends(void)
{
	struct stack *s = stack_at(pthread_self());
	uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~(HEAP_PAGE - 1), low;

	if (!s)
		return;
	low = top_of((uint32_t)(s - stacks)) - s->size + s->guard;
	if (here > low + KEPT)
		madvise((void *)low, here - KEPT - low, MADV_DONTNEED);
}

/*
 * In a process that was restored, libc knows a thread by the number that it had, and would ask the
 * kernel about that one. A thread that asks for itself gets its own for the moment; nobody else
 * looks at the word then, not even a handler, which might hold a mutex by it.
 */
static int real_attr(pthread_t thread, pthread_attr_t *attr)
{
	bool self = pthread_equal(thread, pthread_self());
	uint64_t all = UINT64_MAX, before;
	int known, *tid, rc;

	self = self && raw(SYS_prctl, PR_GET_TID_ADDRESS, &tid) == 0;
	if (!self || *tid == (int)raw(SYS_gettid)) {
		rc = SYNC_REAL(pthread_getattr_np)(thread, attr);
		/* It may have been restored in the middle of that. */
		if (rc != ESRCH || !self)
			return rc;
	}
	raw(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof(all));
	known = *tid;
	*tid = (int)raw(SYS_gettid);
	rc = SYNC_REAL(pthread_getattr_np)(thread, attr);
	*tid = known;
	raw(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(all));
	return rc;
}

/* For libc the stack is the program's own, which it would be without a guard. */
HOOK_EXPORT int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
	int rc = real_attr(thread, attr);
	const struct stack *s = stack_at(thread);
	uintptr_t low;

	if (!s || !__atomic_load_n(&s->taken, __ATOMIC_ACQUIRE))
		return rc;
	/* Of another thread all is known here but its processors. */
	if (rc == ESRCH && pthread_attr_init(attr) == 0)
		rc = pthread_attr_setdetachstate(attr, s->detached ? PTHREAD_CREATE_DETACHED
								   : PTHREAD_CREATE_JOINABLE);
	if (rc)
		return rc;
	low = top_of((uint32_t)(s - stacks)) - s->size + s->guard;
	pthread_attr_setguardsize(attr, s->guard);
	pthread_attr_setstack(attr, (void *)low, s->asked);
	return 0;
}
