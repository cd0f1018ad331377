/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Critical sections, the lock behind atomic and reduction where the processor has no instruction
 * for it, and the locks of omp.h, for C and for Fortran. They are locks like any other.
 */
#include <errno.h>

#include "hook/thread/gomp/gomp.h"
#include "hook/thread/sync/objects.h"

#define SITE __builtin_return_address(0)

HOOK_EXPORT void GOMP_critical_start(void);
HOOK_EXPORT void GOMP_critical_end(void);
HOOK_EXPORT void GOMP_critical_name_start(void **name);
HOOK_EXPORT void GOMP_critical_name_end(void **name);
HOOK_EXPORT void GOMP_atomic_start(void);
HOOK_EXPORT void GOMP_atomic_end(void);

static int take(const struct hook_gomp_lock *how, enum hook_sync_op op, void *object,
		const void *site)
{
	struct hook_sync_call c = {.op = op, .object = object, .cond = (void *)how, .site = site};
	HOOK_SYNC_ENTER(t);

	return hook_sync_mode->take(t, &c);
}

static void release(const struct hook_gomp_lock *how, enum hook_sync_op op, void *object)
{
	struct hook_sync_call c = {.op = op, .object = object, .cond = (void *)how};
	HOOK_SYNC_ENTER(t);

	hook_sync_mode->release(t, &c);
}

int hook_gomp_undo(const struct hook_sync_call *c)
{
	((const struct hook_gomp_lock *)c->cond)->release(c->object);
	return 0;
}

/* PAIR: the two ends of a section; `object` stands for it. */
#define PAIR(start, end, op, object, parameters, arguments)                                        \
	static int start##_take(void *o)                                                           \
	{                                                                                          \
		(void)o;                                                                           \
		GOMP_REAL(start) arguments;                                                        \
		return 0;                                                                          \
	}                                                                                          \
	static void end##_release(void *o)                                                         \
	{                                                                                          \
		(void)o;                                                                           \
		GOMP_REAL(end) arguments;                                                          \
	}                                                                                          \
	static const struct hook_gomp_lock start##_lock = {start##_take, end##_release};           \
	void start parameters                                                                      \
	{                                                                                          \
		void *o = object;                                                                  \
		if (hook_sync_is_on(SITE))                                                         \
			take(&start##_lock, op, o, SITE);                                          \
		else                                                                               \
			start##_take(o);                                                           \
	}                                                                                          \
	void end parameters                                                                        \
	{                                                                                          \
		void *o = object;                                                                  \
		if (hook_sync_is_on(SITE))                                                         \
			release(&start##_lock, op, o);                                             \
		else                                                                               \
			end##_release(o);                                                          \
	}

static char unnamed, atomic;

PAIR(GOMP_critical_start, GOMP_critical_end, SYNC_GOMP_CRITICAL, &unnamed, (void), ())
PAIR(GOMP_critical_name_start, GOMP_critical_name_end, SYNC_GOMP_CRITICAL, name, (void **name), (o))
PAIR(GOMP_atomic_start, GOMP_atomic_end, SYNC_GOMP_ATOMIC, &atomic, (void), ())

static __thread int nesting; /* of the lock that was tested last */

/*
 * A lock of omp.h, `nest` or not, for C or, with _, for Fortran. libgomp keeps its state where the
 * pointer leads to, whatever its type.
 */
#define LOCK(name, end, op)                                                                        \
	HOOK_EXPORT void omp_set_##name##end(void *lock);                                          \
	HOOK_EXPORT void omp_unset_##name##end(void *lock);                                        \
	HOOK_EXPORT int omp_test_##name##end(void *lock);                                          \
	HOOK_EXPORT void omp_init_##name##end(void *lock);                                         \
	HOOK_EXPORT void omp_destroy_##name##end(void *lock);                                      \
	static int set_##name##end(void *lock)                                                     \
	{                                                                                          \
		GOMP_REAL(omp_set_##name##end)(lock);                                              \
		return 0;                                                                          \
	}                                                                                          \
	static int test_##name##end(void *lock)                                                    \
	{                                                                                          \
		nesting = GOMP_REAL(omp_test_##name##end)(lock);                                   \
		return nesting ? 0 : EBUSY;                                                        \
	}                                                                                          \
	static void unset_##name##end(void *lock)                                                  \
	{                                                                                          \
		GOMP_REAL(omp_unset_##name##end)(lock);                                            \
	}                                                                                          \
	static const struct hook_gomp_lock by_set_##name##end = {set_##name##end,                  \
								 unset_##name##end};               \
	static const struct hook_gomp_lock by_test_##name##end = {test_##name##end,                \
								  unset_##name##end};              \
	void omp_set_##name##end(void *lock)                                                       \
	{                                                                                          \
		if (hook_sync_is_on(SITE))                                                         \
			take(&by_set_##name##end, op##_LOCK, lock, SITE);                          \
		else                                                                               \
			set_##name##end(lock);                                                     \
	}                                                                                          \
	int omp_test_##name##end(void *lock)                                                       \
	{                                                                                          \
		int rc = hook_sync_is_on(SITE) ? take(&by_test_##name##end, op##_TEST, lock, SITE) \
					       : test_##name##end(lock);                           \
                                                                                                   \
		return rc ? 0 : nesting;                                                           \
	}                                                                                          \
	void omp_unset_##name##end(void *lock)                                                     \
	{                                                                                          \
		if (hook_sync_is_on(SITE))                                                         \
			release(&by_set_##name##end, op##_LOCK, lock);                             \
		else                                                                               \
			unset_##name##end(lock);                                                   \
	}                                                                                          \
	void omp_init_##name##end(void *lock)                                                      \
	{                                                                                          \
		if (!hook_depth)                                                                   \
			hook_sync_forget(lock);                                                    \
		GOMP_REAL(omp_init_##name##end)(lock);                                             \
	}                                                                                          \
	void omp_destroy_##name##end(void *lock)                                                   \
	{                                                                                          \
		if (!hook_depth)                                                                   \
			hook_sync_forget(lock);                                                    \
		GOMP_REAL(omp_destroy_##name##end)(lock);                                          \
	}

LOCK(lock, , SYNC_OMP)
LOCK(nest_lock, , SYNC_OMP_NEST)
LOCK(lock, _, SYNC_OMP)
LOCK(nest_lock, _, SYNC_OMP_NEST)
