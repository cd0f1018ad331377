/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idup-many WAY...: several MPI_Comm_idup at a time, among other operations that are under way, all
 * ended by one Waitall. Ways: world, half (a communicator of some ranks), inter. Each new
 * communicator is used, with receives from any source.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { MANY = 5 };

static char seen[8192];

static void add(const char *what, int number)
{
	size_t at = strlen(seen);

	snprintf(seen + at, sizeof(seen) - at, "%s %d", what, number);
}

/* Everybody sends to the first one, who says who came when. */
static void use(MPI_Comm comm, const char *way, int round)
{
	int inter, rank, others, from, i;

	MPI_Comm_test_inter(comm, &inter);
	MPI_Comm_rank(comm, &rank);
	if (inter)
		MPI_Comm_remote_size(comm, &others);
	else
		MPI_Comm_size(comm, &others);
	if (inter || rank != 0)
		MPI_Send(&rank, 1, MPI_INT, 0, round, comm);
	if (rank != 0)
		return;
	add(way, round);
	for (i = inter ? 0 : 1; i < others; i++) {
		MPI_Recv(&from, 1, MPI_INT, MPI_ANY_SOURCE, round, comm, MPI_STATUS_IGNORE);
		add(" from", from);
	}
	add(" all of", others);
	add("\n", rank);
}

/* One operation on `comm` that needs all of its ranks, beside the duplicates. */
static void begin(MPI_Comm comm, int kind, int left, int in[2], MPI_Request *request)
{
	int inter, rank, root = 0;

	MPI_Comm_test_inter(comm, &inter);
	MPI_Comm_rank(comm, &rank);
	if (inter && left)
		root = rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
	switch (kind) {
	case 0:
		MPI_Ibarrier(comm, request);
		break;
	case 1:
		MPI_Ibcast(in, 1, MPI_INT, root, comm, request);
		break;
	default:
		MPI_Iallreduce(in, in + 1, 1, MPI_INT, MPI_SUM, comm, request);
		break;
	}
}

/* Messages of the first rank to all others beside the duplicates, which the others begin earlier.
 */
static void among_messages(MPI_Comm comm, const char *way)
{
	MPI_Request requests[MANY * 16];
	MPI_Comm copies[MANY];
	int rank, size, inter, i, k, n = 0, out = 7, in[MANY];

	MPI_Comm_test_inter(comm, &inter);
	MPI_Comm_rank(comm, &rank);
	if (inter)
		MPI_Comm_remote_size(comm, &size);
	else
		MPI_Comm_size(comm, &size);
	for (k = 0; k < MANY; k++) {
		for (i = 1; rank == 0 && i < size; i++)
			MPI_Isend(&out, 1, MPI_INT, i, 0, comm, &requests[n++]);
		MPI_Comm_idup(comm, &copies[k], &requests[n++]);
		if (rank != 0)
			MPI_Irecv(&in[k], 1, MPI_INT, 0, 0, comm, &requests[n++]);
	}
	MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
	for (k = 0; k < MANY; k++) {
		use(copies[k], way, k);
		MPI_Comm_free(&copies[k]);
	}
}

static void among_collectives(MPI_Comm comm, int left, const char *way)
{
	MPI_Request requests[2 * MANY];
	MPI_Comm copies[MANY];
	int in[MANY][2], kind, k;

	for (kind = 0; kind < 3; kind++) {
		for (k = 0; k < MANY; k++) {
			in[k][0] = k;
			begin(comm, kind, left, in[k], &requests[k]);
			MPI_Comm_idup(comm, &copies[k], &requests[MANY + k]);
		}
		MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
		for (k = 0; k < MANY; k++) {
			use(copies[k], way, MANY + k);
			MPI_Comm_free(&copies[k]);
		}
	}
}

static void try(MPI_Comm comm, int left, const char *way)
{
	among_messages(comm, way);
	among_collectives(comm, left, way);
}

/* What the leaders of both halves have seen, by one rank: lines of several come in any order. */
static void print_all(int rank)
{
	if (rank == 1)
		MPI_Send(seen, sizeof(seen), MPI_CHAR, 0, 0, MPI_COMM_WORLD);
	if (rank != 0)
		return;
	puts(seen);
	MPI_Recv(seen, sizeof(seen), MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	puts(seen);
}

int main(int argc, char **argv)
{
	MPI_Comm half, inter;
	int rank, i;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split(MPI_COMM_WORLD, rank & 1, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - (rank & 1), 5, &inter);
	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "world") == 0)
			try(MPI_COMM_WORLD, 0, argv[i]);
		else if (strcmp(argv[i], "half") == 0)
			try(half, 0, argv[i]);
		else if (strcmp(argv[i], "inter") == 0)
			try(inter, rank & 1, argv[i]);
	}
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
	print_all(rank);
	MPI_Finalize();
	return 0;
}
