/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank 1 ends itself by a signal, and by another one if there is a file FILE: sends-signal FILE
 * HOW. The others wait for it.
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static void send_by(const char *how, int sig)
{
	if (strcmp(how, "raise") == 0 || strcmp(how, "late") == 0)
		raise(sig);
	else if (strcmp(how, "kill") == 0)
		kill(getpid(), sig);
	else if (strcmp(how, "thread") == 0)
		pthread_kill(pthread_self(), sig);
	else if (strcmp(how, "queue") == 0)
		sigqueue(getpid(), sig, (union sigval){0});
}

static void nothing(int sig)
{
	(void)sig;
}

/* The handler of another signal runs inside of a call of MPI, just before. */
static void interrupt(int rank)
{
	const struct itimerval soon = {.it_value = {0, 10000}};
	int x = 0;

	if (rank == 0) {
		usleep(60000);
		MPI_Send(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
	} else if (rank == 1) {
		signal(SIGALRM, nothing);
		setitimer(ITIMER_REAL, &soon, NULL);
		MPI_Recv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	if (strcmp(argv[2], "late") == 0)
		interrupt(rank);
	if (rank == 1)
		send_by(argv[2], pathconf(argv[1], _PC_NAME_MAX) > 0 ? SIGTERM : SIGUSR1);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
