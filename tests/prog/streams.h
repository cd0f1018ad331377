/* SPDX-License-Identifier: Apache-2.0 */
/* What streams.c and streams-wide.c share: threads that begin together, and a file of short lines.
 */
#ifndef STREAMS_H
#define STREAMS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "mix.h"

#define THREADS 4
#define STEPS 60

static FILE *shared;
static pthread_barrier_t start;

static void put(int id, int i);
static void get(int id);

static void *work(void *arg)
{
	int id = (int)(intptr_t)arg;

	x = 1000003ull * (uint64_t)(id + 1);
	pthread_barrier_wait(&start);
	for (int i = 0; i < STEPS; i++) {
		put(id, i);
		get(id);
	}
	return NULL;
}

/* The file is open and filled. */
static void run_threads(void)
{
	pthread_t thread[THREADS];

	rewind(shared);
	pthread_barrier_init(&start, NULL, THREADS);
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

#endif
