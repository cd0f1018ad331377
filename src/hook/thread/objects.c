/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes, read-write locks and semaphores have bytes that libc leaves alone and that are zero in a
 * new object; there our words travel with the object, end with it, and need no search. The list
 * links of a mutex are such bytes unless it is robust. Spin locks, streams, barriers, robust
 * mutexes and objects shared by processes have an entry in a table by address.
 * Invariant: an entry never moves and its address, once set, never changes.
 */
#include "hook/thread/objects.h"

#include <stddef.h>
#include <sys/mman.h>

#include "hook/thread/gomp.h"

#define ENTRIES (1u << 16)

_Static_assert(offsetof(pthread_mutex_t, __data.__list) == 24, "words of a mutex");
_Static_assert(sizeof(sem_t) == 32, "words of a semaphore");

static struct hook_sync_entry *table;

static struct hook_sync_entry *table_get(void)
{
	struct hook_sync_entry *now = __atomic_load_n(&table, __ATOMIC_ACQUIRE), *made;

	if (now)
		return now;
	made = mmap(NULL, ENTRIES * sizeof(*made), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (made == MAP_FAILED)
		return NULL;
	if (__atomic_compare_exchange_n(&table, &now, made, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return made;
	munmap(made, ENTRIES * sizeof(*made));
	return now;
}

/* NULL if there is none and none is to be made, or no room. */
static struct hook_sync_entry *search(struct hook_sync_entry *entries, void *object, bool make)
{
	uint32_t at = (uint32_t)(((uintptr_t)object * 0x9e3779b97f4a7c15ull) >> 48);

	for (uint32_t i = 0; entries && i < ENTRIES; i++) {
		struct hook_sync_entry *e = &entries[(at + i) % ENTRIES];
		void *there = __atomic_load_n(&e->object, __ATOMIC_ACQUIRE);

		if (!there && !make)
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
	struct hook_sync_entry *e = search(table_get(), object, true);

	return e ? e : &shared;
}

void hook_sync_forget(void *object)
{
	struct hook_sync_entry *e =
		search(__atomic_load_n(&table, __ATOMIC_ACQUIRE), object, false);

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

static struct hook_sync_spot semaphore_spot(sem_t *s)
{
	if (((int *)s)[SEM_SHARED])
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
