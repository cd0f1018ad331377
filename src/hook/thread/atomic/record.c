/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording of atomic operations. Who takes an atom holds it until the operation is both done and
 * written down: what another thread has written down came after it, also if the process is killed.
 * A load of what the thread knows takes nothing: it looks whether the atom was written to before
 * and after. Taking is a locked instruction, so a thread never finds an atom free that another one
 * took before it did what this thread has seen: all operations have one order.
 *
 * Code that is not recorded (a library, a plain initialisation) may change the variable as well.
 * What was found is then part of the record.
 *
 * A locked instruction waits for all stores before it. So the one of the program follows that of
 * taking at once, and the quick way keeps nothing on the stack: whatever it calls comes last.
 */
#include "hook/thread/atomic/hold.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>

#include "base/raw.h"

#include "hook/thread/sync/streams.h"

#define WRITE HOOK_ATOM_WRITE
#define SPINS 64

static void pause_for(int spins)
{
	if (spins < SPINS)
		__builtin_ia32_pause();
	else
		sched_yield();
}

/* It was taken, and is another thread's. */
static void take_back(struct hook_thread *t, struct hook_atom *a)
{
	const struct hook_atom_seat *seat = &hook_atom_seat[a->seat];

	__atomic_store_n(&a->seat, 0, __ATOMIC_SEQ_CST);
	a->lent++;
	/* The program may have forbidden it: that was the end of the recording. */
	if (hook_process.record.stopped)
		return;
	if (rp_raw_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0) != 0)
		hook_stop_recording(t, TRACE_STOP_TABLE, 0,
				    "the kernel does not order its threads any more");
	for (int spins = 0; __atomic_load_n(&seat->at_work, __ATOMIC_ACQUIRE) == a; spins++)
		pause_for(spins);
}

/* Waits for it. How often it was written to. */
static __attribute__((noinline)) uint64_t take(struct hook_thread *t, struct hook_atom *a)
{
	uint64_t state;

	for (int spins = 0;; spins++) {
		state = __atomic_load_n(&a->state, __ATOMIC_RELAXED);
		if (!(state & HOOK_ATOM_TAKEN) &&
		    __atomic_compare_exchange_n(&a->state, &state, state | HOOK_ATOM_TAKEN, false,
						__ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			break;
		pause_for(spins);
	}
	if (hook_atom_is_of_another(t, a))
		take_back(t, a);
	return hook_atom_writes(a);
}

/* Writes down an operation that holds the atom. */
static void note(struct hook_thread *t, struct hook_atom *a, enum hook_sync_op op, uint32_t code)
{
	struct trace_sync_outcome out = {.takes = true, .code = code, .version = a->version[0] + 1};
	enum trace_sync_class how = hook_sync_class(op);
	int rc;

	if (t->passive || hook_is_stopped(t))
		return;
	a->version[0]++;
	if (!a->id) {
		__atomic_store_n(&a->id, hook_sync_new_id(t), __ATOMIC_RELEASE);
		rc = trace_sync_put_new(&t->record.sync, op, how, a->id, &out);
	} else if (how == TRACE_SYNC_PLAIN && !code) {
		rc = trace_sync_put_take(&t->record.sync, op, a->id, out.version);
	} else {
		rc = trace_sync_put_outcome(&t->record.sync, op, how, a->id, &out);
	}
	hook_sync_wrote(t, rc);
}

/* Is that what the last operation left? */
static inline bool is_value(const struct hook_atom *a, unsigned int n, hook_uint128 found)
{
	if (n <= sizeof(uint64_t))
		return a->size == n && a->value.low == (uint64_t)found;
	return a->size == n && a->value.whole == found;
}

/* The atom has become this, and was written to so often. */
static inline void leave_behind(struct hook_thread *t, struct hook_atom *a, uint64_t state,
				unsigned int n, hook_uint128 value)
{
	if (__builtin_expect(a->size != n, 0))
		a->size = n;
	if (n <= sizeof(uint64_t))
		a->value.low = (uint64_t)value;
	else
		a->value.whole = value;
	hook_atom_known(t, a->id)->stamp = state << HOOK_ATOM_SIZE_BITS | n;
}

/* And is free. */
static inline void give(struct hook_thread *t, struct hook_atom *a, uint64_t state, unsigned int n,
			hook_uint128 value)
{
	leave_behind(t, a, state, n, value);
	hook_atom_let_go(t, a, state);
}

/*
 * Does the thread know this: was the atom not written to since the thread took it? The value was
 * loaded after the state. Each of the two words only grows, so their sum is the same only if both
 * are.
 */
static inline bool is_known(struct hook_thread *t, const struct hook_atom *a, uint64_t state,
			    unsigned int n, hook_uint128 found)
{
	return hook_atom_known(t, a->id)->stamp == (state << HOOK_ATOM_SIZE_BITS | n) &&
	       is_value(a, n, found) && hook_atom_state(a) == state &&
	       trace_sync_has(t->record.sync.slot, a->id);
}

static inline bool is_stopped(const struct hook_thread *t)
{
	return hook_process.record.stopped || t->passive;
}

/*
 * NULL: the long way. Who faults at a bad address has done nothing yet. Which atom it is is looked
 * up when no handler of a signal can come any more, which may look up another one there.
 */
static inline struct hook_atom *enter(struct hook_thread *t, const volatile void *p)
{
	unsigned int place = hook_atom_place(p);

	if (__builtin_expect(hook_depth || hook_process.noise || !t->sync.atoms || is_stopped(t) ||
				     trace_sync_is_short(&t->record.sync),
			     0))
		return NULL;
	(void)*(const volatile char *)p;
	hook_depth = HOOK_CLOSED;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(t->sync.atoms->near[place].address == p, 1))
		return t->sync.atoms->near[place].atom;
	hook_depth = 0;
	return NULL;
}

static inline bool has_to_leave(const struct hook_thread *t)
{
	return hook_points || t->signal.waiting || hook_residue_matters;
}

/* The quick way may have to end with these, which give what the operation gives. */
static __attribute__((noinline)) uint64_t leave(struct hook_thread *t, uint64_t result)
{
	hook_sync_leave(t);
	return result;
}

static inline uint64_t done(struct hook_thread *t, uint64_t result)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(has_to_leave(t), 0))
		return leave(t, result);
	hook_depth = 0;
	return result;
}

/* An operation that has been done and holds its atom, as one number. */
#define WHAT(op, n, swapped) ((uint32_t)(op) << 8 | (n) << 1 | (swapped))

static inline enum hook_sync_op op_of(uint32_t what)
{
	return (enum hook_sync_op)(what >> 8);
}

static inline unsigned int size_of(uint32_t what)
{
	return what >> 1 & 0x7f;
}

/* What it gives: of up to 8 bytes. */
static inline uint64_t result_of(uint32_t what, uint64_t found)
{
	return op_of(what) == SYNC_ATOMIC_SWAP ? what & 1 : found;
}

static inline bool is_expected(const struct hook_atom *a, uint32_t what, hook_uint128 found)
{
	return op_of(what) == SYNC_ATOMIC_STORE || is_value(a, size_of(what), found);
}

/*
 * It has found and left these; `state` is the one after it. What others have changed unseen counts
 * as written to: threads that know what was there before do not know what is there now.
 */
static void note_and_give(struct hook_thread *t, struct hook_atom *a, uint32_t what, uint64_t state,
			  hook_uint128 found, hook_uint128 value)
{
	bool expected = !a->id || is_expected(a, what, found);

	note(t, a, op_of(what), expected ? 0 : hook_atom_code(found));
	give(t, a, expected ? state : state + WRITE, size_of(what), value);
}

static __attribute__((noinline)) uint64_t finish_otherwise(struct hook_thread *t,
							   struct hook_atom *a, uint32_t what,
							   uint64_t state, uint64_t found,
							   uint64_t value)
{
	note_and_give(t, a, what, state, found, value);
	return leave(t, result_of(what, found));
}

static inline bool steps(struct hook_thread *t, const struct hook_atom *a, enum hook_sync_op op)
{
	uint32_t version = a->version[0] + 1;

	if (op == SYNC_ATOMIC_SWAP)
		return trace_sync_step_swap(&t->record.sync, op, a->id, version);
	return op != SYNC_ATOMIC_LOAD && trace_sync_step(&t->record.sync, op, a->id, version);
}

/* The end of the quick way, with an atom that is the thread's own, or was taken. */
static inline __attribute__((always_inline)) uint64_t finish(struct hook_thread *t,
							     struct hook_atom *a, bool own,
							     uint32_t what, uint64_t state,
							     uint64_t found, uint64_t value)
{
	if (__builtin_expect(!is_expected(a, what, found) || !steps(t, a, op_of(what)), 0))
		return finish_otherwise(t, a, what, state, found, value);
	a->version[0]++;
	leave_behind(t, a, state, size_of(what), value);
	if (own)
		hook_atom_leave_own(t, a, state);
	else
		hook_atom_let_go(t, a, state);
	return done(t, result_of(what, found));
}

static __attribute__((noinline)) uint64_t
note_known(struct hook_thread *t, uint64_t id, enum hook_sync_op op, uint32_t code, uint64_t result)
{
	struct trace_sync_outcome out = {.code = code};

	hook_sync_wrote(t,
			trace_sync_put_outcome(&t->record.sync, op, hook_sync_class(op), id, &out));
	return leave(t, result);
}

/* The same of a load or an exchange that takes nothing. */
static inline uint64_t finish_known(struct hook_thread *t, const struct hook_atom *a,
				    enum hook_sync_op op, uint32_t code, uint64_t result)
{
	if (__builtin_expect(!trace_sync_step_known(&t->record.sync, op, a->id, code), 0))
		return note_known(t, a->id, op, code, result);
	return done(t, result);
}

/* The long way: the thread, with its atom; NULL if nothing is to be recorded. */
static struct hook_thread *enter_long(const volatile void *p, struct hook_atom **a)
{
	struct hook_thread *t;

	if (hook_depth)
		return NULL;
	(void)*(const volatile char *)p;
	t = hook_sync_enter();
	hook_depth = HOOK_CLOSED;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (trace_sync_is_short(&t->record.sync))
		trace_sync_make_room(&t->record.sync);
	*a = hook_atom_of(t, p);
	if (*a)
		return t;
	hook_sync_leave(t);
	return NULL;
}

#define LONG_CHANGE(n, type, name)                                                                 \
	static __attribute__((noinline)) type long_##name##n(volatile type *p, type v)             \
	{                                                                                          \
		struct hook_atom *a;                                                               \
		struct hook_thread *t = enter_long(p, &a);                                         \
		uint64_t state;                                                                    \
		type was;                                                                          \
                                                                                                   \
		if (!t)                                                                            \
			return hook_plain_##name##n(p, v);                                         \
		state = take(t, a);                                                                \
		was = hook_plain_##name##n(p, v);                                                  \
		note_and_give(t, a, WHAT(SYNC_ATOMIC_CHANGE, n, 0), state + WRITE, was,            \
			      (type)HOOK_ATOMIC_AFTER_##name(was, v));                             \
		hook_sync_leave(t);                                                                \
		return was;                                                                        \
	}

#define LONG(n, type)                                                                              \
	static __attribute__((noinline)) type long_load##n(const volatile type *p)                 \
	{                                                                                          \
		struct hook_atom *a;                                                               \
		struct hook_thread *t = enter_long(p, &a);                                         \
		uint64_t state;                                                                    \
		type found;                                                                        \
                                                                                                   \
		if (!t)                                                                            \
			return hook_plain_load##n(p);                                              \
		state = take(t, a);                                                                \
		found = hook_plain_load##n(p);                                                     \
		note_and_give(t, a, WHAT(SYNC_ATOMIC_LOAD, n, 0), state, found, found);            \
		hook_sync_leave(t);                                                                \
		return found;                                                                      \
	}                                                                                          \
	static __attribute__((noinline)) void long_store##n(volatile type *p, type v, int order)   \
	{                                                                                          \
		struct hook_atom *a;                                                               \
		struct hook_thread *t = enter_long(p, &a);                                         \
		uint64_t state;                                                                    \
                                                                                                   \
		if (!t) {                                                                          \
			hook_plain_store##n(p, v, order);                                          \
			return;                                                                    \
		}                                                                                  \
		state = take(t, a);                                                                \
		hook_plain_store##n(p, v, order);                                                  \
		note_and_give(t, a, WHAT(SYNC_ATOMIC_STORE, n, 0), state + WRITE, v, v);           \
		hook_sync_leave(t);                                                                \
	}                                                                                          \
	static __attribute__((noinline)) bool long_swap##n(volatile type *p, type *expected,       \
							   type v)                                 \
	{                                                                                          \
		struct hook_atom *a;                                                               \
		struct hook_thread *t = enter_long(p, &a);                                         \
		uint64_t state;                                                                    \
		bool swapped;                                                                      \
                                                                                                   \
		if (!t)                                                                            \
			return hook_plain_swap##n(p, expected, v);                                 \
		state = take(t, a);                                                                \
		swapped = hook_plain_swap##n(p, expected, v);                                      \
		note_and_give(t, a, WHAT(SYNC_ATOMIC_SWAP, n, swapped),                            \
			      state + (swapped ? WRITE : 0), *expected, swapped ? v : *expected);  \
		hook_sync_leave(t);                                                                \
		return swapped;                                                                    \
	}                                                                                          \
	HOOK_ATOMIC_CHANGES(LONG_CHANGE, n, type)

HOOK_ATOMIC_SIZES(LONG)

/* Of an atom that is not the thread's own. */
#define TAKE_CHANGE(n, type, name)                                                                 \
	static __attribute__((noinline))                                                           \
	type take_##name##n(volatile type *p, type v, struct hook_thread *t, struct hook_atom *a)  \
	{                                                                                          \
		uint64_t state;                                                                    \
		type was;                                                                          \
                                                                                                   \
		if (__builtin_expect(!hook_atom_try(t, a, &state), 0)) {                           \
			hook_depth = 0;                                                            \
			return long_##name##n(p, v);                                               \
		}                                                                                  \
		was = hook_plain_##name##n(p, v);                                                  \
		return (type)finish(t, a, false, WHAT(SYNC_ATOMIC_CHANGE, n, 0), state + WRITE,    \
				    (uint64_t)was,                                                 \
				    (uint64_t)(type)HOOK_ATOMIC_AFTER_##name(was, v));             \
	}

#define RECORD_CHANGE(n, type, name)                                                               \
	TAKE_CHANGE(n, type, name)                                                                 \
	static type record_##name##n(volatile type *p, type v, int order)                          \
	{                                                                                          \
		struct hook_thread *t = hook_self;                                                 \
		struct hook_atom *a = n <= 8 ? enter(t, p) : NULL;                                 \
		uint64_t state;                                                                    \
		type was;                                                                          \
                                                                                                   \
		(void)order;                                                                       \
		if (__builtin_expect(!a, 0))                                                       \
			return long_##name##n(p, v);                                               \
		if (!hook_atom_try_own(t, a))                                                      \
			return take_##name##n(p, v, t, a);                                         \
		state = hook_atom_writes(a);                                                       \
		was = hook_plain_##name##n(p, v);                                                  \
		return (type)finish(t, a, true, WHAT(SYNC_ATOMIC_CHANGE, n, 0), state + WRITE,     \
				    (uint64_t)was,                                                 \
				    (uint64_t)(type)HOOK_ATOMIC_AFTER_##name(was, v));             \
	}

#define RECORD(n, type)                                                                            \
	static __attribute__((noinline)) void take_store##n(                                       \
		volatile type *p, type v, int order, struct hook_thread *t, struct hook_atom *a)   \
	{                                                                                          \
		uint64_t state;                                                                    \
                                                                                                   \
		if (__builtin_expect(!hook_atom_try(t, a, &state), 0)) {                           \
			hook_depth = 0;                                                            \
			long_store##n(p, v, order);                                                \
			return;                                                                    \
		}                                                                                  \
		hook_plain_store##n(p, v, order);                                                  \
		finish(t, a, false, WHAT(SYNC_ATOMIC_STORE, n, 0), state + WRITE, (uint64_t)v,     \
		       (uint64_t)v);                                                               \
	}                                                                                          \
	static type record_load##n(const volatile type *p, int order)                              \
	{                                                                                          \
		struct hook_thread *t = hook_self;                                                 \
		struct hook_atom *a = n <= 8 ? enter(t, p) : NULL;                                 \
		uint64_t state;                                                                    \
		type found;                                                                        \
                                                                                                   \
		(void)order;                                                                       \
		if (__builtin_expect(!a, 0))                                                       \
			return long_load##n(p);                                                    \
		state = hook_atom_state(a);                                                        \
		found = hook_plain_load##n(p);                                                     \
		if (__builtin_expect(is_known(t, a, state, n, found), 1))                          \
			return (type)finish_known(t, a, SYNC_ATOMIC_LOAD, TRACE_SYNC_LOOK_KNOWN,   \
						  (uint64_t)found);                                \
		hook_depth = 0;                                                                    \
		return long_load##n(p);                                                            \
	}                                                                                          \
	static void record_store##n(volatile type *p, type v, int order)                           \
	{                                                                                          \
		struct hook_thread *t = hook_self;                                                 \
		struct hook_atom *a = n <= 8 ? enter(t, p) : NULL;                                 \
		uint64_t state;                                                                    \
                                                                                                   \
		if (__builtin_expect(!a, 0)) {                                                     \
			long_store##n(p, v, order);                                                \
		} else if (!hook_atom_try_own(t, a)) {                                             \
			take_store##n(p, v, order, t, a);                                          \
		} else {                                                                           \
			state = hook_atom_writes(a);                                               \
			hook_plain_store##n(p, v, order);                                          \
			finish(t, a, true, WHAT(SYNC_ATOMIC_STORE, n, 0), state + WRITE,           \
			       (uint64_t)v, (uint64_t)v);                                          \
		}                                                                                  \
	}                                                                                          \
	static bool record_swap##n(volatile type *p, type *expected, type v, int order,            \
				   int failed)                                                     \
	{                                                                                          \
		struct hook_thread *t = hook_self;                                                 \
		struct hook_atom *a = n <= 8 ? enter(t, p) : NULL;                                 \
		uint64_t state;                                                                    \
		type found;                                                                        \
                                                                                                   \
		(void)order;                                                                       \
		(void)failed;                                                                      \
		if (__builtin_expect(!a, 0))                                                       \
			return long_swap##n(p, expected, v);                                       \
		state = hook_atom_state(a);                                                        \
		found = hook_plain_load##n(p);                                                     \
		if (found != *expected && is_known(t, a, state, n, found)) {                       \
			*expected = found;                                                         \
			return finish_known(t, a, SYNC_ATOMIC_SWAP, TRACE_SYNC_SWAP_KNOWN, 0);     \
		}                                                                                  \
		if (__builtin_expect(!hook_atom_try(t, a, &state), 0)) {                           \
			hook_depth = 0;                                                            \
			return long_swap##n(p, expected, v);                                       \
		}                                                                                  \
		if (hook_plain_swap##n(p, expected, v))                                            \
			return finish(t, a, false, WHAT(SYNC_ATOMIC_SWAP, n, 1), state + WRITE,    \
				      (uint64_t)*expected, (uint64_t)v);                           \
		return finish(t, a, false, WHAT(SYNC_ATOMIC_SWAP, n, 0), state,                    \
			      (uint64_t)*expected, (uint64_t)*expected);                           \
	}                                                                                          \
	HOOK_ATOMIC_CHANGES(RECORD_CHANGE, n, type)

HOOK_ATOMIC_SIZES(RECORD)

#define HOOK_ATOMIC_OURS(name) record_##name
const struct hook_atomic_table hook_atomic_record = HOOK_ATOMIC_TABLE;
