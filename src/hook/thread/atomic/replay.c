/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay of atomic operations. One that took its atom waits for its turn, is done, and passes the
 * turn on. A load of what the thread knew gives what the thread knows, whatever is there by now:
 * others may be further than they were. So does a load in its turn, unless code that is not
 * recorded had changed the variable. Then it waits until that is there. Who looks for races is told
 * in turn, too.
 */
#include "hook/thread/atomic/atom.h"

#include "hook/thread/life/stuck.h"
#include "hook/thread/race/race.h"
#include "hook/thread/sync/quick.h"
#include "hook/thread/sync/streams.h"
#include "hook/thread/sync/wait.h"
#include "race/race.h"

/* An operation at work. */
struct replay {
	struct hook_thread *t;
	struct hook_atom *a;
	struct hook_sync_call c;
	struct trace_sync_outcome out;
	unsigned int n;
};

static hook_uint128 load(const volatile void *p, unsigned int n)
{
	switch (n) {
	case 1:
		return hook_plain_load1(p);
	case 2:
		return hook_plain_load2(p);
	case 4:
		return hook_plain_load4(p);
	case 8:
		return hook_plain_load8(p);
	default:
		return hook_plain_load16(p);
	}
}

static void await_value(const struct replay *r)
{
	while (hook_atom_code(load(r->c.object, r->n)) != r->out.code) {
		r->t->wait.state = HOOK_THREAD_WAITS;
		hook_sync_nap(r->t);
	}
	r->t->wait.state = HOOK_THREAD_RUNS;
}

static bool acquires(int order)
{
	return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE;
}

/* True if it takes its atom, and then it is its turn. */
static bool begin(struct replay *r, struct hook_thread *t, const volatile void *p, unsigned int n,
		  enum hook_sync_op op, const void *site)
{
	struct hook_atom *a = hook_atom_of(t, p);
	uint64_t id = __atomic_load_n(&a->id, __ATOMIC_ACQUIRE);

	r->t = t;
	r->a = a;
	r->n = n;
	r->c = (struct hook_sync_call){.op = op, .object = (void *)(uintptr_t)p, .site = site};
	hook_sync_expect(t, &r->c, id, &r->out);
	if (!r->out.takes) {
		if (!trace_sync_has(t->replay.sync_reader.slot, id))
			hook_failed(t, "the recorded synchronisation makes no sense");
		hook_sync_done(t, &r->c, id, &r->out);
		return false;
	}
	hook_sync_await(t, a->version, r->out.version - 1);
	if (r->out.code)
		await_value(r);
	return true;
}

/* What an operation finds. */
static hook_uint128 found(const struct replay *r)
{
	return r->a->id && !r->out.code && r->a->size == r->n ? r->a->value.whole
							      : load(r->c.object, r->n);
}

static void learn(struct hook_thread *t, struct hook_atom *a, unsigned int n, hook_uint128 value)
{
	a->size = n;
	a->value.whole = value;
	hook_atom_known(t, a->id)->value = value;
}

/* It was done, and has left this. */
static void finish(const struct replay *r, hook_uint128 value, enum race_atomic what, int order)
{
	struct hook_atom *a = r->a;

	hook_race_atomic(r->c.object, what, order);
	if (!a->id)
		__atomic_store_n(&a->id, hook_sync_new_id(r->t), __ATOMIC_RELEASE);
	learn(r->t, a, r->n, value);
	hook_atom_known(r->t, a->id)->stamp = acquires(order);
	hook_sync_done(r->t, &r->c, a->id, &r->out);
	hook_sync_pass(a->version, r->out.version);
}

/*
 * Who took it without an order, and now asks for one: others may have written meanwhile, and what
 * was read then is what a fence would order. That may be too much of it.
 */
static hook_uint128 known(const struct replay *r, int order)
{
	struct hook_atom_known *k = hook_atom_known(r->t, r->a->id);

	if (acquires(order) && !k->stamp) {
		hook_race_fence(__ATOMIC_ACQUIRE);
		k->stamp = true;
	}
	return k->value;
}

/*
 * The short way of what is predicted, as in sync/follow.c: NULL where it is closed, as to who looks
 * for races.
 */
static inline struct hook_atom *may_follow(struct hook_thread *t, const volatile void *p)
{
	struct hook_atom *a;

	if (hook_sync_quick != HOOK_QUICK_FOLLOW || hook_race || t->replay.holds ||
	    t->replay.sync_reader.ops >= t->replay.quick_until)
		return NULL;
	a = hook_atom_of(t, p);
	return a->id ? a : NULL;
}

static inline void follow(struct hook_thread *t, uint64_t id, uint32_t version,
			  enum hook_sync_op op)
{
	t->sync.digest = trace_sync_digest(t->sync.digest, op, id);
	trace_sync_follow(&t->replay.sync_reader, id, version);
}

/* A load of what the thread knows. */
static inline bool follow_known(struct hook_thread *t, const volatile void *p, hook_uint128 *value)
{
	struct hook_atom *a = may_follow(t, p);

	if (!a || !trace_sync_foresee_known(&t->replay.sync_reader, a->id))
		return false;
	*value = hook_atom_known(t, a->id)->value;
	follow(t, a->id, trace_sync_slot(t->replay.sync_reader.slot, a->id)->seen,
	       SYNC_ATOMIC_LOAD);
	return true;
}

/* One that changes the variable, and whose turn has come: its version, or 0. */
static inline uint32_t follow_turn(struct hook_thread *t, const volatile void *p, unsigned int n,
				   struct hook_atom **a)
{
	uint32_t turn;

	*a = may_follow(t, p);
	turn = *a ? trace_sync_foresee(&t->replay.sync_reader, (*a)->id) : 0;
	return turn && __atomic_load_n((*a)->version, __ATOMIC_ACQUIRE) == turn - 1 &&
			       (*a)->size == n
		       ? turn
		       : 0;
}

#define SITE __builtin_return_address(0)

#define REPLAY_CHANGE(n, type, name)                                                               \
	static type replay_##name##n(volatile type *p, type v, int order)                          \
	{                                                                                          \
		struct hook_thread *t = hook_self;                                                 \
		struct hook_atom *a;                                                               \
		struct replay r;                                                                   \
		uint32_t turn;                                                                     \
		type was;                                                                          \
                                                                                                   \
		if (hook_depth)                                                                    \
			return hook_plain_##name##n(p, v);                                         \
		turn = follow_turn(t, p, n, &a);                                                   \
		if (turn) {                                                                        \
			was = hook_plain_##name##n(p, v);                                          \
			learn(t, a, n, (type)HOOK_ATOMIC_AFTER_##name(was, v));                    \
			follow(t, a->id, turn, SYNC_ATOMIC_CHANGE);                                \
			hook_sync_pass(a->version, turn);                                          \
			return was;                                                                \
		}                                                                                  \
		t = hook_sync_enter();                                                             \
		if (!begin(&r, t, p, n, SYNC_ATOMIC_CHANGE, SITE))                                 \
			hook_failed(t, "the recorded synchronisation makes no sense");             \
		was = hook_plain_##name##n(p, v);                                                  \
		finish(&r, (type)HOOK_ATOMIC_AFTER_##name(was, v), RACE_CHANGE, order);            \
		hook_sync_leave(t);                                                                \
		return was;                                                                        \
	}

#define REPLAY(n, type)                                                                            \
	static type replay_load##n(const volatile type *p, int order)                              \
	{                                                                                          \
		struct hook_thread *t = hook_self;                                                 \
		hook_uint128 value;                                                                \
		struct replay r;                                                                   \
                                                                                                   \
		if (hook_depth)                                                                    \
			return hook_plain_load##n(p);                                              \
		if (follow_known(t, p, &value))                                                    \
			return (type)value;                                                        \
		t = hook_sync_enter();                                                             \
		if (begin(&r, t, p, n, SYNC_ATOMIC_LOAD, SITE)) {                                  \
			value = found(&r);                                                         \
			finish(&r, value, RACE_LOAD, order);                                       \
		} else {                                                                           \
			value = known(&r, order);                                                  \
		}                                                                                  \
		hook_sync_leave(t);                                                                \
		return (type)value;                                                                \
	}                                                                                          \
	static void replay_store##n(volatile type *p, type v, int order)                           \
	{                                                                                          \
		struct hook_thread *t;                                                             \
		struct replay r;                                                                   \
                                                                                                   \
		if (hook_depth) {                                                                  \
			hook_plain_store##n(p, v, order);                                          \
			return;                                                                    \
		}                                                                                  \
		t = hook_sync_enter();                                                             \
		if (!begin(&r, t, p, n, SYNC_ATOMIC_STORE, SITE))                                  \
			hook_failed(t, "the recorded synchronisation makes no sense");             \
		hook_plain_store##n(p, v, order);                                                  \
		finish(&r, v, RACE_STORE, order);                                                  \
		hook_sync_leave(t);                                                                \
	}                                                                                          \
	static bool replay_swap##n(volatile type *p, type *expected, type v, int order,            \
				   int failed)                                                     \
	{                                                                                          \
		struct hook_thread *t;                                                             \
		bool done = false;                                                                 \
		struct replay r;                                                                   \
                                                                                                   \
		if (hook_depth)                                                                    \
			return hook_plain_swap##n(p, expected, v);                                 \
		t = hook_sync_enter();                                                             \
		if (begin(&r, t, p, n, SYNC_ATOMIC_SWAP, SITE)) {                                  \
			done = hook_plain_swap##n(p, expected, v);                                 \
			finish(&r, done ? v : *expected, done ? RACE_CHANGE : RACE_LOAD,           \
			       done ? order : failed);                                             \
		} else {                                                                           \
			*expected = (type)known(&r, failed);                                       \
		}                                                                                  \
		hook_sync_leave(t);                                                                \
		return done;                                                                       \
	}                                                                                          \
	HOOK_ATOMIC_CHANGES(REPLAY_CHANGE, n, type)

HOOK_ATOMIC_SIZES(REPLAY)

#define HOOK_ATOMIC_OURS(name) replay_##name
const struct hook_atomic_table hook_atomic_replay = HOOK_ATOMIC_TABLE;
