/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs of this directory share: messages in the manner of the machines of their time
 * (a message has a type and a destination; it is received by type, from whichever node it comes),
 * sums and broadcasts along a tree made of such messages, random numbers, and a main().
 *
 * A program is called NAME [SIZE [ROUNDS [MODE]]] and solves the same problem ROUNDS times, with a
 * barrier between them. Rank 0 prints
 *
 *   result ...           the answer: the same for any number of ranks and any order of messages
 *   order HASH           which node each receive got its message from; the run that it was
 *   seconds S from B to E messages N rounds R cpu C
 *
 * where C is the processor time of all nodes within the S seconds. Some programs take a number as
 * MODE, their grain: how much is computed for a message.
 *
 * Messages are those of nx_send; there are no others but a barrier per round, the collective
 * operations of the last lines, and those a program says it uses.
 */
#ifndef NX_H
#define NX_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bench.h"

#define NX_UNUSED __attribute__((unused))

struct nx_program {
	int size; /* unless the command line says otherwise */
	void (*solve)(int size);
};

/* Each program defines this. */
static const struct nx_program nx_program;

static int nx_me, nx_nodes;
static const char *nx_mode = "";
static long nx_sent;
static uint64_t nx_order, nx_random_state;
static char nx_answer[200];

NX_UNUSED static void nx_fail(const char *text)
{
	fprintf(stderr, "node %d: %s\n", nx_me, text);
	MPI_Abort(MPI_COMM_WORLD, 3);
}

NX_UNUSED static void *nx_alloc(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory)
		nx_fail("out of memory");
	return memory;
}

NX_UNUSED static int nx_grain(void)
{
	return atoi(nx_mode) > 1 ? atoi(nx_mode) : 1;
}

/* The answer, said by node 0 once per round; each round has the same. */
__attribute__((format(printf, 1, 2))) NX_UNUSED static void nx_result(const char *format, ...)
{
	char answer[sizeof(nx_answer)];
	va_list list;

	va_start(list, format);
	vsnprintf(answer, sizeof(answer), format, list);
	va_end(list);
	if (nx_answer[0] && strcmp(answer, nx_answer))
		nx_fail("two rounds have different results");
	memcpy(nx_answer, answer, sizeof(answer));
}

/* Messages */

NX_UNUSED static void nx_send(int type, const void *data, size_t bytes, int node)
{
	nx_sent++;
	MPI_Send(data, (int)bytes, MPI_BYTE, node, type, MPI_COMM_WORLD);
}

NX_UNUSED static MPI_Request nx_isend(int type, const void *data, size_t bytes, int node)
{
	MPI_Request request;

	nx_sent++;
	MPI_Isend(data, (int)bytes, MPI_BYTE, node, type, MPI_COMM_WORLD, &request);
	return request;
}

/* The sources are the outcomes of a run: their hash says whether two runs were the same. */
static inline void nx_note(int source)
{
	nx_order = (nx_order ^ (uint64_t)(source + 1)) * 0x100000001b3ull;
}

/* Receives by type from any node; returns the node. At most `bytes`: less is no error. */
__attribute__((always_inline)) static inline int nx_recv(int type, void *data, size_t bytes)
{
	MPI_Status status;

	MPI_Recv(data, (int)bytes, MPI_BYTE, MPI_ANY_SOURCE, type, MPI_COMM_WORLD, &status);
	nx_note(status.MPI_SOURCE);
	return status.MPI_SOURCE;
}

/*
 * A broadcast from `root` to the nodes first, first + 1, ... along a spanning tree: every node but
 * the root gets one message of this type.
 */
NX_UNUSED static void nx_spread(int type, void *data, size_t bytes, int root, int first)
{
	int n = nx_nodes - first, place = (nx_me - root + n) % n, step = 1;

	while (step < n && !(place & step))
		step <<= 1;
	if (place)
		nx_recv(type, data, bytes);
	for (step >>= 1; step > 0; step >>= 1)
		if (place + step < n)
			nx_send(type, data, bytes, first + (root - first + place + step) % n);
}

/*
 * The opposite: node `first` ends up with what all nodes from there on have, joined two by two. The
 * type tells the level of the tree, so that a node joins in the same order in every run.
 */
NX_UNUSED static void nx_join(int type, void *data, void *other, size_t bytes, int first,
			      void (*join)(void *, const void *))
{
	int n = nx_nodes - first, place = nx_me - first, level = 0;

	for (int step = 1; step < n; step <<= 1, level++) {
		if (place & step) {
			nx_send(type + level, data, bytes, first + place - step);
			return;
		}
		if (place + step < n) {
			nx_recv(type + level, other, bytes);
			join(data, other);
		}
	}
}

/* Shares: node i has the items nx_first(i, n) to nx_first(i + 1, n) - 1 of n */

NX_UNUSED static int nx_first(int node, int n)
{
	return (int)((long)node * n / nx_nodes);
}

NX_UNUSED static int nx_owner(int item, int n)
{
	return (int)(((long)(item + 1) * nx_nodes - 1) / n);
}

/* Random numbers, the same on every machine */

NX_UNUSED static uint32_t nx_random(void)
{
	nx_random_state = nx_random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(nx_random_state >> 33);
}

/* Between -1 and 1. */
NX_UNUSED static double nx_random_real(void)
{
	return (double)nx_random() / 1073741824.0 - 1.0;
}

static void nx_print(double cpu, int rounds)
{
	double end = bench_now(), cpus;
	char line[160];
	uint64_t order = (nx_order + (uint64_t)nx_me) * 0x9e3779b97f4a7c15ull, orders;
	long sent;

	MPI_Reduce(&order, &orders, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
	MPI_Reduce(&nx_sent, &sent, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Reduce(&cpu, &cpus, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (nx_me)
		return;
	printf("result %s\norder %016llx\n", nx_answer, (unsigned long long)orders);
	snprintf(line, sizeof(line),
		 "seconds %.6f from %.6f to %.6f messages %ld rounds %d cpu %.6f\n",
		 end - bench_begin, bench_begin, end, sent, rounds, cpus);
	bench_say(line);
}

int main(int argc, char **argv)
{
	int size = argc > 1 ? atoi(argv[1]) : nx_program.size;
	int rounds = argc > 2 ? atoi(argv[2]) : 1;
	double cpu;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &nx_me);
	MPI_Comm_size(MPI_COMM_WORLD, &nx_nodes);
	if (argc > 3)
		nx_mode = argv[3];
	if (size < 1)
		nx_fail("a size is a number from 1 on");
	MPI_Barrier(MPI_COMM_WORLD);
	bench_gate();
	MPI_Barrier(MPI_COMM_WORLD);
	bench_start();
	cpu = bench_cpu();
	for (int i = 0; i < rounds; i++) {
		nx_random_state = 1992;
		nx_program.solve(size);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	nx_print(bench_cpu() - cpu, rounds);
	MPI_Finalize();
	return 0;
}

#endif
