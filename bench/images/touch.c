/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that has touched so many megabytes and goes on changing the same hundredth of its
 * pages: touch MEGABYTES STEPS THREADS. With MPI (-DRANKS) ranks also exchange 1,000 random bytes
 * and a number in each step, which is some 500 kB each second.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef RANKS
#include <mpi.h>
#endif

#define PAGE 4096
#define SHARE 100 /* one page of so many changes */
#define NAP_NS 5000000
#define ROUNDS 1000000 /* about a millisecond */
#define MESSAGE 1000

static unsigned char *memory;
static size_t pages;
static int threads, over;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void nap(void)
{
	struct timespec t = {0, NAP_NS};

	nanosleep(&t, NULL);
}

/* Threads that only wait and wake: each must be made to stand still for an image. */
static void *idle(void *unused)
{
	int end = 0;

	(void)unused;
	while (!end) {
		nap();
		pthread_mutex_lock(&lock);
		end = over;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void step(unsigned k)
{
	volatile unsigned x = k;
	struct timespec t;

	for (size_t i = 0; i < pages; i += SHARE)
		memory[i * PAGE + k % PAGE]++;
	for (int i = 0; i < ROUNDS; i++)
		x = x * 31 + 7;
	clock_gettime(CLOCK_MONOTONIC, &t); /* images are taken at calls */
}

#ifdef RANKS
/* With the neighbour: what nobody can compress. */
static unsigned exchange(void)
{
	static uint64_t x = 88172645463325252u;
	unsigned char out[MESSAGE], in[MESSAGE];
	int rank, size;

	for (int i = 0; i < MESSAGE; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		out[i] = (unsigned char)(x >> 24);
	}
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Sendrecv(out, MESSAGE, MPI_BYTE, (rank + 1) % size, 0, in, MESSAGE, MPI_BYTE,
		     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return in[rank];
}
#endif

int main(int argc, char **argv)
{
	unsigned steps = argc > 2 ? (unsigned)atoi(argv[2]) : 1000, sum = 0;
	pthread_t thread[64];

	pages = (argc > 1 ? (size_t)atol(argv[1]) : 100) * 1024 * 1024 / PAGE;
	threads = argc > 3 ? atoi(argv[3]) - 1 : 0;
#ifdef RANKS
	MPI_Init(&argc, &argv);
#endif
	memory = malloc(pages * PAGE);
	for (size_t i = 0; i < pages * PAGE; i++)
		memory[i] = (unsigned char)(i * 2654435761u >> 24 | 1);
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, idle, NULL);
	for (unsigned k = 0; k < steps; k++) {
		step(k);
#ifdef RANKS
		sum += exchange();
		MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UNSIGNED, MPI_MAX, MPI_COMM_WORLD);
#endif
	}
	pthread_mutex_lock(&lock);
	over = 1;
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	for (size_t i = 0; i < pages * PAGE; i++)
		sum = sum * 31 + memory[i];
	printf("%u\n", sum);
#ifdef RANKS
	MPI_Finalize();
#endif
	free(memory);
	return 0;
}
