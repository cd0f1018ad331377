/* SPDX-License-Identifier: Apache-2.0 */
/* A thread makes more calls of MPI if there is a file "more". */
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

static void *work(void *times)
{
	int x = 0, y;

	for (int i = 0; i < *(int *)times; i++) {
		MPI_Request request;

		MPI_Irecv(&y, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &request);
		MPI_Send(&x, 1, MPI_INT, 0, 3, MPI_COMM_SELF);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int level, times = pathconf("more", _PC_NAME_MAX) > 0 ? 9 : 3;
	pthread_t thread;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	pthread_create(&thread, NULL, work, &times);
	pthread_join(thread, NULL);
	MPI_Finalize();
	return 0;
}
