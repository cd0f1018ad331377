/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every way to send, of bytes, of a derived type and from MPI_BOTTOM, in sizes from nothing on, to
 * the neighbour and to oneself: the receiver finds by probes, statuses and its buffer what was sent
 * and nothing else. And messages that are too long for their receive, by every way to receive.
 */
#include <stdbool.h>

#include "outcome.h"

#define MOST 9000
#define TAG 9

enum { PLAIN, STRIDED, ABSOLUTE, LAYOUTS };

/* To send, as begin() has them. */
#define WAYS 12
#define FIRST_PERSISTENT 8

static int me, size, number;
static unsigned char out[2 * MOST + 64], in[2 * MOST + 64];

/* `count` bytes in a buffer: one by one, every second one, or the same at absolute addresses. */
struct layout {
	int kind, step;
	MPI_Datatype type;
	int count;
	unsigned char *at;
};

static struct layout layout_new(int kind, unsigned char *buffer, int count)
{
	struct layout l = {kind, kind == PLAIN ? 1 : 2, MPI_BYTE, count, buffer};
	MPI_Datatype strided;
	MPI_Aint address;
	int one = 1;

	if (kind == PLAIN)
		return l;
	MPI_Type_vector(count, 1, 2, MPI_BYTE, &strided);
	l.count = 1;
	l.type = strided;
	if (kind == ABSOLUTE) {
		MPI_Get_address(buffer, &address);
		MPI_Type_create_hindexed(1, &one, &address, strided, &l.type);
		MPI_Type_free(&strided);
		l.at = MPI_BOTTOM;
	}
	MPI_Type_commit(&l.type);
	return l;
}

static void layout_free(struct layout *l)
{
	if (l->kind != PLAIN)
		MPI_Type_free(&l->type);
}

static unsigned char content(int n, int i)
{
	return (unsigned char)(n * 31 + i * 7 + (i >> 8));
}

static void fill(const struct layout *l, int bytes)
{
	number++;
	for (int i = 0; i < bytes; i++)
		out[i * l->step] = content(number, i);
	memset(in, 0xee, sizeof(in));
}

static void check(const struct layout *l, int bytes, int from, const MPI_Status *status)
{
	int elements = -1, count = -1;

	MPI_Get_elements(status, l->type, &elements);
	CHECK(elements == bytes);
	MPI_Get_count(status, MPI_BYTE, &count);
	CHECK(count == bytes);
	CHECK(status->MPI_SOURCE == from && status->MPI_TAG == TAG);
	for (int i = 0; i < (int)sizeof(in); i++) {
		bool ours = i % l->step == 0 && i / l->step < bytes;

		CHECK(in[i] == (ours ? content(number, i / l->step) : 0xee));
	}
}

static void begin(int way, const struct layout *l, int to, MPI_Request *request)
{
	static int (*const blocking[])(const void *, int, MPI_Datatype, int, int,
				       MPI_Comm) = {MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Bsend};
	static int (*const others[])(const void *, int, MPI_Datatype, int, int, MPI_Comm,
				     MPI_Request *) = {
		MPI_Isend,     MPI_Issend,     MPI_Irsend,     MPI_Ibsend,
		MPI_Send_init, MPI_Ssend_init, MPI_Rsend_init, MPI_Bsend_init};

	*request = MPI_REQUEST_NULL;
	if (way < 4)
		blocking[way](l->at, l->count, l->type, to, TAG, MPI_COMM_WORLD);
	else
		others[way - 4](l->at, l->count, l->type, to, TAG, MPI_COMM_WORLD, request);
}

/* The receive is there before the message, as a ready send asks for. */
static void one_way(int way, int kind, int bytes, int to, int from)
{
	struct layout source = layout_new(kind, out, bytes), target = layout_new(kind, in, bytes);
	MPI_Request receive, send = MPI_REQUEST_NULL;
	MPI_Status status;

	for (int again = 0; again < (way < FIRST_PERSISTENT ? 1 : 2); again++) {
		fill(&source, bytes);
		MPI_Irecv(target.at, target.count, target.type, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD,
			  &receive);
		MPI_Barrier(MPI_COMM_WORLD);
		if (!again)
			begin(way, &source, to, &send);
		if (way >= FIRST_PERSISTENT)
			MPI_Start(&send);
		MPI_Wait(&receive, &status);
		check(&target, bytes, from, &status);
		MPI_Wait(&send, MPI_STATUS_IGNORE);
	}
	if (send != MPI_REQUEST_NULL)
		MPI_Request_free(&send);
	layout_free(&source);
	layout_free(&target);
}

/* The message is there before the receive, and is looked at first. */
static void probed(int kind, int bytes, int to, int from)
{
	struct layout source = layout_new(kind, out, bytes), target = layout_new(kind, in, bytes);
	MPI_Request send;
	MPI_Message message;
	MPI_Status status;
	int flag = 0;

	fill(&source, bytes);
	MPI_Isend(source.at, source.count, source.type, to, TAG, MPI_COMM_WORLD, &send);
	while (!flag)
		MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &flag, &status);
	MPI_Get_elements(&status, target.type, &flag);
	CHECK(flag == bytes && status.MPI_SOURCE == from);
	MPI_Mprobe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
	MPI_Get_elements(&status, target.type, &flag);
	CHECK(flag == bytes && status.MPI_TAG == TAG);
	MPI_Mrecv(target.at, target.count, target.type, &message, &status);
	check(&target, bytes, from, &status);
	MPI_Wait(&send, MPI_STATUS_IGNORE);
	layout_free(&source);
	layout_free(&target);
}

static void exchanged(int kind, int bytes, int to, int from)
{
	struct layout source = layout_new(kind, out, bytes), target = layout_new(kind, in, bytes);
	MPI_Status status;

	fill(&source, bytes);
	MPI_Sendrecv(source.at, source.count, source.type, to, TAG, target.at, target.count,
		     target.type, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
	check(&target, bytes, from, &status);
	memset(in, 0xee, sizeof(in));
	for (int i = 0; i < bytes; i++)
		in[i * source.step] = out[i * source.step];
	MPI_Sendrecv_replace(target.at, target.count, target.type, to, TAG, MPI_ANY_SOURCE, TAG,
			     MPI_COMM_WORLD, &status);
	check(&target, bytes, from, &status);
	layout_free(&source);
	layout_free(&target);
}

static void all_ways(int to, int from)
{
	static const int sizes[] = {0, 1, 300, 5000, MOST};

	for (int s = 0; s < 5; s++) {
		for (int kind = 0; kind < LAYOUTS; kind++) {
			/* Of long ones by Bsend_init Open MPI 4.1 itself sends something else. */
			for (int way = 0; way < (sizes[s] > 300 ? WAYS - 1 : WAYS); way++)
				one_way(way, kind, sizes[s], to, from);
			probed(kind, sizes[s], to, from);
			exchanged(kind, sizes[s], to, from);
		}
	}
}

static int class_of(int code)
{
	int class = MPI_SUCCESS;

	if (code != MPI_SUCCESS)
		MPI_Error_class(code, &class);
	return class;
}

/* Ten bytes, or many, for a receive of four or of none. */
static void too_long(int right, int left)
{
	static const int sizes[] = {10, MOST};
	MPI_Comm comm = MPI_COMM_WORLD;

	for (int i = 0; i < 12; i++) {
		int bytes = sizes[i % 2], room = i % 4 < 2 ? 4 : 0, code = MPI_SUCCESS;
		MPI_Request send, receive = MPI_REQUEST_NULL;
		MPI_Message message;

		MPI_Isend(out, bytes, MPI_BYTE, right, TAG, comm, &send);
		if (i / 4 == 0) {
			MPI_Mprobe(left, TAG, comm, &message, MPI_STATUS_IGNORE);
			code = MPI_Mrecv(in, room, MPI_BYTE, &message, MPI_STATUS_IGNORE);
		} else if (i / 4 == 1) {
			MPI_Recv_init(in, room, MPI_BYTE, MPI_ANY_SOURCE, TAG, comm, &receive);
			MPI_Start(&receive);
			code = MPI_Wait(&receive, MPI_STATUS_IGNORE);
			MPI_Request_free(&receive);
		} else {
			code = MPI_Sendrecv(out, 0, MPI_BYTE, right, TAG + 1, in, room, MPI_BYTE,
					    MPI_ANY_SOURCE, TAG, comm, MPI_STATUS_IGNORE);
			MPI_Recv(in, 0, MPI_BYTE, left, TAG + 1, comm, MPI_STATUS_IGNORE);
		}
		CHECK(class_of(code) == MPI_ERR_TRUNCATE);
		MPI_Wait(&send, MPI_STATUS_IGNORE);
	}
}

int main(int argc, char **argv)
{
	int room = 40 * MOST;
	void *space = malloc((size_t)room), *back;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Buffer_attach(space, room);
	all_ways((me + 1) % size, (me + size - 1) % size);
	MPI_Barrier(MPI_COMM_WORLD);
	all_ways(me, me);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Buffer_detach(&back, &room);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	too_long((me + 1) % size, (me + size - 1) % size);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	outcome(" %d messages", number);
	outcome_print();
	MPI_Finalize();
	free(space);
	return 0;
}
