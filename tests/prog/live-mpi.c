/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that send each other messages of all kinds, step by step, and print a hash over all that
 * they have received as they go: live-mpi STEPS ROUNDS.
 */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS 4000
#define LARGE 20000
#define PARTS 3

static int rank, size, right, left;
static uint64_t hash = 1469598103934665603u;
static double cell[CELLS], large[LARGE], got[LARGE];

struct pair {
	char first;
	double second;
	int third;
};

static MPI_Datatype gaps, swapped, straight;
static MPI_Request again[2]; /* a send and a receive that are started in each step */
static double again_out, again_in;
static MPI_Comm turned; /* all ranks, the other way round */

static void mix(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ p[i]) * 1099511628211u;
}

static void compute(int rounds)
{
	for (int k = 0; k < rounds; k++) {
		for (int i = 1; i < CELLS - 1; i++)
			cell[i] = 0.25 * (cell[i - 1] + 2 * cell[i] + cell[i + 1]) + 1e-6 * k;
	}
}

/* What is sent depends on all that was received. */
static double value(int i)
{
	return cell[i % CELLS] + (double)(hash >> 40) + i;
}

/* One with gaps, one whose parts lie the other way round than they are named, and its fellow. */
static void make_types(void)
{
	int ones[3] = {1, 1, 1};
	MPI_Aint at[3] = {offsetof(struct pair, first), offsetof(struct pair, second),
			  offsetof(struct pair, third)};
	MPI_Aint back[2] = {8, 0}, forth[2] = {0, 8};
	MPI_Datatype of[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, plain;
	MPI_Datatype doubles[2] = {MPI_DOUBLE, MPI_DOUBLE};

	MPI_Type_create_struct(3, ones, at, of, &plain);
	MPI_Type_create_resized(plain, 0, sizeof(struct pair), &gaps);
	MPI_Type_free(&plain);
	MPI_Type_create_struct(2, ones, back, doubles, &swapped);
	MPI_Type_create_struct(2, ones, forth, doubles, &straight);
	MPI_Type_commit(&gaps);
	MPI_Type_commit(&swapped);
	MPI_Type_commit(&straight);
}

static void exchange(int step)
{
	double out[PARTS], in[PARTS] = {0}, both[2] = {value(step), value(step + 7)};

	for (int i = 0; i < PARTS; i++)
		out[i] = value(step + i);
	MPI_Sendrecv(out, PARTS, MPI_DOUBLE, right, 1, in, PARTS, MPI_DOUBLE, left, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	mix(in, sizeof(in));
	MPI_Sendrecv_replace(both, 2, MPI_DOUBLE, left, 2, right, 2, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	mix(both, sizeof(both));
}

/* Tags are taken in another order than they are sent in; all are from anybody. */
static void disorder(int step)
{
	double out[PARTS], in = 0;
	MPI_Request sent[PARTS];
	MPI_Status status;

	for (int i = 0; i < PARTS; i++) {
		out[i] = value(3 * step + i);
		MPI_Isend(&out[i], 1, MPI_DOUBLE, right, 10 + i, MPI_COMM_WORLD, &sent[i]);
	}
	for (int i = PARTS - 1; i >= 0; i--) {
		MPI_Recv(&in, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 10 + i, MPI_COMM_WORLD, &status);
		mix(&in, sizeof(in));
		mix(&status.MPI_SOURCE, sizeof(int));
	}
	MPI_Waitall(PARTS, sent, MPI_STATUSES_IGNORE);
}

/* Types that are not those of the other side; a message to oneself; one that is probed first. */
static void types(int step)
{
	struct pair out[2], in[2];
	double two[2] = {value(step), value(step + 1)}, other[2] = {0}, own = 0;
	MPI_Request request[3];
	MPI_Message message;
	MPI_Status status;

	memset(out, 0, sizeof(out));
	memset(in, 0, sizeof(in));
	for (int i = 0; i < 2; i++)
		out[i] = (struct pair){(char)(step + i), value(step + i), step * i};
	MPI_Irecv(in, 2, gaps, left, 31, MPI_COMM_WORLD, &request[0]);
	MPI_Irecv(other, 1, straight, left, 32, MPI_COMM_WORLD, &request[1]);
	MPI_Irecv(&own, 1, MPI_DOUBLE, rank, 33, MPI_COMM_WORLD, &request[2]);
	MPI_Send(out, 2, gaps, right, 31, MPI_COMM_WORLD);
	MPI_Send(two, 1, swapped, right, 32, MPI_COMM_WORLD);
	MPI_Send(&two[1], 1, MPI_DOUBLE, rank, 33, MPI_COMM_WORLD);
	MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
	for (int i = 0; i < 2; i++) {
		mix(&in[i].first, 1);
		mix(&in[i].second, sizeof(double));
		mix(&in[i].third, sizeof(int));
	}
	mix(other, sizeof(other));
	mix(&own, sizeof(own));
	MPI_Isend(two, 2, MPI_DOUBLE, right, 34, MPI_COMM_WORLD, &request[0]);
	MPI_Mprobe(left, 34, MPI_COMM_WORLD, &message, &status);
	MPI_Mrecv(other, 2, MPI_DOUBLE, &message, &status);
	mix(other, sizeof(other));
	MPI_Wait(&request[0], MPI_STATUS_IGNORE);
}

/* Ranks have other numbers here; a large message; requests that are started again and again. */
static void others(int step)
{
	int here, first, second;
	MPI_Request request[2];

	again_out = value(step);
	MPI_Startall(2, again);
	MPI_Comm_rank(turned, &here);
	for (int i = 0; i < LARGE; i++)
		large[i] = value(i);
	MPI_Irecv(got, LARGE, MPI_DOUBLE, (here + 1) % size, 41, turned, &request[0]);
	MPI_Isend(large, LARGE - step, MPI_DOUBLE, (here + size - 1) % size, 41, turned,
		  &request[1]);
	MPI_Waitany(2, request, &first, MPI_STATUS_IGNORE);
	MPI_Waitany(2, request, &second, MPI_STATUS_IGNORE);
	mix(&first, sizeof(first));
	mix(got, (size_t)(LARGE - step) * sizeof(*got));
	MPI_Waitall(2, again, MPI_STATUSES_IGNORE);
	mix(&again_in, sizeof(again_in));
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 20, rounds = argc > 2 ? atoi(argv[2]) : 10;
	double mine, total = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	right = (rank + 1) % size;
	left = (rank + size - 1) % size;
	make_types();
	MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &turned);
	MPI_Send_init(&again_out, 1, MPI_DOUBLE, right, 51, MPI_COMM_WORLD, &again[0]);
	MPI_Recv_init(&again_in, 1, MPI_DOUBLE, left, 51, MPI_COMM_WORLD, &again[1]);
	for (int i = 0; i < CELLS; i++)
		cell[i] = rank + i * 1e-3;
	for (int step = 0; step < steps; step++) {
		compute(rounds);
		exchange(step);
		disorder(step);
		types(step);
		others(step);
		mine = value(step);
		if (step % 8 == 7)
			MPI_Allreduce(&mine, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		mix(&total, sizeof(total));
		printf("rank %d step %d: %016llx\n", rank, step, (unsigned long long)hash);
		fflush(stdout);
	}
	MPI_Request_free(&again[0]);
	MPI_Request_free(&again[1]);
	MPI_Finalize();
	return 0;
}
