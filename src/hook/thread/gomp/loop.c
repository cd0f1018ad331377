/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops whose iterations are handed out while they run, and sections. The part that a thread gets
 * shows its place in the order of all parts, so the order of calls need not be recorded. For each
 * part, the recording has how many parts the thread did not get since its last one, and 0 for the
 * end. In replay libgomp is told of the loop, but not asked; every thread takes its parts without
 * waiting for others. Ordered iterations wait for their turn, which is their position.
 */
#include <stdlib.h>

#include "hook/kit/lock.h"
#include "hook/thread/gomp/gomp.h"
#include "hook/thread/race/race.h"
#include "hook/thread/serial/baton.h"
#include "hook/thread/sync/wait.h"

#define SITE __builtin_return_address(0)
#define MONOTONIC 0x80000000u

/* Schedules as libgomp numbers them. */
enum { KIND_RUNTIME, KIND_STATIC, KIND_DYNAMIC, KIND_GUIDED };

typedef unsigned long long ull;

void omp_get_schedule(unsigned int *kind, int *chunk);

static enum hook_gomp_schedule schedule_of(unsigned int kind, uint64_t *chunk)
{
	int size = 1;

	kind &= ~MONOTONIC;
	if (kind == KIND_RUNTIME) {
		GOMP_REAL(omp_get_schedule)(&kind, &size);
		kind &= ~MONOTONIC;
		*chunk = size > 0 ? (uint64_t)size : 1;
	}
	return kind == KIND_DYNAMIC ? GOMP_DYNAMIC : kind == KIND_GUIDED ? GOMP_GUIDED : GOMP_FIXED;
}

/* `some`: it has iterations at all. */
static struct hook_gomp_loop loop_of(unsigned int kind, bool ordered, bool up, bool some,
				     uint64_t start, uint64_t end, uint64_t step, uint64_t chunk)
{
	struct hook_gomp_loop l = {.up = up,
				   .ordered = ordered,
				   .start = start,
				   .end = end,
				   .step = step,
				   .chunk = chunk ? chunk : 1};

	l.schedule = schedule_of(kind, &l.chunk);
	if (some && step)
		l.count = up ? (end - start - 1) / step + 1 : (start - end - 1) / -step + 1;
	return l;
}

static struct hook_gomp_loop across_of(unsigned int kind, uint32_t depth, uint64_t count,
				       uint64_t chunk)
{
	struct hook_gomp_loop l = loop_of(kind, false, true, count != 0, 0, count, 1, chunk);

	l.depth = depth;
	return l;
}

static struct hook_gomp_loop sections_of(unsigned int count)
{
	return loop_of(KIND_DYNAMIC, false, true, count, 1, (uint64_t)count + 1, 1, 1);
}

/* Mostly by 1: a division is a third of what a part costs. */
static uint64_t quotient(uint64_t n, uint64_t by)
{
	return by == 1 ? n : n / by;
}

static uint64_t position(const struct hook_gomp_loop *l, uint64_t i)
{
	if (i == l->end)
		return l->count;
	return l->up ? quotient(i - l->start, l->step) : quotient(l->start - i, -l->step);
}

static uint64_t iteration(const struct hook_gomp_loop *l, uint64_t at)
{
	return at == l->count ? l->end : l->start + at * l->step;
}

static struct hook_gomp_ordered **find(struct hook_gomp_team *team, uint32_t number)
{
	struct hook_gomp_ordered **p = &team->ordered;

	while (*p && (*p)->number != number)
		p = &(*p)->next;
	return p;
}

/* Replay: waits for the turn of the part in work. */
static void await_part(struct hook_thread *t, struct hook_gomp_loop *l)
{
	struct hook_gomp_team *team = hook_gomp_here()->team;
	struct hook_gomp_ordered **p;

	if (!l->turn) {
		hook_lock_take(&team->ordered_lock);
		p = find(team, l->number);
		if (!*p)
			*p = calloc(1, sizeof(**p));
		if (!*p)
			hook_failed(t, "there is no memory for an ordered loop");
		(*p)->number = l->number;
		l->turn = &(*p)->turn;
		hook_lock_give(&team->ordered_lock);
	}
	t->wait.in = "ordered (OpenMP)";
	hook_sync_await(t, l->turn, (uint32_t)l->at);
}

/* Replay: the ordered iterations of the part in work are done; nobody asks after the last. */
static void leave_part(struct hook_thread *t, struct hook_gomp_loop *l)
{
	struct hook_gomp_team *team = hook_gomp_here()->team;
	struct hook_gomp_ordered **p, *over;

	await_part(t, l);
	if (l->at + l->length < l->count) {
		hook_sync_pass(l->turn, (uint32_t)(l->at + l->length));
		return;
	}
	hook_lock_take(&team->ordered_lock);
	p = find(team, l->number);
	over = *p;
	*p = over->next;
	hook_lock_give(&team->ordered_lock);
	free(over);
}

static void enter_part(struct hook_thread *t, struct hook_gomp_loop *l, uint64_t advance,
		       uint64_t length, const void *site)
{
	uint64_t number = l->next + advance - 1;

	if (l->schedule == GOMP_GUIDED) {
		l->at = number;
		l->length = hook_gomp_number(t, SYNC_GOMP_LENGTH, length, site);
		l->next = l->at + l->length;
		return;
	}
	l->at = number * l->chunk;
	l->length = l->count - l->at < l->chunk ? l->count - l->at : l->chunk;
	l->next = number + 1;
}

/* Recording: `got` tells whether [*from, *to) came from libgomp. Replay sets them. */
static bool part(struct hook_thread *t, struct hook_gomp_loop *l, bool got, uint64_t *from,
		 uint64_t *to, const void *site)
{
	bool replay = hook_sync_replays;
	uint64_t at = got && !replay ? position(l, *from) : 0, advance = 0;

	if (got && !replay)
		advance = (l->schedule == GOMP_GUIDED ? at : quotient(at, l->chunk)) - l->next + 1;
	if (replay && l->ordered && l->length && hook_gomp_here()->team)
		leave_part(t, l);
	l->length = 0;
	advance = hook_gomp_number(t, SYNC_GOMP_CHUNK, advance, site);
	if (!advance)
		return false;
	enter_part(t, l, advance, got && !replay ? position(l, *to) - at : 0, site);
	if (replay) {
		*from = iteration(l, l->at);
		*to = iteration(l, l->at + l->length);
	}
	return true;
}

static bool begin(const struct hook_gomp_loop *l, bool got, uint64_t *from, uint64_t *to,
		  const void *site)
{
	struct hook_gomp_frame *f = hook_gomp_here();

	f->loop = *l;
	if (!hook_sync_is_on(site) || l->schedule == GOMP_FIXED)
		return got;
	HOOK_SYNC_ENTER(t);
	if (l->ordered)
		f->loop.number = ++f->ordered;
	got = part(t, &f->loop, got, from, to, site);
	hook_baton_point(t);
	return got;
}

static bool is_ours(const void *site)
{
	return hook_sync_is_on(site) && hook_gomp_here()->loop.schedule != GOMP_FIXED;
}

static bool is_replayed(const struct hook_gomp_loop *l, const void *site)
{
	return hook_sync_replays && hook_sync_is_on(site) && l->schedule != GOMP_FIXED;
}

/* What libgomp allocates for it is not the program's. */
#define INSIDE(call)                                                                               \
	({                                                                                         \
		int inside_depth = hook_depth;                                                     \
		__typeof__(call) inside_result;                                                    \
                                                                                                   \
		hook_depth = 1;                                                                    \
		inside_result = call;                                                              \
		hook_depth = inside_depth;                                                         \
		inside_result;                                                                     \
	})

#define NEXT(name, type)                                                                           \
	HOOK_EXPORT bool name(type *from, type *to);                                               \
	bool name(type *from, type *to)                                                            \
	{                                                                                          \
		bool got;                                                                          \
                                                                                                   \
		if (!is_ours(SITE))                                                                \
			return GOMP_REAL(name)(from, to);                                          \
		HOOK_SYNC_ENTER(t);                                                                \
		if (hook_gomp_here()->loop.ordered)                                                \
			hook_baton_leave(t);                                                       \
		got = GOMP_ASK(GOMP_REAL(name)(from, to));                                         \
		got = part(t, &hook_gomp_here()->loop, got, (uint64_t *)from, (uint64_t *)to,      \
			   SITE);                                                                  \
		hook_baton_point(t);                                                               \
		return got;                                                                        \
	}

/*
 * `plain` is told of the loop in replay: the ordered kind of libgomp would wait for turns.
 * `parameters` and `arguments` are those of the function but for the last two.
 */
#define START(name, plain, type, loop, parameters, arguments)                                      \
	HOOK_EXPORT bool name(UNPACK parameters, type *from, type *to);                            \
	bool name(UNPACK parameters, type *from, type *to)                                         \
	{                                                                                          \
		struct hook_gomp_loop l = loop;                                                    \
		bool got;                                                                          \
                                                                                                   \
		if (is_replayed(&l, SITE))                                                         \
			got = INSIDE(GOMP_REAL(plain)(UNPACK arguments, from, to));                \
		else                                                                               \
			got = INSIDE(GOMP_REAL(name)(UNPACK arguments, from, to));                 \
		return begin(&l, got, (uint64_t *)from, (uint64_t *)to, SITE);                     \
	}
#define UNPACK(...) __VA_ARGS__

#define LOOP(kind, ordered, chunk)                                                                 \
	loop_of(kind, ordered, step > 0, step > 0 ? start < end : start > end, (uint64_t)start,    \
		(uint64_t)end, (uint64_t)step, (uint64_t)(chunk))
#define LOOP_ULL(kind, ordered, chunk)                                                             \
	loop_of(kind, ordered, up, up ? start < end : start > end, start, end, step, chunk)
#define LOOP_ACROSS(kind, chunk) across_of(kind, depth, (uint64_t)counts[0], (uint64_t)(chunk))

/* A schedule that has a chunk size. */
#define SIZED(name, plain, kind, ordered)                                                          \
	START(GOMP_loop_##name##_start, GOMP_loop_##plain##_start, long,                           \
	      LOOP(kind, ordered, chunk), (long start, long end, long step, long chunk),           \
	      (start, end, step, chunk))                                                           \
	NEXT(GOMP_loop_##name##_next, long)                                                        \
	START(GOMP_loop_ull_##name##_start, GOMP_loop_ull_##plain##_start, ull,                    \
	      LOOP_ULL(kind, ordered, chunk), (bool up, ull start, ull end, ull step, ull chunk),  \
	      (up, start, end, step, chunk))                                                       \
	NEXT(GOMP_loop_ull_##name##_next, ull)

/* The schedule set for the whole program. */
#define UNSIZED(name, plain, ordered)                                                              \
	START(GOMP_loop_##name##_start, GOMP_loop_##plain##_start, long,                           \
	      LOOP(KIND_RUNTIME, ordered, 1), (long start, long end, long step),                   \
	      (start, end, step))                                                                  \
	NEXT(GOMP_loop_##name##_next, long)                                                        \
	START(GOMP_loop_ull_##name##_start, GOMP_loop_ull_##plain##_start, ull,                    \
	      LOOP_ULL(KIND_RUNTIME, ordered, 1), (bool up, ull start, ull end, ull step),         \
	      (up, start, end, step))                                                              \
	NEXT(GOMP_loop_ull_##name##_next, ull)

SIZED(dynamic, dynamic, KIND_DYNAMIC, false)
SIZED(guided, guided, KIND_GUIDED, false)
SIZED(nonmonotonic_dynamic, nonmonotonic_dynamic, KIND_DYNAMIC, false)
SIZED(nonmonotonic_guided, nonmonotonic_guided, KIND_GUIDED, false)
SIZED(ordered_dynamic, dynamic, KIND_DYNAMIC, true)
SIZED(ordered_guided, guided, KIND_GUIDED, true)
UNSIZED(runtime, runtime, false)
UNSIZED(nonmonotonic_runtime, nonmonotonic_runtime, false)
UNSIZED(maybe_nonmonotonic_runtime, maybe_nonmonotonic_runtime, false)
UNSIZED(ordered_runtime, runtime, true)

/*
 * Any schedule, for reductions over tasks and conditional lastprivate. `from` can be NULL: then it
 * is not asked for a part.
 */
#define ANY(name, plain, type, loop, parameters, arguments)                                        \
	HOOK_EXPORT bool name(UNPACK parameters, long kind, type chunk, type *from, type *to,      \
			      void *reductions, void **memory);                                    \
	bool name(UNPACK parameters, long kind, type chunk, type *from, type *to,                  \
		  void *reductions, void **memory)                                                 \
	{                                                                                          \
		struct hook_gomp_loop l = loop;                                                    \
		__typeof__(name) *real = GOMP_REAL(name);                                          \
		bool got;                                                                          \
                                                                                                   \
		if (!from)                                                                         \
			l.schedule = GOMP_FIXED;                                                   \
		if (reductions)                                                                    \
			hook_gomp_not_kept(GOMP_REST_REDUCTION);                                   \
		if (is_replayed(&l, SITE))                                                         \
			real = GOMP_REAL(plain);                                                   \
		got = INSIDE(real(UNPACK arguments, kind, chunk, from, to, reductions, memory));   \
		return begin(&l, got, (uint64_t *)from, (uint64_t *)to, SITE);                     \
	}
#define ANY_SIGNED(name, plain, ordered)                                                           \
	ANY(name, plain, long, LOOP((unsigned int)kind, ordered, chunk),                           \
	    (long start, long end, long step), (start, end, step))
#define ANY_ULL(name, plain, ordered)                                                              \
	ANY(name, plain, ull, LOOP_ULL((unsigned int)kind, ordered, chunk),                        \
	    (bool up, ull start, ull end, ull step), (up, start, end, step))
#define ANY_ACROSS(name, type)                                                                     \
	ANY(name, name, type, LOOP_ACROSS((unsigned int)kind, chunk),                              \
	    (unsigned int depth, type *counts), (depth, counts))

/* Loops whose iterations wait for certain others: they go on with the plain functions. */
#define ACROSS(name, type, kind)                                                                   \
	START(name, name, type, LOOP_ACROSS(kind, chunk),                                          \
	      (unsigned int depth, type *counts, type chunk), (depth, counts, chunk))
#define ACROSS_UNSIZED(name, type)                                                                 \
	START(name, name, type, LOOP_ACROSS(KIND_RUNTIME, 1), (unsigned int depth, type *counts),  \
	      (depth, counts))

ACROSS(GOMP_loop_doacross_static_start, long, KIND_STATIC)
ACROSS(GOMP_loop_doacross_dynamic_start, long, KIND_DYNAMIC)
ACROSS(GOMP_loop_doacross_guided_start, long, KIND_GUIDED)
ACROSS_UNSIZED(GOMP_loop_doacross_runtime_start, long)
ACROSS(GOMP_loop_ull_doacross_static_start, ull, KIND_STATIC)
ACROSS(GOMP_loop_ull_doacross_dynamic_start, ull, KIND_DYNAMIC)
ACROSS(GOMP_loop_ull_doacross_guided_start, ull, KIND_GUIDED)
ACROSS_UNSIZED(GOMP_loop_ull_doacross_runtime_start, ull)

ANY_SIGNED(GOMP_loop_start, GOMP_loop_start, false)
ANY_SIGNED(GOMP_loop_ordered_start, GOMP_loop_start, true)
ANY_ULL(GOMP_loop_ull_start, GOMP_loop_ull_start, false)
ANY_ULL(GOMP_loop_ull_ordered_start, GOMP_loop_ull_start, true)
ANY_ACROSS(GOMP_loop_doacross_start, long)
ANY_ACROSS(GOMP_loop_ull_doacross_start, ull)

HOOK_EXPORT unsigned int GOMP_sections_start(unsigned int count);
HOOK_EXPORT unsigned int GOMP_sections2_start(unsigned int count, void *reductions, void **memory);
HOOK_EXPORT unsigned int GOMP_sections_next(void);

unsigned int GOMP_sections_start(unsigned int count)
{
	struct hook_gomp_loop l = sections_of(count);
	uint64_t from = INSIDE(GOMP_REAL(GOMP_sections_start)(count)), to = from + 1;

	return begin(&l, from, &from, &to, SITE) ? (unsigned int)from : 0;
}

unsigned int GOMP_sections2_start(unsigned int count, void *reductions, void **memory)
{
	struct hook_gomp_loop l = sections_of(count);
	uint64_t from, to;

	if (reductions)
		hook_gomp_not_kept(GOMP_REST_REDUCTION);
	from = INSIDE(GOMP_REAL(GOMP_sections2_start)(count, reductions, memory));
	to = from + 1;
	return begin(&l, from, &from, &to, SITE) ? (unsigned int)from : 0;
}

unsigned int GOMP_sections_next(void)
{
	uint64_t from, to;
	bool got;

	if (!is_ours(SITE))
		return GOMP_REAL(GOMP_sections_next)();
	HOOK_SYNC_ENTER(t);
	from = GOMP_ASK(GOMP_REAL(GOMP_sections_next)());
	to = from + 1;
	got = part(t, &hook_gomp_here()->loop, from, &from, &to, SITE);
	hook_baton_point(t);
	return got ? (unsigned int)from : 0;
}

/* Regions that are a loop or sections: their threads begin with the next function. */
#define PARALLEL(name, what, parameters, arguments)                                                \
	HOOK_EXPORT void name(hook_gomp_body *body, void *data, unsigned int threads,              \
			      UNPACK parameters, unsigned int flags);                              \
	void name(hook_gomp_body *body, void *data, unsigned int threads, UNPACK parameters,       \
		  unsigned int flags)                                                              \
	{                                                                                          \
		struct hook_gomp_team team = {.body = body, .data = data};                         \
                                                                                                   \
		if (hook_depth) {                                                                  \
			GOMP_REAL(name)(body, data, threads, UNPACK arguments, flags);             \
			return;                                                                    \
		}                                                                                  \
		team.loop = what;                                                                  \
		hook_gomp_region_begins(&team);                                                    \
		GOMP_REAL(name)(hook_gomp_region, &team, threads, UNPACK arguments, flags);        \
		hook_gomp_region_over(&team);                                                      \
	}
#define PARALLEL_SIZED(name, kind)                                                                 \
	PARALLEL(GOMP_parallel_loop_##name, LOOP(kind, false, chunk),                              \
		 (long start, long end, long step, long chunk), (start, end, step, chunk))
#define PARALLEL_UNSIZED(name)                                                                     \
	PARALLEL(GOMP_parallel_loop_##name, LOOP(KIND_RUNTIME, false, 1),                          \
		 (long start, long end, long step), (start, end, step))

PARALLEL_SIZED(dynamic, KIND_DYNAMIC)
PARALLEL_SIZED(guided, KIND_GUIDED)
PARALLEL_SIZED(nonmonotonic_dynamic, KIND_DYNAMIC)
PARALLEL_SIZED(nonmonotonic_guided, KIND_GUIDED)
PARALLEL_SIZED(static, KIND_STATIC)
PARALLEL_UNSIZED(runtime)
PARALLEL_UNSIZED(nonmonotonic_runtime)
PARALLEL_UNSIZED(maybe_nonmonotonic_runtime)
PARALLEL(GOMP_parallel_sections, sections_of(count), (unsigned int count), (count))

HOOK_EXPORT void GOMP_loop_end_nowait(void);
HOOK_EXPORT void GOMP_sections_end_nowait(void);

void GOMP_loop_end_nowait(void)
{
	hook_gomp_here()->loop.schedule = GOMP_FIXED;
	GOMP_REAL(GOMP_loop_end_nowait)();
}

void GOMP_sections_end_nowait(void)
{
	hook_gomp_here()->loop.schedule = GOMP_FIXED;
	GOMP_REAL(GOMP_sections_end_nowait)();
}

HOOK_EXPORT void GOMP_ordered_start(void);

void GOMP_ordered_start(void)
{
	struct hook_gomp_loop *l = &hook_gomp_here()->loop;
	bool real = !hook_sync_replays || l->schedule == GOMP_FIXED || !l->ordered;

	if (!hook_sync_is_on(SITE)) {
		GOMP_REAL(GOMP_ordered_start)();
		return;
	}
	HOOK_SYNC_ENTER(t);
	hook_baton_leave(t);
	if (real)
		GOMP_REAL(GOMP_ordered_start)();
	else if (hook_gomp_here()->team)
		await_part(t, l);
	hook_baton_enter(t);
	hook_race_acquire(HOOK_RACE_ORDERED(hook_gomp_here()->team));
}
