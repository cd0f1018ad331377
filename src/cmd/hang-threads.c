/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of one process that wait for each other. A mutex knows who holds it, and a join whom it
 * waits for; who follows that and comes back to himself is in a cycle. Of a condition nobody knows
 * who was to signal it: but if all threads of the process wait, nobody is left to.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/hang.h"

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool is_wait_for_condition(const char *call)
{
	return strstr(call, "cond_") || begins(call, "cnd_");
}

/* Calls in which a thread waits for other threads of the process, for as long as it takes. */
static bool waits_for_threads(const struct replay_seen *s)
{
	static const char *const calls[] = {
		"pthread_mutex_lock",    "mtx_lock",          "pthread_rwlock_rdlock",
		"pthread_rwlock_wrlock", "pthread_spin_lock", "sem_wait",
		"pthread_barrier_wait",  "pthread_cond_wait", "cnd_wait",
		"pthread_join",          "thrd_join",         "omp_set_lock",
		"omp_set_nest_lock"};

	for (size_t i = 0; s->call && i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(s->call, calls[i]) == 0)
			return true;
	}
	return false;
}

static const struct replay_seen *find(const struct cmd_hang *h, unsigned rank, const char *thread)
{
	for (size_t i = 0; thread && i < h->look.n; i++) {
		const struct replay_seen *s = &h->look.seen[i];

		if (s->rank == rank && strcmp(s->thread, thread) == 0)
			return s;
	}
	return NULL;
}

static bool comes_back(const struct cmd_hang *h, const struct replay_seen *first)
{
	const struct replay_seen *at = first;

	for (size_t steps = 0; at && steps <= h->look.n; steps++) {
		at = find(h, at->rank, at->holder);
		if (at == first)
			return true;
	}
	return false;
}

struct cmd_hang_thread *cmd_hang_waits(const struct cmd_hang *h, unsigned rank, size_t *n)
{
	struct cmd_hang_thread *list = NULL;
	size_t all = 0, waiting = 0, cycle = 0;

	*n = 0;
	for (size_t i = 0; i < h->look.n; i++) {
		const struct replay_seen *s = &h->look.seen[i];

		if (s->rank != rank)
			continue;
		all++;
		if (!waits_for_threads(s))
			continue;
		waiting++;
		list = rp_widen(list, *n, *n + 1, sizeof(*list));
		list[*n] = (struct cmd_hang_thread){.seen = s,
						    .holder = find(h, rank, s->holder),
						    .in_cycle = comes_back(h, s)};
		cycle += list[(*n)++].in_cycle;
	}
	for (size_t i = 0; i < *n; i++)
		list[i].counts = list[i].in_cycle || !cycle;
	if (waiting && (waiting == all || cycle))
		return list;
	free(list);
	*n = 0;
	return NULL;
}

struct cmd_hang_thread *cmd_hang_threads(const struct cmd_hang *h, unsigned rank, size_t *n)
{
	struct cmd_hang_thread *list = cmd_hang_waits(h, rank, n);
	bool sure = true;

	for (size_t i = 0; i < *n && h->live; i++)
		sure &= !list[i].counts || cmd_hang_was_still(h, list[i].seen);
	if (sure)
		return list;
	free(list);
	*n = 0;
	return NULL;
}

char *cmd_hang_object(const struct replay_seen *s)
{
	bool condition = s->call && is_wait_for_condition(s->call);
	uint64_t address = condition ? s->cond : s->object;
	const char *kind = "object";
	if (!s->call || !address)
		return NULL;
	if (strstr(s->call, "join"))
		return s->holder ? rp_format("the end of thread %s", s->holder) : NULL;
	if (condition)
		kind = "condition";
	else if (begins(s->call, "pthread_mutex_") || begins(s->call, "mtx_"))
		kind = "mutex";
	else if (begins(s->call, "pthread_rwlock_"))
		kind = "read-write lock";
	else if (begins(s->call, "pthread_spin_"))
		kind = "spin lock";
	else if (begins(s->call, "sem_"))
		kind = "semaphore";
	else if (begins(s->call, "pthread_barrier_"))
		kind = "barrier";
	return s->variable ? rp_format("%s %s", kind, s->variable)
			   : rp_format("the %s at 0x%" PRIx64, kind, address);
}

char *cmd_hang_thread_text(const struct cmd_hang_thread *t)
{
	const struct replay_seen *s = t->seen;
	char *object = cmd_hang_object(s), *held = NULL, *text;

	if (t->holder && !strstr(s->call, "join"))
		held = rp_format(", which thread %s has", t->holder->thread);
	text = rp_format("thread %s waits in %s%s%s%s%s", s->thread, s->call, s->place,
			 object ? " for " : "", object ? object : "", held ? held : "");
	free(object);
	free(held);
	return text;
}
