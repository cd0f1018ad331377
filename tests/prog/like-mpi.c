/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With -DLIBRARY a library that has the name of a function of MPI; else ranks that call it, each
 * started by hand: PEER [HOLDS [ends]]. They look for a message for ever, that of rank PEER; or, if
 * they are told so, until they have been held so many times, and then compute, or end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

extern char ompi_mpi_comm_world[64], ompi_mpi_int[64];
int MPI_Recv(void *to, int count, void *type, int peer, int tag, void *comm, void *status);

#ifdef LIBRARY

char ompi_mpi_comm_world[64], ompi_mpi_int[64];
static volatile int on = 1;

int MPI_Recv(void *to, int count, void *type, int peer, int tag, void *comm, void *status)
{
	struct epoll_event event;
	int poll = epoll_create1(0), holds = *(int *)to;

	(void)count, (void)type, (void)peer, (void)tag, (void)comm, (void)status;
	if (write(1, "in\n", 3) < 0)
		return 1;
	while (!holds && on)
		;
	/* It is never begun again by the kernel. */
	while (holds > 0) {
		if (epoll_wait(poll, &event, 1, -1) < 0 && errno == EINTR)
			holds--;
	}
	return close(poll);
}

#else

int main(int argc, char **argv)
{
	volatile int on = 1;
	int peer = argc > 1 ? atoi(argv[1]) : -1, holds = argc > 2 ? atoi(argv[2]) : 0;

	MPI_Recv(&holds, 1, ompi_mpi_int, peer, 4, ompi_mpi_comm_world, NULL);
	while (argc < 4 && on)
		;
	return 0;
}

#endif
