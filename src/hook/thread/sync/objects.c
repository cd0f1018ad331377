/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes, read-write locks and semaphores have bytes that libc leaves alone and that are zero in a
 * new object; there our words travel with the object, end with it, and need no search. The list
 * links of a mutex are such bytes unless it is robust. Spin locks, streams, barriers, robust
 * mutexes and objects shared by processes have an entry in a table by address. What finds its
 * places in a table taken has one in the next, larger one. Invariant: an entry never moves and its
 * address, once set, never changes.
 */
#include "hook/thread/sync/objects.h"

#include <stddef.h>

#include "hook/kit/pages.h"
#include "hook/kit/random.h"
#include "hook/thread/gomp/gomp.h"
#include "hook/thread/race/race.h"

#define TABLES 9
#define FIRST_BITS 16
#define MORE_BITS 2 /* that each table has beyond the one before */
#define PROBES 64

_Static_assert(offsetof(pthread_mutex_t, __data.__list) == 24, "words of a mutex");
_Static_assert(sizeof(sem_t) == 32, "words of a semaphore");

static struct hook_sync_entry *tables[TABLES];

static unsigned int bits_of(int table)
{
	return FIRST_BITS + MORE_BITS * (unsigned int)table;
}

static struct hook_sync_entry *table_get(int table)
{
	struct hook_sync_entry *now = __atomic_load_n(&tables[table], __ATOMIC_ACQUIRE), *made;
	size_t bytes = sizeof(*made) << bits_of(table);

	if (now)
		return now;
	made = hook_pages_sparse(bytes);
	if (!made)
		return NULL;
	if (__atomic_compare_exchange_n(&tables[table], &now, made, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return made;
	hook_pages_free(made, bytes);
	return now;
}

/* *over: there is none, and none in a further table. */
static struct hook_sync_entry *search(int table, struct hook_sync_entry *entries, void *object,
				      bool make, bool *over)
{
	unsigned int bits = bits_of(table);
	uint64_t at = hook_random_spread((uintptr_t)object) >> (64 - bits);

	for (uint64_t i = 0; i < PROBES; i++) {
		struct hook_sync_entry *e = &entries[(at + i) & ((1ull << bits) - 1)];
		void *there = __atomic_load_n(&e->object, __ATOMIC_ACQUIRE);

		*over = !there && !make;
		if (*over)
			return NULL;
		if (!there && __atomic_compare_exchange_n(&e->object, &there, object, false,
							  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return e;
		if (there == object)
			return e;
	}
	return NULL;
}

struct hook_sync_entry *hook_sync_entry(void *object)
{
	static struct hook_sync_entry shared;
	struct hook_sync_entry *entries, *e = NULL;
	bool over;

	for (int i = 0; i < TABLES && !e; i++) {
		entries = table_get(i);
		if (!entries)
			break;
		e = search(i, entries, object, true, &over);
	}
	if (e)
		return e;
	hook_table_is_full(hook_thread_self(), "objects that threads synchronise on");
	return &shared;
}

static struct hook_sync_entry *find(void *object)
{
	struct hook_sync_entry *entries, *e = NULL;
	bool over = false;

	for (int i = 0; i < TABLES && !e && !over; i++) {
		entries = __atomic_load_n(&tables[i], __ATOMIC_ACQUIRE);
		if (!entries)
			break;
		e = search(i, entries, object, false, &over);
	}
	return e;
}

void hook_sync_forget(void *object)
{
	struct hook_sync_entry *e = find(object);

	hook_race_forget(object);
	if (!e)
		return;
	e->id = 0;
	e->version[0] = e->version[1] = 0;
	e->owner = 0;
	e->depth = 0;
}

static struct hook_sync_spot entry_spot(void *object)
{
	struct hook_sync_entry *e = hook_sync_entry(object);

	return (struct hook_sync_spot){&e->id, e->version};
}

static struct hook_sync_spot rwlock_spot(pthread_rwlock_t *l)
{
	if (l->__data.__shared)
		return entry_spot(l);
	return (struct hook_sync_spot){(uint64_t *)&l->__data.__pad3,
				       (uint32_t *)&l->__data.__pad2};
}

#define SEM_SHARED 2 /* words into a sem_t: nonzero if processes share it */
#define SEM_SPARE 16 /* bytes into it: what libc leaves alone begins here */

bool hook_sync_is_shared(const sem_t *s)
{
	return ((const int *)s)[SEM_SHARED];
}

static struct hook_sync_spot semaphore_spot(sem_t *s)
{
	if (hook_sync_is_shared(s))
		return entry_spot(s);
	return (struct hook_sync_spot){(uint64_t *)((char *)s + SEM_SPARE),
				       (uint32_t *)((char *)s + SEM_SPARE + 8)};
}

void hook_sync_clear_semaphore(sem_t *s)
{
	struct hook_sync_spot spot = semaphore_spot(s);

	*spot.id = 0;
	spot.version[0] = spot.version[1] = 0;
}

struct hook_sync_spot hook_sync_spot(const struct hook_sync_call *c)
{
	if (c->op <= SYNC_COND_CLOCKWAIT && hook_sync_mutex_is_plain(c->object))
		return hook_sync_mutex_spot(c->object);
	if (c->op == SYNC_GOMP_TASK)
		return hook_gomp_spot(c);
	if (c->op >= SYNC_RDLOCK && c->op <= SYNC_CLOCKWRLOCK)
		return rwlock_spot(c->object);
	if (c->op >= SYNC_SEM_POST && c->op <= SYNC_SEM_GETVALUE)
		return semaphore_spot(c->object);
	return entry_spot(c->object);
}
