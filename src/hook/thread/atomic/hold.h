/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording: who holds an atom.
 *
 * An atom that one thread alone has written to for long is lent to it: it has a seat, and its
 * operations on the atom begin by saying at the seat that they are at work, and then look whether
 * the atom is still theirs. Who takes an atom from a seat says so, has the kernel order the two in
 * all threads (membarrier), and waits for the operation that may be at work. So there is no locked
 * instruction, and an atom has one holder all the same. Each time, it takes longer until it is lent
 * again.
 */
#ifndef HOOK_ATOM_HOLD_H
#define HOOK_ATOM_HOLD_H

#include "hook/thread/atomic/atom.h"

#define HOOK_ATOM_ALONE 1024 /* operations in a row; twice as many each time */
#define HOOK_ATOM_LENT_MOST 16

/* By who holds it. */
static inline uint64_t hook_atom_writes(const struct hook_atom *a)
{
	return (__atomic_load_n(&a->state, __ATOMIC_RELAXED) & ~(uint64_t)HOOK_ATOM_TAKEN) +
	       (__atomic_load_n(&a->own, __ATOMIC_RELAXED) & ~(uint64_t)HOOK_ATOM_OWN);
}

static inline bool hook_atom_is_of_another(const struct hook_thread *t, const struct hook_atom *a)
{
	uint64_t seat = __atomic_load_n(&a->seat, __ATOMIC_RELAXED);

	return seat && seat != t->sync.atoms->seat;
}

/* Without taking it: false if it is not the thread's. */
static inline bool hook_atom_try_own(const struct hook_thread *t, struct hook_atom *a)
{
	uint64_t seat = t->sync.atoms->seat;

	if (__atomic_load_n(&a->seat, __ATOMIC_RELAXED) != seat || !seat)
		return false;
	__atomic_store_n(&hook_atom_seat[seat].at_work, a, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(__atomic_load_n(&a->seat, __ATOMIC_RELAXED) == seat, 1)) {
		/* Who knows the value sees this before any change. */
		__atomic_store_n(&a->own, a->own | HOOK_ATOM_OWN, __ATOMIC_RELAXED);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		return true;
	}
	__atomic_store_n(&hook_atom_seat[seat].at_work, NULL, __ATOMIC_RELEASE);
	return false;
}

/* Taken by the quick way: is it lent from now on? */
static inline void hook_atom_lend(struct hook_thread *t, struct hook_atom *a, uint64_t writes)
{
	struct hook_atom_known *k = hook_atom_known(t, a->id);

	k->alone = k->stamp >> HOOK_ATOM_SIZE_BITS == writes ? k->alone + 1 : 0;
	if (__builtin_expect(k->alone >> a->lent >= HOOK_ATOM_ALONE, 0) &&
	    a->lent < HOOK_ATOM_LENT_MOST && a->id)
		__atomic_store_n(&a->seat, t->sync.atoms->seat, __ATOMIC_RELAXED);
}

/*
 * False if another thread has it, or has to be asked for it: the recording may end by that, which
 * the quick way does not expect.
 */
static inline bool hook_atom_try(struct hook_thread *t, struct hook_atom *a, uint64_t *writes)
{
	uint64_t state;

	if (hook_atom_try_own(t, a)) {
		*writes = hook_atom_writes(a);
		return true;
	}
	state = __atomic_load_n(&a->state, __ATOMIC_RELAXED) & ~(uint64_t)HOOK_ATOM_TAKEN;
	if (!__atomic_compare_exchange_n(&a->state, &state, state | HOOK_ATOM_TAKEN, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return false;
	if (__builtin_expect(hook_atom_is_of_another(t, a), 0)) {
		__atomic_store_n(&a->state, state, __ATOMIC_RELEASE);
		return false;
	}
	*writes = hook_atom_writes(a);
	hook_atom_lend(t, a, *writes);
	return true;
}

/* The ends of both: it was written to so often by now. */
static inline void hook_atom_leave_own(const struct hook_thread *t, struct hook_atom *a,
				       uint64_t writes)
{
	uint64_t state = __atomic_load_n(&a->state, __ATOMIC_RELAXED) & ~(uint64_t)HOOK_ATOM_TAKEN;

	__atomic_store_n(&a->own, writes - state, __ATOMIC_RELEASE);
	__atomic_store_n(&hook_atom_seat[t->sync.atoms->seat].at_work, NULL, __ATOMIC_RELEASE);
}

static inline void hook_atom_let_go(const struct hook_thread *t, struct hook_atom *a,
				    uint64_t writes)
{
	if (hook_atom_seat[t->sync.atoms->seat].at_work == a)
		hook_atom_leave_own(t, a, writes);
	else
		__atomic_store_n(&a->state, writes - (a->own & ~(uint64_t)HOOK_ATOM_OWN),
				 __ATOMIC_RELEASE);
}

/* The sum, with the bits of operations at work. */
static inline uint64_t hook_atom_state(const struct hook_atom *a)
{
	return __atomic_load_n(&a->state, __ATOMIC_ACQUIRE) +
	       __atomic_load_n(&a->own, __ATOMIC_ACQUIRE);
}

#endif
