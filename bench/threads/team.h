/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A team of threads for the programs here: team_run() runs a function in each, the first of them
 * the calling one. Synchronisation goes through the functions below, which count operations per
 * thread. With TEAM_RACY one lock in eight is not taken: a data race for ./dev soak silent, in
 * programs without conditions.
 */
#ifndef TEAM_H
#define TEAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../bench.h"

#define TEAM_MOST 64

static int team_size = 4;
static void (*team_work)(int id);
static pthread_barrier_t team_line;
static atomic_long team_operations;
static __thread long team_count;

#ifdef TEAM_RACY
static __thread int team_bare;
#define TEAM_IS_BARE(set) (set)
#else
#define TEAM_IS_BARE(set) 0
#endif

static inline void team_lock(pthread_mutex_t *m)
{
	team_count++;
	if (!TEAM_IS_BARE(team_bare = team_count % 16 == 1))
		pthread_mutex_lock(m);
}

static inline void team_unlock(pthread_mutex_t *m)
{
	team_count++;
	if (!TEAM_IS_BARE(team_bare))
		pthread_mutex_unlock(m);
}

static inline void team_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	team_count++;
	pthread_cond_wait(c, m);
}

static inline void team_wake_all(pthread_cond_t *c)
{
	team_count++;
	pthread_cond_broadcast(c);
}

static inline void team_barrier(void)
{
	team_count++;
	pthread_barrier_wait(&team_line);
}

static void *team_thread(void *arg)
{
	team_work((int)(intptr_t)arg);
	atomic_fetch_add(&team_operations, team_count);
	return NULL;
}

/* Prints the line that the driver reads. */
static void team_run(void (*work)(int id))
{
	pthread_t threads[TEAM_MOST];

	if (team_size < 1 || team_size > TEAM_MOST ||
	    pthread_barrier_init(&team_line, NULL, (unsigned int)team_size))
		exit(2);
	team_work = work;
	bench_gate();
	bench_start();
	for (intptr_t i = 1; i < team_size; i++) {
		if (pthread_create(&threads[i], NULL, team_thread, (void *)i))
			exit(1);
	}
	team_thread(NULL);
	for (int i = 1; i < team_size; i++)
		pthread_join(threads[i], NULL);
	bench_result("operations", team_operations);
}

/* The part of n that is thread id's own: [*first, *last). */
static inline void team_share(int id, long n, long *first, long *last)
{
	*first = n * id / team_size;
	*last = n * (id + 1) / team_size;
}

static inline void *team_alloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		exit(1);
	return p;
}

/* The same numbers in every run. */
static inline double team_random(uint64_t *x)
{
	*x = *x * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(*x >> 11) * 0x1p-53;
}

/* A sum over the bits of numbers, so that the last one of them counts. */
static inline void team_print(const char *name, const void *data, size_t bytes)
{
	const unsigned char *p = data;
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ p[i]) * 0x100000001b3ull;
	printf("%s %016llx\n", name, (unsigned long long)hash);
}

/* argv: threads, then the size of the problem. */
static inline long team_arguments(int argc, char **argv, long size)
{
	if (argc > 1)
		team_size = atoi(argv[1]);
	return argc > 2 ? atol(argv[2]) : size;
}

#endif
