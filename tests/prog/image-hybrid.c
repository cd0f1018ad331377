/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fopenmp */
/*
 * Ranks whose threads share work by OpenMP, beside a thread that waits in MPI for whatever comes
 * from anybody. What came and who did what goes into hashes that are printed on the way:
 * image-hybrid STEPS.
 */
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CELLS 4000
#define STOP 1000000

static int me, size;
static uint64_t seen = 1, done = 1;
static long *cell;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void mix(uint64_t *hash, uint64_t value)
{
	*hash = (*hash ^ value) * 1099511628211u;
	*hash ^= *hash >> 31;
}

/* Waits in MPI nearly all the time. */
static void *listen(void *unused)
{
	int left = size;

	while (left) {
		MPI_Status status;
		int got;

		MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
		pthread_mutex_lock(&lock);
		mix(&seen, (uint64_t)status.MPI_SOURCE << 32 | (uint32_t)got);
		pthread_mutex_unlock(&lock);
		left -= got == STOP;
	}
	return unused;
}

static void work(int step)
{
#pragma omp parallel for schedule(dynamic, 250) num_threads(3)
	for (int i = 0; i < CELLS; i++) {
		cell[i] = cell[i] * 31 + step + omp_get_thread_num();
		if (i % 500 == 0) {
#pragma omp critical
			mix(&done, (uint64_t)(i + omp_get_thread_num()));
		}
	}
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 10, level, stop = STOP;
	pthread_t listener;
	long sum;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (level != MPI_THREAD_MULTIPLE)
		MPI_Abort(MPI_COMM_WORLD, 7);
	cell = calloc(CELLS, sizeof(*cell));
	pthread_create(&listener, NULL, listen, NULL);
	for (int step = 0; step < steps; step++) {
		work(step);
		MPI_Send(&step, 1, MPI_INT, (me + step) % size, 1, MPI_COMM_WORLD);
		MPI_Allreduce(&cell[step], &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
		mix(&done, (uint64_t)sum);
		cell[step] = sum;
		pthread_mutex_lock(&lock);
		printf("rank %d step %d: %016llx %016llx\n", me, step, (unsigned long long)seen,
		       (unsigned long long)done);
		pthread_mutex_unlock(&lock);
	}
	for (int to = 0; to < size; to++)
		MPI_Send(&stop, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
	pthread_join(listener, NULL);
	printf("rank %d: %016llx %016llx\n", me, (unsigned long long)seen,
	       (unsigned long long)done);
	MPI_Finalize();
	free(cell);
	return 0;
}
