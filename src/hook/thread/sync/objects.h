/* SPDX-License-Identifier: Apache-2.0 */
/* Where the id and the version of an object are kept: see objects.c. */
#ifndef HOOK_SYNC_OBJECTS_H
#define HOOK_SYNC_OBJECTS_H

#include "hook/thread/sync/sync.h"

/* What a table entry holds beside id and version. */
struct hook_sync_entry {
	void *object;
	uint64_t id;
	uint32_t version[2];
	pid_t owner; /* of a lock that says nothing about its owner */
	uint32_t depth;
	void *more;             /* of a barrier: who meets there */
	struct hook_atom *atom; /* of an atomic variable, see hook/thread/atomic/ */
};

/* The entry, made if there is none. Never NULL: without memory recording stops. */
struct hook_sync_entry *hook_sync_entry(void *object);

/* The object ends, or begins anew. */
void hook_sync_forget(void *object);

#define MUTEX_KIND_TYPE 3      /* bits of __kind: normal, recursive, error-checking, adaptive */
#define MUTEX_KIND_ROBUST 0x10 /* libc uses all bytes of it */
#define MUTEX_KIND_SHARED 0x80

/*
 * In an object that processes share the order within this process is kept, by address: what is in
 * the object itself may be older than the run.
 */
static inline bool hook_sync_mutex_is_plain(const pthread_mutex_t *m)
{
	return !(m->__data.__kind & (MUTEX_KIND_ROBUST | MUTEX_KIND_SHARED));
}

/*
 * The version changes with every operation: it is beside the words that libc changes, in the same
 * cache line wherever possible. What comes after the mutex is other data of the program.
 */
static inline struct hook_sync_spot hook_sync_mutex_spot(pthread_mutex_t *m)
{
	return (struct hook_sync_spot){(uint64_t *)&m->__data.__list.__next,
				       (uint32_t *)&m->__data.__list.__prev};
}

/* Of any object an operation of SYNC_MUTEX_LOCK … SYNC_SEM_GETVALUE or on a stream can have. */
struct hook_sync_spot hook_sync_spot(const struct hook_sync_call *c);

/* Is it one that processes share? */
bool hook_sync_is_shared(const sem_t *s);

/* The bytes of ours in a semaphore, which sem_init does not clear. */
void hook_sync_clear_semaphore(sem_t *s);

#endif
