/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which messages race where receives are posted, probed for, or completed in any order. The
 * receiver is rank 0; where nothing else is said ranks 1 and 2 send one message each.
 */
#include "race.h"

static MPI_Request post(int from, int tag, int *number)
{
	MPI_Request request;

	MPI_Irecv(number, 1, MPI_INT, from, tag, MPI_COMM_WORLD, &request);
	return request;
}

static int wait_for(MPI_Request *request)
{
	MPI_Status status;

	MPI_Wait(request, &status);
	return status.MPI_SOURCE;
}

/* The message goes to the post, not to the wait: the first post could have got either. */
static void posts(int me)
{
	MPI_Request requests[2];
	int number[2];

	race_two_send(me);
	if (me != 0)
		return;
	requests[0] = post(MPI_ANY_SOURCE, A, &number[0]);
	requests[1] = post(MPI_ANY_SOURCE, A, &number[1]);
	wait_for(&requests[1]);
	wait_for(&requests[0]);
	CHECK(number[0] + number[1] == 3);
}

/* Rank 2 sends when rank 0 has posted: that is too early to be ordered after the receive. */
static void told_after_post(int me)
{
	MPI_Request request;
	int number;

	if (me == 1)
		race_send(0, A);
	if (me == 2) {
		race_recv(0, TOKEN);
		race_send(0, A);
	}
	if (me == 0) {
		request = post(MPI_ANY_SOURCE, A, &number);
		race_send(2, TOKEN);
		wait_for(&request);
		race_recv(MPI_ANY_SOURCE, A);
	}
}

static void told_after_wait(int me)
{
	MPI_Request request;
	int number;

	if (me == 1)
		race_send(0, A);
	if (me == 2) {
		race_recv(0, TOKEN);
		race_send(0, A);
	}
	if (me == 0) {
		request = post(MPI_ANY_SOURCE, A, &number);
		wait_for(&request);
		race_send(2, TOKEN);
		race_recv(MPI_ANY_SOURCE, A);
	}
}

/*
 * A post for tag A that is waited for last, and receives of tag B before: only what A takes races.
 * The post could have got the message with tag A of rank 1 or of rank 2.
 */
static void post_around(int me)
{
	MPI_Request request;
	int number;

	race_two_send(me);
	if (me == 3)
		race_send(0, B);
	if (me == 0) {
		request = post(MPI_ANY_SOURCE, A, &number);
		race_recv(MPI_ANY_SOURCE, B);
		race_recv(3 - wait_for(&request), A);
	}
}

/* A wildcard that is cancelled takes nothing: nothing races with it. */
static void cancelled(int me)
{
	MPI_Request request;
	int number;

	if (me == 0) {
		request = post(MPI_ANY_SOURCE, B, &number);
		MPI_Cancel(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (me == 1)
		race_send(0, A);
	if (me == 0)
		race_recv(MPI_ANY_SOURCE, A);
}

/* Each start of a persistent receive is a post. */
static void persistent(int me)
{
	MPI_Request request;
	int number;

	race_two_send(me);
	if (me != 0)
		return;
	MPI_Recv_init(&number, 1, MPI_INT, MPI_ANY_SOURCE, A, MPI_COMM_WORLD, &request);
	for (int i = 0; i < 2; i++) {
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	MPI_Request_free(&request);
}

static void sendrecv(int me)
{
	int number;

	race_two_send(me);
	if (me == 3)
		race_recv(0, TOKEN);
	if (me == 0) {
		MPI_Sendrecv(&me, 1, MPI_INT, 3, TOKEN, &number, 1, MPI_INT, MPI_ANY_SOURCE, A,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		race_recv(MPI_ANY_SOURCE, A);
	}
}

/* The probe is the choice; the receive takes what it found. */
static void probe_right(int me)
{
	MPI_Status status;

	race_two_send(me);
	for (int i = 0; i < 2 && me == 0; i++) {
		MPI_Probe(MPI_ANY_SOURCE, A, MPI_COMM_WORLD, &status);
		race_recv(status.MPI_SOURCE, A);
	}
}

/* The receive is a second choice: it may take another message than the one that was found. */
static void probe_wrong(int me)
{
	MPI_Status status;

	race_two_send(me);
	for (int i = 0; i < 2 && me == 0; i++) {
		MPI_Probe(MPI_ANY_SOURCE, A, MPI_COMM_WORLD, &status);
		race_recv(MPI_ANY_SOURCE, A);
	}
}

/* Written like the mistake, but there is one message only. */
static void probe_alone(int me)
{
	MPI_Status status;

	if (me == 1)
		race_send(0, A);
	if (me == 0) {
		MPI_Probe(MPI_ANY_SOURCE, A, MPI_COMM_WORLD, &status);
		race_recv(MPI_ANY_SOURCE, A);
	}
}

/* Rank 2 sends when rank 0 has probed: the probe could not have found it, the receive could take
 * it. */
static void probe_then_told(int me)
{
	MPI_Status status;

	if (me == 1)
		race_send(0, A);
	if (me == 2) {
		race_recv(0, TOKEN);
		race_send(0, A);
	}
	if (me == 0) {
		MPI_Probe(MPI_ANY_SOURCE, A, MPI_COMM_WORLD, &status);
		race_send(2, TOKEN);
		race_recv(MPI_ANY_SOURCE, A);
		race_recv(MPI_ANY_SOURCE, A);
	}
}

static void mprobe(int me)
{
	MPI_Message message;
	int number;

	race_two_send(me);
	for (int i = 0; i < 2 && me == 0; i++) {
		MPI_Mprobe(MPI_ANY_SOURCE, A, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
		MPI_Mrecv(&number, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
	}
}

static void iprobe(int me)
{
	MPI_Status status;
	int flag;

	race_two_send(me);
	for (int i = 0; i < 2 && me == 0; i++) {
		do
			MPI_Iprobe(MPI_ANY_SOURCE, A, MPI_COMM_WORLD, &flag, &status);
		while (!flag);
		race_recv(status.MPI_SOURCE, A);
	}
}

static void waitany(int first, int second, int other_tag)
{
	MPI_Request requests[2];
	int number[2], index;

	requests[0] = post(first, A, &number[0]);
	requests[1] = post(second, other_tag, &number[1]);
	for (int i = 0; i < 2; i++)
		MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
	CHECK(number[0] + number[1] == 3);
}

/* Sources are given: which of the two comes first is a choice, but no message could go elsewhere.
 */
static void waitany_fixed(int me)
{
	race_two_send(me);
	if (me == 0)
		waitany(1, 2, A);
}

/* The same with wildcards and tags that differ. */
static void waitany_tags(int me)
{
	if (me == 1 || me == 2)
		race_send(0, me == 1 ? A : B);
	if (me == 0)
		waitany(MPI_ANY_SOURCE, MPI_ANY_SOURCE, B);
}

/* Both: who gets which message, and which is seen first. */
static void waitany_any(int me)
{
	race_two_send(me);
	if (me == 0)
		waitany(MPI_ANY_SOURCE, MPI_ANY_SOURCE, A);
}

/* The second post could take what the first did not want: a race at the wildcard alone. */
static void waitany_mixed(int me)
{
	MPI_Request requests[2];
	int number[2], index;

	if (me == 1 || me == 2)
		race_send(0, A);
	if (me == 3)
		race_send(0, A);
	if (me != 0)
		return;
	requests[0] = post(1, A, &number[0]);
	requests[1] = post(MPI_ANY_SOURCE, A, &number[1]);
	for (int i = 0; i < 2; i++)
		MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
	race_recv(MPI_ANY_SOURCE, A);
	CHECK(number[0] == 1 && number[1] != 1);
}

static const struct race_situation situations[] = {
	{"posts", posts, RACE_ONE},
	{"told-after-post", told_after_post, RACE_ONE},
	{"told-after-wait", told_after_wait, RACE_NONE},
	{"post-around", post_around, RACE_ONE},
	{"cancelled", cancelled, RACE_NONE},
	{"persistent", persistent, RACE_ONE},
	{"sendrecv", sendrecv, RACE_ONE},
	{"probe-right", probe_right, RACE_ONE},
	{"probe-wrong", probe_wrong, {1, 2, 1, 0, 1}},
	{"probe-alone", probe_alone, RACE_NONE},
	{"probe-then-told", probe_then_told, {1, 1, 1, 0, 1}},
	{"mprobe", mprobe, RACE_ONE},
	{"iprobe", iprobe, RACE_ONE},
	{"waitany-fixed", waitany_fixed, {0, 0, 0, 1, 0}},
	{"waitany-tags", waitany_tags, {0, 0, 0, 1, 0}},
	{"waitany-any", waitany_any, {1, 1, 1, 1, 0}},
	{"waitany-mixed", waitany_mixed, {1, 1, 1, 1, 0}},
};

int main(int argc, char **argv)
{
	race_run(situations, sizeof(situations) / sizeof(situations[0]), argc, argv);
	return 0;
}
