/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program can see of its messages, whatever rides on them: counts, sizes, probes, errors,
 * and every byte of its buffers. Each rank sends to its right and receives from its left; the last
 * argument of a message's life is its content, which depends on its size and number alone.
 */
#include "outcome.h"

#define BIG (1200 * 1024)
#define GUARD 64

static int me, size, left, right, number;
static unsigned char out[BIG], in[BIG + GUARD];

static unsigned char content(int n, int i)
{
	return (unsigned char)(n * 31 + i * 7 + (i >> 8));
}

static void fill(int n, int bytes)
{
	for (int i = 0; i < bytes; i++)
		out[i] = content(n, i);
	memset(in, 0xee, sizeof(in));
}

/* `bytes` came into a buffer of `room`, and nothing was written behind them. */
static void check(int n, int bytes, int room, const MPI_Status *status)
{
	int count = -1, elements = -1;

	MPI_Get_count(status, MPI_BYTE, &count);
	MPI_Get_elements(status, MPI_BYTE, &elements);
	CHECK(count == bytes && elements == bytes);
	CHECK(status->MPI_SOURCE == left && status->MPI_TAG == 5);
	if (bytes % 4) {
		MPI_Get_count(status, MPI_INT, &count);
		CHECK(count == MPI_UNDEFINED);
	}
	for (int i = 0; i < bytes; i++)
		CHECK(in[i] == content(n, i));
	for (int i = bytes; i < room + GUARD && i < (int)sizeof(in); i++)
		CHECK(in[i] == 0xee);
}

static void send_as(int how, int bytes, MPI_Request *request)
{
	*request = MPI_REQUEST_NULL;
	switch (how) {
	case 0:
		MPI_Isend(out, bytes, MPI_BYTE, right, 5, MPI_COMM_WORLD, request);
		break;
	case 1:
		MPI_Issend(out, bytes, MPI_BYTE, right, 5, MPI_COMM_WORLD, request);
		break;
	case 2:
		MPI_Ibsend(out, bytes, MPI_BYTE, right, 5, MPI_COMM_WORLD, request);
		break;
	case 3:
		MPI_Bsend(out, bytes, MPI_BYTE, right, 5, MPI_COMM_WORLD);
		break;
	default:
		MPI_Send_init(out, bytes, MPI_BYTE, right, 5, MPI_COMM_WORLD, request);
		MPI_Start(request);
	}
}

static void receive_as(int how, int bytes, int room, MPI_Status *status)
{
	MPI_Request request;
	MPI_Message message;
	int flag = 0, count;

	switch (how) {
	case 0:
		MPI_Recv(in, room, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, status);
		return;
	case 1:
		MPI_Probe(left, MPI_ANY_TAG, MPI_COMM_WORLD, status);
		MPI_Get_count(status, MPI_BYTE, &count);
		CHECK(count == bytes);
		MPI_Recv(in, room, MPI_BYTE, left, 5, MPI_COMM_WORLD, status);
		return;
	case 2:
		MPI_Mprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &message, status);
		MPI_Get_count(status, MPI_BYTE, &count);
		CHECK(count == bytes);
		MPI_Mrecv(in, room, MPI_BYTE, &message, status);
		return;
	case 3:
		MPI_Probe(left, 5, MPI_COMM_WORLD, status);
		while (!flag)
			MPI_Improbe(left, 5, MPI_COMM_WORLD, &flag, &message, status);
		MPI_Imrecv(in, room, MPI_BYTE, &message, &request);
		break;
	case 4:
		MPI_Recv_init(in, room, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &request);
		MPI_Start(&request);
		MPI_Wait(&request, status);
		MPI_Request_free(&request);
		return;
	default:
		MPI_Probe(left, 5, MPI_COMM_WORLD, status);
		MPI_Irecv(in, room, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &request);
	}
	while (how == 5 && !flag)
		MPI_Request_get_status(request, &flag, status);
	if (how == 5)
		check(number, bytes, room, status);
	MPI_Wait(&request, status);
}

static void all_ways(void)
{
	static const int sizes[] = {0,    3,    4,    3968, 3969,    4096,    8192,
				    8193, 8448, 8449, 8455, 1048576, 1048577, BIG};
	static const int more[] = {0, 1, 40, 9000};

	for (int s = 0; s < 12; s++) {
		for (int how = 0; how < 30; how++) {
			int bytes = sizes[s], room = bytes + more[how % 4];
			MPI_Status status;
			MPI_Request request;

			if (room > BIG)
				room = BIG;
			fill(++number, bytes);
			send_as(how % 5, bytes, &request);
			receive_as(how % 6, bytes, room, &status);
			check(number, bytes, room, &status);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
			if (request != MPI_REQUEST_NULL)
				MPI_Request_free(&request);
		}
	}
}

/* The buffer has room for just these messages. */
static void attached(void)
{
	enum { N = 7, BYTES = 10 };
	int room = N * (BYTES + MPI_BSEND_OVERHEAD), n = 0;
	void *space = malloc((size_t)room), *back = NULL;
	MPI_Status status;

	MPI_Buffer_attach(space, room);
	MPI_Barrier(MPI_COMM_WORLD);
	fill(++number, BYTES);
	for (int i = 0; i < N; i++)
		MPI_Bsend(out, BYTES, MPI_BYTE, right, 5, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < N; i++) {
		MPI_Recv(in, BYTES, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status);
		check(number, BYTES, BYTES, &status);
	}
	MPI_Buffer_detach(&back, &n);
	CHECK(back == space && n == room);
	free(space);
}

/* Every second int, at absolute addresses; and a receive that ends in the middle of an element. */
static void derived(void)
{
	int from[64], to[64], lengths[2] = {1, 1}, count, elements;
	MPI_Datatype strided, fixed_from, fixed_to, pair;
	MPI_Aint places[2] = {0, 8}, address;
	MPI_Status status;

	MPI_Type_vector(16, 1, 2, MPI_INT, &strided);
	MPI_Type_commit(&strided);
	for (int i = 0; i < 64; i++) {
		from[i] = me * 100 + i;
		to[i] = -1;
	}
	MPI_Sendrecv(from, 2, strided, right, 6, to, 2, strided, left, 6, MPI_COMM_WORLD, &status);
	MPI_Get_count(&status, strided, &count);
	CHECK(count == 2);
	CHECK(to[0] == left * 100 && to[1] == -1 && to[30] == left * 100 + 30 && to[63] == -1);
	MPI_Get_address(from, &address);
	MPI_Type_create_hindexed(1, lengths, &address, strided, &fixed_from);
	MPI_Get_address(to, &address);
	MPI_Type_create_hindexed(1, lengths, &address, strided, &fixed_to);
	MPI_Type_commit(&fixed_from);
	MPI_Type_commit(&fixed_to);
	memset(to, 0xff, sizeof(to));
	MPI_Sendrecv(MPI_BOTTOM, 1, fixed_from, right, 6, MPI_BOTTOM, 1, fixed_to, MPI_ANY_SOURCE,
		     6, MPI_COMM_WORLD, &status);
	CHECK(to[0] == left * 100 && to[1] == -1 && to[30] == left * 100 + 30 && to[32] == -1);
	MPI_Type_create_struct(2, lengths, places, (MPI_Datatype[]){MPI_INT, MPI_INT}, &pair);
	MPI_Type_commit(&pair);
	memset(to, 0xff, sizeof(to));
	MPI_Sendrecv(from, 3, MPI_INT, right, 6, to, 4, pair, left, 6, MPI_COMM_WORLD, &status);
	MPI_Get_count(&status, pair, &count);
	MPI_Get_elements(&status, pair, &elements);
	CHECK(count == MPI_UNDEFINED && elements == 3);
	CHECK(to[0] == left * 100 && to[1] == -1 && to[2] == left * 100 + 1);
	CHECK(to[3] == left * 100 + 2 && to[4] == -1 && to[5] == -1);
	MPI_Type_free(&strided);
	MPI_Type_free(&fixed_from);
	MPI_Type_free(&fixed_to);
	MPI_Type_free(&pair);
}

static void nobody_and_myself(void)
{
	int value = me, got = -1, count = -1;
	MPI_Message message;
	MPI_Status status;
	MPI_Request requests[3];

	MPI_Recv(&got, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
	MPI_Get_count(&status, MPI_INT, &count);
	CHECK(got == -1 && count == 0 && status.MPI_SOURCE == MPI_PROC_NULL);
	MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status);
	MPI_Mrecv(&got, 1, MPI_INT, &message, &status);
	CHECK(got == -1 && status.MPI_SOURCE == MPI_PROC_NULL);
	MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(&got, 1, MPI_INT, me, 2, MPI_COMM_WORLD, &requests[1]);
	MPI_Isend(&value, 1, MPI_INT, me, 2, MPI_COMM_WORLD, &requests[2]);
	MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
	CHECK(got == me);
	value = me + 1000;
	MPI_Sendrecv_replace(&value, 1, MPI_INT, right, 3, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD,
			     &status);
	CHECK(value == left + 1000 && status.MPI_SOURCE == left);
	MPI_Sendrecv_replace(&value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_PROC_NULL, 3, MPI_COMM_WORLD,
			     &status);
	CHECK(value == left + 1000);
	MPI_Isend(&value, 1, MPI_INT, right, 4, MPI_COMM_WORLD, &requests[0]);
	MPI_Request_free(&requests[0]);
	MPI_Recv(&got, 1, MPI_INT, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(got == (left + size - 1) % size + 1000);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* As of the rows of a matrix, more than anybody keeps in mind, each of them twice. */
static void many_places(void)
{
	enum { BYTES = 9001, PLACES = 2520, BATCH = 30 };
	MPI_Request request[2 * BATCH];

	fill(++number, BIG);
	for (int i = 0; i < 2 * PLACES; i += BATCH) {
		for (int k = 0; k < BATCH; k++) {
			MPI_Irecv(in + k * BYTES, BYTES, MPI_BYTE, left, 5, MPI_COMM_WORLD,
				  &request[k]);
			MPI_Isend(out + (i + k) % PLACES, BYTES, MPI_BYTE, right, 5, MPI_COMM_WORLD,
				  &request[BATCH + k]);
		}
		MPI_Waitall(2 * BATCH, request, MPI_STATUSES_IGNORE);
		for (int k = 0; k < BATCH; k++)
			CHECK(!memcmp(out + (i + k) % PLACES, in + k * BYTES, BYTES));
		CHECK(in[BATCH * BYTES] == 0xee);
	}
}

/* A persistent request sends what is in its buffer at each start, and whatever comes is found. */
static void again_and_again(void)
{
	static const int sizes[] = {4, 200, 3000, 3968, 3969, 8448, 8449, 20001};

	for (int s = 0; s < 8; s++) {
		MPI_Request request[2];
		MPI_Status status[2];

		MPI_Recv_init(in, BIG, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &request[0]);
		MPI_Send_init(out, sizes[s], MPI_BYTE, right, 5, MPI_COMM_WORLD, &request[1]);
		for (int i = 0; i < 5; i++) {
			fill(++number, sizes[s]);
			MPI_Startall(2, request);
			MPI_Waitall(2, request, status);
			check(number, sizes[s], sizes[s], &status[0]);
		}
		MPI_Request_free(&request[0]);
		MPI_Request_free(&request[1]);
	}
}

static int class_of(int code)
{
	int class = MPI_SUCCESS;

	if (code != MPI_SUCCESS)
		MPI_Error_class(code, &class);
	return class;
}

/* A receive that was posted for much less than comes. MPICH asks MPI_COMM_WORLD what to do. */
static void cut_posted(MPI_Comm comm)
{
	static const int sizes[] = {9000, 200000};

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		MPI_Request request;

		fill(++number, sizes[i]);
		MPI_Irecv(in, 4, MPI_BYTE, left, 5, comm, &request);
		MPI_Send(out, sizes[i], MPI_BYTE, right, 5, comm);
		CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void errors(void)
{
	static const int sizes[][2] = {{5, 4},       {3990, 3960},   {8200, 8190},
				       {8230, 8192}, {20000, 10000}, {1060000, 1048576},
				       {290000, 4},  {1, 0}};
	MPI_Comm comm;
	int value = 0;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		MPI_Request request;
		int code;

		fill(++number, sizes[i][0]);
		MPI_Isend(out, sizes[i][0], MPI_BYTE, right, 5, comm, &request);
		code = MPI_Recv(in, sizes[i][1], MPI_BYTE, MPI_ANY_SOURCE, 5, comm,
				MPI_STATUS_IGNORE);
		CHECK(class_of(code) == MPI_ERR_TRUNCATE);
		/* Open MPI 4.1 itself writes behind the buffer when a large message is cut. */
		for (int k = sizes[i][1]; sizes[i][0] < 100 && k < sizes[i][1] + GUARD; k++)
			CHECK(in[k] == 0xee);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	cut_posted(comm);
	CHECK(class_of(MPI_Send(&value, 1, MPI_INT, size, 1, comm)) == MPI_ERR_RANK);
	CHECK(class_of(MPI_Send(&value, -1, MPI_INT, 0, 1, comm)) == MPI_ERR_COUNT);
	CHECK(class_of(MPI_Recv(&value, 1, MPI_INT, 0, -7, comm, MPI_STATUS_IGNORE)) ==
	      MPI_ERR_TAG);
	CHECK(class_of(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 1, comm)) == MPI_ERR_TYPE);
	MPI_Comm_free(&comm);
}

/* Handles come again for other communicators. */
static void communicators(void)
{
	for (int i = 0; i < 20; i++) {
		int mine, n, value = me, got = -1;
		MPI_Comm comm;

		MPI_Comm_split(MPI_COMM_WORLD, i % 3 ? me % 2 : 0, i % 2 ? -me : me, &comm);
		MPI_Comm_rank(comm, &mine);
		MPI_Comm_size(comm, &n);
		MPI_Sendrecv(&value, 1, MPI_INT, (mine + 1) % n, 1, &got, 1, MPI_INT,
			     MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE);
		CHECK(got >= 0 && got < size && (n == 1) == (got == me));
		MPI_Comm_free(&comm);
	}
}

int main(int argc, char **argv)
{
	void *space = malloc(4 * BIG), *back;
	int room = 4 * BIG;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	left = (me + size - 1) % size;
	right = (me + 1) % size;
	attached();
	MPI_Buffer_attach(space, room);
	all_ways();
	MPI_Buffer_detach(&back, &room);
	CHECK(back == space && room == 4 * BIG);
	derived();
	many_places();
	again_and_again();
	nobody_and_myself();
	errors();
	communicators();
	outcome(" ok");
	outcome_print();
	MPI_Finalize();
	return 0;
}
