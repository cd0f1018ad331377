/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads in each rank: one variable under a lock, the other not. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
int racy, fine;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *p)
{
	racy++;
	pthread_mutex_lock(&mutex);
	fine++;
	pthread_mutex_unlock(&mutex);
	return p;
}
int main(int argc, char **argv)
{
	pthread_t a, b;
	int rank, sum, provided;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	pthread_create(&a, 0, work, 0);
	pthread_create(&b, 0, work, 0);
	pthread_join(a, 0);
	pthread_join(b, 0);
	MPI_Allreduce(&fine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d\n", sum);
	MPI_Finalize();
	return 0;
}
