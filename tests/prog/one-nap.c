/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks sleep for so many seconds between two functions: one-nap SECONDS. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int calls;

__attribute__((noinline)) static void before(void)
{
	calls++;
}

__attribute__((noinline)) static void behind(void)
{
	calls++;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	before();
	sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
	behind();
	MPI_Finalize();
	return 0;
}
