/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers. Their only outcome is which thread of a round is the serial one. The standard leaves
 * that open, so while recording we choose: as long as the same threads meet, as many as the barrier
 * counts, it is always the one that came first of all, and costs nothing to write down. When
 * another thread comes, rounds from then on have libc's choice. Invariant: all threads of a round
 * agree whose choice counts: a newcomer waits until the rounds that do without it are over.
 */
#include <sched.h>

#include "hook/kit/lock.h"
#include "hook/kit/pages.h"
#include "hook/thread/call/real.h"
#include "hook/thread/evaluate/origin.h"
#include "hook/thread/sync/objects.h"
#include "hook/thread/sync/replay.h"

#define MOST_MEMBERS 120

struct meeting {
	struct hook_lock locked;
	uint32_t count;
	uint32_t members;
	uint64_t arrived, returned; /* of members */
	uint64_t ours;              /* how many rounds have our choice */
	const struct hook_thread *member[MOST_MEMBERS];
};

static bool is_member(struct meeting *m, const struct hook_thread *t)
{
	for (uint32_t i = 0; i < m->members; i++) {
		if (m->member[i] == t)
			return true;
	}
	if (m->members == m->count)
		return false;
	m->member[m->members++] = t;
	return true;
}

/* The round the thread takes part in; UINT64_MAX if it has libc's choice. */
static uint64_t arrive(struct meeting *m, const struct hook_thread *t)
{
	uint64_t round = UINT64_MAX, over = 0;

	hook_lock_take(&m->locked);
	if (m->ours == UINT64_MAX && is_member(m, t)) {
		round = m->arrived++ / m->count;
	} else if (m->ours == UINT64_MAX) {
		m->ours = m->arrived / m->count;
		over = m->ours * m->count;
	}
	hook_lock_give(&m->locked);
	while (__atomic_load_n(&m->returned, __ATOMIC_ACQUIRE) < over)
		sched_yield();
	return round;
}

static bool is_serial(struct meeting *m, const struct hook_thread *t, uint64_t round, bool chosen)
{
	bool ours;

	if (round == UINT64_MAX)
		return chosen;
	hook_lock_take(&m->locked);
	m->returned++;
	ours = round < m->ours;
	hook_lock_give(&m->locked);
	return ours ? m->member[0] == t : chosen;
}

static int act(struct hook_thread *t, const struct hook_sync_call *c, int code)
{
	struct meeting *m = c->cond;
	uint64_t round = code < 0 && m ? arrive(m, t) : UINT64_MAX;
	int rc;

	t->wait.state = HOOK_THREAD_BLOCKED;
	rc = hook_sync_real.pthread_barrier_wait(c->object);
	t->wait.state = HOOK_THREAD_RUNS;
	if (code >= 0)
		return code;
	if (rc != 0 && rc != PTHREAD_BARRIER_SERIAL_THREAD)
		return rc;
	return m ? is_serial(m, t, round, rc != 0) : rc != 0;
}

static void *meet(void *barrier)
{
	hook_sync_real.pthread_barrier_wait(barrier);
	return NULL;
}

/* The thread has other things to do than to wait there: one of ours stands in for it. */
void hook_barrier_at_end(const struct hook_sync_call *c)
{
	pthread_t standing_in;

	if (hook_sync_real.pthread_create(&standing_in, NULL, meet, c->object) == 0)
		pthread_detach(standing_in);
}

HOOK_EXPORT int pthread_barrier_wait(pthread_barrier_t *b)
{
	struct hook_sync_call c = {
		.op = SYNC_BARRIER_WAIT, .object = b, .site = __builtin_return_address(0)};
	struct hook_sync_entry *e;
	struct hook_thread *t;
	int code;

	if (!hook_sync_is_on(c.site))
		return SYNC_REAL(pthread_barrier_wait)(b);
	t = hook_sync_enter();
	e = hook_sync_entry(b);
	c.cond = e->more;
	code = hook_sync_mode->value(t, &c, e->id ? e->id : trace_sync_op_id(c.op), act);
	hook_sync_leave(t);
	return code == 1 ? PTHREAD_BARRIER_SERIAL_THREAD : code;
}

static struct meeting *meeting_new(unsigned int count)
{
	struct meeting *m;

	if (count > MOST_MEMBERS)
		return NULL;
	m = hook_pages(sizeof(*m));
	if (!m)
		return NULL;
	m->count = count;
	m->ours = UINT64_MAX;
	return m;
}

static void forget(pthread_barrier_t *b)
{
	struct hook_sync_entry *e = hook_sync_entry(b);

	hook_pages_free(e->more, sizeof(struct meeting));
	e->more = NULL;
	hook_sync_forget(b);
}

/* It has its id from the thread that makes it. */
HOOK_EXPORT int pthread_barrier_init(pthread_barrier_t *b, const pthread_barrierattr_t *attr,
				     unsigned int count)
{
	int rc = SYNC_REAL(pthread_barrier_init)(b, attr, count);
	int shared = PTHREAD_PROCESS_PRIVATE;
	struct hook_sync_entry *e;

	if (rc || hook_depth)
		return rc;
	forget(b);
	if (attr)
		pthread_barrierattr_getpshared(attr, &shared);
	hook_origin(b, __builtin_return_address(0));
	e = hook_sync_entry(b);
	e->id = hook_sync_new_id(hook_thread_self());
	if (hook_process.mode == HOOK_RECORD && shared == PTHREAD_PROCESS_PRIVATE)
		e->more = meeting_new(count);
	return 0;
}

HOOK_EXPORT int pthread_barrier_destroy(pthread_barrier_t *b)
{
	int rc = SYNC_REAL(pthread_barrier_destroy)(b);

	if (!rc && !hook_depth) {
		forget(b);
		hook_origin(b, NULL);
	}
	return rc;
}
