/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomic operations of C11 and C++. They are done, and order threads as they ask for. They do not
 * race with each other, and are not compared with plain accesses. If the program was compiled with
 * --atomics and not recorded in turns, in which order they come is recorded: its table does them,
 * and tells of them in that order. Otherwise it is chance, and they are done and told of under a
 * lock: what is told is what they did.
 */
#include "hook/atomic/plain.h"
#include "hook/race/runtime.h"
#include "race/sys.h"

#define LOCKS 256u

extern const struct hook_race_table reprise_race;

/* Of libreprise-atomics.so, if that is there. */
extern struct hook_atomic_table reprise_atomics __attribute__((weak, visibility("default")));

static int locks[LOCKS];
static __thread bool at_work;

static bool by_table(void)
{
	return &reprise_atomics != NULL && reprise_atomics.ordered;
}

static int *lock_of(const volatile void *p)
{
	return &locks[((uintptr_t)p >> 3) % LOCKS];
}

/*
 * Where dependences are looked for or obeyed, it is an access like others. True: it is to be told
 * of when it is done. A handler of a signal that comes in between must not wait for its own thread,
 * nor a forked child for one that it does not have: nobody looks at it.
 */
static bool begin(const volatile void *p, size_t n, bool write)
{
	if (runtime_depends || runtime_obeys) {
		runtime_range((const void *)p, n, write, NULL);
		return false;
	}
	if (at_work || by_table() || !runtime_is_seen())
		return false;
	at_work = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	race_lock(lock_of(p));
	return true;
}

static void end(bool begun, const volatile void *p, enum race_atomic what, int order)
{
	if (!begun)
		return;
	reprise_race.atomic((const void *)p, what, order);
	race_unlock(lock_of(p));
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	at_work = false;
}

static void end_exchange(bool begun, const volatile void *p, bool done, int order, int failed)
{
	end(begun, p, done ? RACE_CHANGE : RACE_LOAD, done ? order : failed);
}

#define FETCH(bits, n, type, name, ours)                                                           \
	RUNTIME_EXPORT type __tsan_atomic##bits##_##name(volatile type *p, type v, int order);     \
	type __tsan_atomic##bits##_##name(volatile type *p, type v, int order)                     \
	{                                                                                          \
		bool begun = begin(p, n, true);                                                    \
		type was;                                                                          \
                                                                                                   \
		was = by_table() ? reprise_atomics.ours##n(p, v, order)                            \
				 : hook_plain_##ours##n(p, v);                                     \
		end(begun, p, RACE_CHANGE, order);                                                 \
		return was;                                                                        \
	}

#define EXCHANGE(bits, n, type, name)                                                              \
	RUNTIME_EXPORT int __tsan_atomic##bits##_compare_exchange_##name(                          \
		volatile type *p, type *expected, type v, int order, int failed);                  \
	int __tsan_atomic##bits##_compare_exchange_##name(volatile type *p, type *expected,        \
							  type v, int order, int failed)           \
	{                                                                                          \
		bool begun = begin(p, n, true), done;                                              \
                                                                                                   \
		done = by_table() ? reprise_atomics.swap##n(p, expected, v, order, failed)         \
				  : hook_plain_swap##n(p, expected, v);                            \
		end_exchange(begun, p, done, order, failed);                                       \
		return done;                                                                       \
	}

#define ATOMIC(bits, n, type)                                                                      \
	RUNTIME_EXPORT type __tsan_atomic##bits##_load(const volatile type *p, int order);         \
	RUNTIME_EXPORT void __tsan_atomic##bits##_store(volatile type *p, type v, int order);      \
	RUNTIME_EXPORT type __tsan_atomic##bits##_compare_exchange_val(                            \
		volatile type *p, type expected, type v, int order, int failed);                   \
	type __tsan_atomic##bits##_load(const volatile type *p, int order)                         \
	{                                                                                          \
		bool begun = begin(p, n, false);                                                   \
		type v;                                                                            \
                                                                                                   \
		v = by_table() ? reprise_atomics.load##n(p, order) : hook_plain_load##n(p);        \
		end(begun, p, RACE_LOAD, order);                                                   \
		return v;                                                                          \
	}                                                                                          \
	void __tsan_atomic##bits##_store(volatile type *p, type v, int order)                      \
	{                                                                                          \
		bool begun = begin(p, n, true);                                                    \
                                                                                                   \
		if (by_table())                                                                    \
			reprise_atomics.store##n(p, v, order);                                     \
		else                                                                               \
			hook_plain_store##n(p, v, order);                                          \
		end(begun, p, RACE_STORE, order);                                                  \
	}                                                                                          \
	type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type expected, type v,   \
							int order, int failed)                     \
	{                                                                                          \
		bool begun = begin(p, n, true), done;                                              \
                                                                                                   \
		done = by_table() ? reprise_atomics.swap##n(p, &expected, v, order, failed)        \
				  : hook_plain_swap##n(p, &expected, v);                           \
		end_exchange(begun, p, done, order, failed);                                       \
		return expected;                                                                   \
	}                                                                                          \
	EXCHANGE(bits, n, type, strong)                                                            \
	EXCHANGE(bits, n, type, weak)                                                              \
	FETCH(bits, n, type, exchange, exchange)                                                   \
	FETCH(bits, n, type, fetch_add, add)                                                       \
	FETCH(bits, n, type, fetch_sub, sub)                                                       \
	FETCH(bits, n, type, fetch_and, and)                                                       \
	FETCH(bits, n, type, fetch_or, or)                                                         \
	FETCH(bits, n, type, fetch_xor, xor)                                                       \
	FETCH(bits, n, type, fetch_nand, nand)

ATOMIC(8, 1, uint8_t)
ATOMIC(16, 2, uint16_t)
ATOMIC(32, 4, uint32_t)
ATOMIC(64, 8, uint64_t)
ATOMIC(128, 16, hook_uint128)

RUNTIME_EXPORT void __tsan_atomic_thread_fence(int order);
RUNTIME_EXPORT void __tsan_atomic_signal_fence(int order);

void __tsan_atomic_thread_fence(int order)
{
	reprise_race.fence(order);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order)
{
	(void)order;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}
