/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads of rank 0 share data that MPI alone hands over, in several ways: handed_*. Rank 1
 * sends on what comes. Not handed over by it are racy_late, written after the message, and
 * racy_third, of a thread whose message comes too late. With an argument no message is sent, and
 * all of them race. The result is that of each way, in one line.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

int handed_send, handed_posted, handed_polled, handed_ssend, handed_probe, handed_exchange,
	handed_start, handed_round, handed_barrier, handed_reduce, handed_ibarrier, handed_inside;
int racy_late, racy_third;

static int rank, token, gone, got, all;
static MPI_Comm one, other;

#define TO(to, tag) MPI_Send(&token, 1, MPI_INT, to, tag, MPI_COMM_WORLD)
#define FROM(from, tag, into)                                                                      \
	MPI_Recv(&into, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE)

static void give_send(void)
{
	TO(0, 1);
}

static void take_send(void)
{
	FROM(0, 1, got);
}

static void give_posted(void)
{
	MPI_Request request;

	MPI_Isend(&token, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void take_posted(void)
{
	MPI_Request request;

	MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void take_polled(void)
{
	MPI_Request request;
	int done = 0;

	MPI_Irecv(&got, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
	while (!done)
		MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

/* Whoever has sent synchronously knows that the receive had begun. */
static void give_ssend(void)
{
	FROM(0, 3, gone);
}

static void take_ssend(void)
{
	MPI_Ssend(&token, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
}

static void take_probe(void)
{
	MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void give_exchange(void)
{
	MPI_Sendrecv(&token, 1, MPI_INT, 0, 4, &gone, 1, MPI_INT, 0, 5, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
}

static void take_exchange(void)
{
	MPI_Sendrecv(&token, 1, MPI_INT, 0, 5, &got, 1, MPI_INT, 0, 4, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
}

static void take_start(void)
{
	MPI_Request request;
	int index;

	MPI_Recv_init(&got, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
	MPI_Start(&request);
	MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
	MPI_Request_free(&request);
}

static void give_round(void)
{
	TO(1, 6);
}

static void take_round(void)
{
	FROM(1, 7, got);
}

static void give_barrier(void)
{
	MPI_Barrier(one);
}

static void take_barrier(void)
{
	MPI_Barrier(other);
}

static void give_reduce(void)
{
	MPI_Reduce(&token, &all, 1, MPI_INT, MPI_SUM, 1, one);
}

static void take_reduce(void)
{
	MPI_Bcast(&got, 1, MPI_INT, 1, other);
}

static void give_ibarrier(void)
{
	MPI_Request request;

	MPI_Ibarrier(one, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void take_ibarrier(void)
{
	MPI_Request request;

	MPI_Ibarrier(other, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void *receive(void *p)
{
	FROM(0, 6, gone);
	return p;
}

/* What rank 1 does meanwhile. */
static void pass_on(void)
{
	receive(NULL);
	TO(0, 7);
}

static void pass_barrier(void)
{
	MPI_Barrier(one);
	MPI_Barrier(other);
}

static void pass_reduce(void)
{
	MPI_Reduce(&token, &all, 1, MPI_INT, MPI_SUM, 1, one);
	MPI_Bcast(&all, 1, MPI_INT, 1, other);
}

static void pass_ibarrier(void)
{
	give_ibarrier();
	take_ibarrier();
}

/* It goes from thread to thread. */
static void pass_inside(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, receive, NULL);
	pthread_join(thread, NULL);
	TO(0, 7);
}

/* Each in a line of its own: races are told by lines. */
#define TOUCH(name)                                                                                \
	static void touch_##name(void)                                                             \
	{                                                                                          \
		handed_##name++;                                                                   \
	}
TOUCH(send)
TOUCH(posted)
TOUCH(polled)
TOUCH(ssend)
TOUCH(exchange)
TOUCH(start)
TOUCH(probe)
TOUCH(round)
TOUCH(barrier)
TOUCH(reduce)
TOUCH(ibarrier)
TOUCH(inside)

static const struct way {
	void (*touch)(void);
	const int *data;
	void (*give)(void), (*take)(void), (*pass)(void);
} ways[] = {
	{touch_send, &handed_send, give_send, take_send, NULL},
	{touch_posted, &handed_posted, give_posted, take_posted, NULL},
	{touch_polled, &handed_polled, give_send, take_polled, NULL},
	{touch_ssend, &handed_ssend, give_ssend, take_ssend, NULL},
	{touch_exchange, &handed_exchange, give_exchange, take_exchange, NULL},
	{touch_start, &handed_start, give_send, take_start, NULL},
	{touch_probe, &handed_probe, give_send, take_probe, NULL},
	{touch_round, &handed_round, give_round, take_round, pass_on},
	{touch_barrier, &handed_barrier, give_barrier, take_barrier, pass_barrier},
	{touch_reduce, &handed_reduce, give_reduce, take_reduce, pass_reduce},
	{touch_ibarrier, &handed_ibarrier, give_ibarrier, take_ibarrier, pass_ibarrier},
	{touch_inside, &handed_inside, give_round, take_round, pass_inside},
};

static int silent;

static void *giver(void *p)
{
	const struct way *way = p;

	way->touch();
	if (!silent)
		way->give();
	return NULL;
}

static void *taker(void *p)
{
	const struct way *way = p;

	if (!silent)
		way->take();
	way->touch();
	return NULL;
}

static void run(void *(*first)(void *), void *(*second)(void *), const struct way *way)
{
	pthread_t a, b;

	pthread_create(&a, NULL, first, (void *)way);
	pthread_create(&b, NULL, second, (void *)way);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

static void *late_giver(void *p)
{
	give_round();
	racy_late = 1;
	return p;
}

static void *late_taker(void *p)
{
	take_round();
	racy_late = 2;
	TO(1, 8);
	return p;
}

static void *third(void *p)
{
	racy_third = 1;
	TO(1, 9);
	return p;
}

static void *sender(void *p)
{
	give_round();
	return p;
}

/* Rank 1 hears of the third thread once the taker has its message. */
static void *third_taker(void *p)
{
	pthread_t a;

	pthread_create(&a, NULL, sender, NULL);
	take_round();
	racy_third = 2;
	TO(1, 8);
	pthread_join(a, NULL);
	return p;
}

static void races(void)
{
	if (rank == 0) {
		run(late_giver, late_taker, NULL);
		run(third, third_taker, NULL);
		return;
	}
	pass_on();
	FROM(0, 8, gone);
	pass_on();
	FROM(0, 8, gone);
	FROM(0, 9, gone);
}

int main(int argc, char **argv)
{
	int provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_dup(MPI_COMM_WORLD, &one);
	MPI_Comm_dup(MPI_COMM_WORLD, &other);
	silent = argc > 1;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const struct way *way = &ways[i];

		if (rank == 0) {
			run(giver, taker, way);
			if (way->take == take_probe && !silent)
				FROM(0, 1, got);
			printf("%d ", *way->data);
		} else if (way->pass && !silent) {
			way->pass();
		}
	}
	races();
	if (rank == 0)
		printf("\n");
	MPI_Finalize();
	return provided != MPI_THREAD_MULTIPLE;
}
