/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and ends: what is left of a run is the launcher, MPI, and whoever watches. */
#include <mpi.h>

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Finalize();
	return 0;
}
