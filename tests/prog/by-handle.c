/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -Wl,--as-needed -ldl */
/*
 * A program that is not linked with MPI: it opens the library and looks each function up in it by
 * the handle. Rank 0 prints in which order messages come from the others.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef OPEN_MPI
#define LIBRARY "libmpi.so.40"
#define WORLD ((MPI_Comm)look("ompi_mpi_comm_world"))
#define INT ((MPI_Datatype)look("ompi_mpi_int"))
#else
#define LIBRARY "libmpich.so.12"
#define WORLD MPI_COMM_WORLD
#define INT MPI_INT
#endif

static void *library;

static void *look(const char *name)
{
	void *found = dlsym(library, name);

	if (!found) {
		fprintf(stderr, "%s\n", dlerror());
		exit(3);
	}
	return found;
}

#define LOOK(name) __typeof__(MPI_##name) *name = (__typeof__(MPI_##name) *)look("MPI_" #name)

static void receive(int n)
{
	LOOK(Recv);

	for (int i = 0; i < n; i++) {
		int value;
		MPI_Status status;

		Recv(&value, 1, INT, MPI_ANY_SOURCE, 0, WORLD, &status);
		printf("from %d: %d\n", status.MPI_SOURCE, value);
	}
}

int main(int argc, char **argv)
{
	int messages = argc > 1 ? atoi(argv[1]) : 20, rank, size, begun = 1;

	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	if (dlsym(library, "MPI_There_is_no_such_call") || !dlerror())
		return 4;
	LOOK(Initialized);
	LOOK(Init);
	LOOK(Comm_rank);
	LOOK(Comm_size);
	LOOK(Send);
	LOOK(Finalize);
	Initialized(&begun);
	if (begun || dlerror())
		return 5;
	Init(NULL, NULL);
	Comm_rank(WORLD, &rank);
	Comm_size(WORLD, &size);
	if (rank == 0)
		receive(messages * (size - 1));
	for (int i = 0; rank && i < messages; i++)
		Send(&i, 1, INT, 0, 0, WORLD);
	Finalize();
	dlclose(library);
	return 0;
}
