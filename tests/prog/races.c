/* SPDX-License-Identifier: Apache-2.0 */
/* Small patterns of three ranks whose races are known. races PATTERN; rank 0 receives. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;
static int sum;

static void send_to(int to, int tag)
{
	int value = 10 * rank + tag;

	MPI_Send(&value, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
}

static void receive(int from, int tag)
{
	int value;

	MPI_Recv(&value, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	sum += value;
}

static void probe_and_receive(int source_of_probe)
{
	MPI_Status status;

	MPI_Probe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
	receive(source_of_probe ? status.MPI_SOURCE : MPI_ANY_SOURCE, 0);
}

static void fixed(void)
{
	if (rank) {
		send_to(0, 0);
		return;
	}
	receive(1, 0);
	receive(2, 0);
}

static void two(void)
{
	if (rank) {
		send_to(0, 0);
		return;
	}
	receive(MPI_ANY_SOURCE, 0);
	receive(MPI_ANY_SOURCE, 0);
}

static void any_tag(void)
{
	if (rank) {
		send_to(0, rank);
		return;
	}
	receive(MPI_ANY_SOURCE, MPI_ANY_TAG);
	receive(MPI_ANY_SOURCE, MPI_ANY_TAG);
}

static void by_tag(void)
{
	if (rank) {
		send_to(0, rank);
		return;
	}
	receive(MPI_ANY_SOURCE, 1);
	receive(MPI_ANY_SOURCE, 2);
}

/* Rank 2 sends only after something that may or may not depend on the first receive. */
static void between(void (*sync)(void))
{
	if (rank == 1)
		send_to(0, 0);
	if (rank == 0)
		receive(MPI_ANY_SOURCE, 0);
	sync();
	if (rank == 2)
		send_to(0, 0);
	if (rank == 0)
		receive(MPI_ANY_SOURCE, 0);
}

static void barrier(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(int root)
{
	int value = 1;

	MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
}

static void bcast_from_0(void)
{
	bcast(0);
}

static void bcast_from_1(void)
{
	bcast(1);
}

static void reduce_to_2(void)
{
	int in = 1, out;

	MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, 2, MPI_COMM_WORLD);
}

static void reduce_to_0(void)
{
	int in = 1, out;

	MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void token(void)
{
	if (rank == 0)
		send_to(2, 5);
	if (rank == 2)
		receive(0, 5);
}

static void scan(void)
{
	int in = 1, out;

	MPI_Scan(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void posted(void)
{
	int value[2];
	MPI_Request request[2];

	if (rank) {
		send_to(0, 0);
		return;
	}
	for (int i = 0; i < 2; i++)
		MPI_Irecv(&value[i], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request[i]);
	MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
	sum = value[0] + value[1];
}

static void wait_any(void)
{
	int value[2], index;
	MPI_Request request[2];

	if (rank) {
		send_to(0, 0);
		return;
	}
	for (int i = 0; i < 2; i++)
		MPI_Irecv(&value[i], 1, MPI_INT, i + 1, 0, MPI_COMM_WORLD, &request[i]);
	for (int i = 0; i < 2; i++) {
		MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE);
		sum += value[index];
	}
}

/* Both messages are there; yet one of them alone could have been. */
static void wait_some(void)
{
	int value[2], indices[2], n;
	MPI_Request request[2];

	if (rank) {
		send_to(0, 0);
		MPI_Barrier(MPI_COMM_WORLD);
		return;
	}
	for (int i = 0; i < 2; i++)
		MPI_Irecv(&value[i], 1, MPI_INT, i + 1, 0, MPI_COMM_WORLD, &request[i]);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int left = 2; left; left -= n) {
		MPI_Waitsome(2, request, &n, indices, MPI_STATUSES_IGNORE);
		for (int i = 0; i < n; i++)
			sum += value[indices[i]];
	}
}

static void probe(int use_source)
{
	if (rank) {
		send_to(0, 0);
		return;
	}
	probe_and_receive(use_source);
	probe_and_receive(use_source);
}

static void matched(void)
{
	MPI_Message message;
	int value;

	if (rank) {
		send_to(0, 0);
		return;
	}
	for (int i = 0; i < 2; i++) {
		MPI_Mprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
		MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
		sum += value;
	}
}

static void poll(void)
{
	int value, flag = 0;
	MPI_Request request;

	if (rank == 1)
		send_to(0, 0);
	if (rank)
		return;
	MPI_Irecv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
	while (!flag)
		MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
	sum = value;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size != 3)
		MPI_Abort(MPI_COMM_WORLD, 2);
	if (!strcmp(what, "fixed"))
		fixed();
	else if (!strcmp(what, "two"))
		two();
	else if (!strcmp(what, "any-tag"))
		any_tag();
	else if (!strcmp(what, "by-tag"))
		by_tag();
	else if (!strcmp(what, "barrier"))
		between(barrier);
	else if (!strcmp(what, "bcast-from-0"))
		between(bcast_from_0);
	else if (!strcmp(what, "bcast-from-1"))
		between(bcast_from_1);
	else if (!strcmp(what, "reduce-to-2"))
		between(reduce_to_2);
	else if (!strcmp(what, "reduce-to-0"))
		between(reduce_to_0);
	else if (!strcmp(what, "token"))
		between(token);
	else if (!strcmp(what, "scan"))
		between(scan);
	else if (!strcmp(what, "posted"))
		posted();
	else if (!strcmp(what, "waitany"))
		wait_any();
	else if (!strcmp(what, "waitsome"))
		wait_some();
	else if (!strcmp(what, "probe"))
		probe(0);
	else if (!strcmp(what, "probe-source"))
		probe(1);
	else if (!strcmp(what, "matched"))
		matched();
	else if (!strcmp(what, "poll"))
		poll();
	else
		MPI_Abort(MPI_COMM_WORLD, 3);
	if (rank == 0)
		printf("%s %d\n", what, sum);
	MPI_Finalize();
	return 0;
}
