/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worst case: rank 0 does nothing but 4-byte wildcard receives from all other ranks.
 *
 *   flood N free         messages come as they come
 *   flood N roundrobin   sources take turns
 *   flood N random       the source of each message is drawn by lot
 *
 * In the last two the tag says which message of the sequence it is, and rank 0 asks for tags in
 * sequence from any source: the sequence of sources is what it is called, without a handshake per
 * message. There a sender is at most two windows ahead of rank 0, so that queues stay short.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../bench.h"

#define WINDOW 500
#define TAGS 16384
#define TAG_ACK 20000

static uint32_t lot;

static int next_source(const char *mode, long i, int senders)
{
	if (!strcmp(mode, "roundrobin"))
		return 1 + (int)(i % senders);
	lot = lot * 1664525u + 1013904223u;
	return 1 + (int)((lot >> 16) % (uint32_t)senders);
}

static void receive_free(long n)
{
	unsigned sum = 0, value;

	for (long i = 0; i < n; i++) {
		MPI_Status status;

		MPI_Recv(&value, 1, MPI_UNSIGNED, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
			 &status);
		sum = sum * 31 + value + (unsigned)status.MPI_SOURCE;
	}
	printf("sum %08x\n", sum);
}

static void send_free(long n, unsigned value)
{
	for (long i = 0; i < n; i++)
		MPI_Send(&value, 1, MPI_UNSIGNED, 0, 0, MPI_COMM_WORLD);
}

static void receive_sequence(long n, int senders)
{
	long *got = calloc((size_t)senders + 1, sizeof(*got));
	unsigned sum = 0, value;

	for (long i = 0; i < n; i++) {
		MPI_Status status;

		MPI_Recv(&value, 1, MPI_UNSIGNED, MPI_ANY_SOURCE, (int)(i % TAGS), MPI_COMM_WORLD,
			 &status);
		sum = sum * 31 + value;
		if (++got[status.MPI_SOURCE] % WINDOW == 0)
			MPI_Send(NULL, 0, MPI_BYTE, status.MPI_SOURCE, TAG_ACK, MPI_COMM_WORLD);
	}
	printf("sum %08x\n", sum);
	free(got);
}

static void await_ack(void)
{
	MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send_sequence(long n, const char *mode, int rank, int senders)
{
	unsigned value = (unsigned)rank;
	long sent = 0, acked = 0;

	for (long i = 0; i < n; i++) {
		if (next_source(mode, i, senders) != rank)
			continue;
		MPI_Send(&value, 1, MPI_UNSIGNED, 0, (int)(i % TAGS), MPI_COMM_WORLD);
		if (++sent / WINDOW >= acked + 2) {
			await_ack();
			acked++;
		}
	}
	for (; acked < sent / WINDOW; acked++)
		await_ack();
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 100000;
	const char *mode = argc > 2 ? argv[2] : "free";
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	n -= n % (ranks - 1);
	MPI_Barrier(MPI_COMM_WORLD);
	bench_gate();
	MPI_Barrier(MPI_COMM_WORLD);
	bench_start();
	if (!strcmp(mode, "free")) {
		if (rank == 0)
			receive_free(n);
		else
			send_free(n / (ranks - 1), (unsigned)rank);
	} else {
		if (rank == 0)
			receive_sequence(n, ranks - 1);
		else
			send_sequence(n, mode, rank, ranks - 1);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		bench_result("outcomes", n);
	MPI_Finalize();
	return 0;
}
