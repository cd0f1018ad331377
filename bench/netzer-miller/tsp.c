/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shortest round trip through random cities, by branch and bound. Node 0 has the beginnings of
 * all trips in a queue and hands them out; a worker tells it of each trip that is shorter than all
 * it knows of, and node 0 tells all other workers. Everybody polls: node 0 for whatever comes,
 * workers for news while they search.
 *
 * Races: requests and trips of different workers at node 0 race. Workers hear from node 0 alone,
 * but when they hear it is chance: how many probes fail before one succeeds decides how much of the
 * tree is searched, and with that the number of messages. The length of the best trip is always the
 * same.
 */
#include <math.h>
#include <sched.h>

#include "nx.h"

#define MOST 24
#define POLL_EVERY 64 /* branches */

enum { REQUEST = 1, TRIP, TASK, NEWS };

/* What a worker is to do: a trip begins at city 0 and goes to `next`, `second`; next 0: nothing. */
struct task {
	int next, second, best;
	long news; /* messages of that type that the worker has been sent so far */
};

static int n, best, distance[MOST][MOST], cheapest[MOST];
static long branches, news;

static void make_cities(void)
{
	int x[MOST], y[MOST];

	for (int i = 0; i < n; i++) {
		x[i] = (int)(nx_random() % 1000);
		y[i] = (int)(nx_random() % 1000);
	}
	for (int i = 0; i < n; i++) {
		cheapest[i] = 10000;
		for (int j = 0; j < n; j++) {
			distance[i][j] = (int)lround(hypot(x[i] - x[j], y[i] - y[j]));
			if (i != j && distance[i][j] < cheapest[i])
				cheapest[i] = distance[i][j];
		}
	}
}

/* A trip that is not bad: always to the nearest city. */
static int greedy(void)
{
	unsigned seen = 1;
	int at = 0, length = 0;

	for (int k = 1; k < n; k++) {
		int to = 0;

		for (int j = 1; j < n; j++)
			if (!(seen >> j & 1) && (!to || distance[at][j] < distance[at][to]))
				to = j;
		length += distance[at][to];
		seen |= 1u << to;
		at = to;
	}
	return length + distance[at][0];
}

static void hear(void)
{
	int length;

	nx_recv(NEWS, &length, sizeof(length));
	news++;
	if (length < best)
		best = length;
}

static void poll_news(void)
{
	int flag = 1;

	if (nx_nodes == 1 || ++branches % POLL_EVERY)
		return;
	while (flag) {
		MPI_Iprobe(MPI_ANY_SOURCE, NEWS, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
		if (flag)
			hear();
	}
}

static void found(int length)
{
	best = length;
	if (nx_nodes > 1)
		nx_send(TRIP, &length, sizeof(length), 0);
}

/* `rest` is the sum of the cheapest ways on from the cities not yet left: no trip can do better. */
static void search(int at, unsigned seen, int depth, int length, int rest)
{
	poll_news();
	if (depth == n) {
		if (length + distance[at][0] < best)
			found(length + distance[at][0]);
		return;
	}
	for (int to = 1; to < n; to++)
		if (!(seen >> to & 1) && length + distance[at][to] + rest - cheapest[at] < best)
			search(to, seen | 1u << to, depth + 1, length + distance[at][to],
			       rest - cheapest[at]);
}

static void search_from(const struct task *task)
{
	int next = task->next, second = task->second, rest = 0;
	int length = distance[0][next] + distance[next][second];

	for (int i = 0; i < n; i++)
		rest += i == 0 || i == next ? 0 : cheapest[i];
	if (length + rest < best)
		search(second, 1u | 1u << next | 1u << second, 3, length, rest);
}

static void worker(void)
{
	struct task task;

	for (;;) {
		nx_send(REQUEST, NULL, 0, 0);
		nx_recv(TASK, &task, sizeof(task));
		if (task.best < best)
			best = task.best;
		if (task.next == 0)
			break;
		search_from(&task);
	}
	while (news < task.news)
		hear();
}

/* The next beginning of a trip, or one with `next` 0 after the last. */
static struct task next_task(int *given)
{
	struct task task = {0, 0, best, 0};

	for (; *given < n * n && task.next == 0; ++*given) {
		int next = *given / n, second = *given % n;

		if (next > 0 && second > 0 && next != second)
			task = (struct task){next, second, best, 0};
	}
	return task;
}

static void tell(int from, const char *stopped, long *told)
{
	int length;

	MPI_Recv(&length, sizeof(length), MPI_BYTE, from, TRIP, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	nx_note(from);
	if (length >= best)
		return;
	best = length;
	for (int node = 1; node < nx_nodes; node++)
		if (node != from && !stopped[node]) {
			nx_send(NEWS, &best, sizeof(best), node);
			told[node]++;
		}
}

static void master(void)
{
	char *stopped = nx_alloc((size_t)nx_nodes, 1);
	long *told = nx_alloc((size_t)nx_nodes, sizeof(*told));
	int given = 0, left = nx_nodes - 1;

	while (left > 0) {
		struct task task;
		MPI_Status status;
		int flag;

		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
		if (!flag) {
			sched_yield();
		} else if (status.MPI_TAG == TRIP) {
			tell(status.MPI_SOURCE, stopped, told);
		} else {
			MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, REQUEST, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
			nx_note(status.MPI_SOURCE);
			task = next_task(&given);
			task.news = told[status.MPI_SOURCE];
			nx_send(TASK, &task, sizeof(task), status.MPI_SOURCE);
			stopped[status.MPI_SOURCE] = task.next == 0;
			left -= task.next == 0;
		}
	}
	free(stopped);
	free(told);
}

static void solve(int size)
{
	n = size;
	if (n < 4 || n > MOST)
		nx_fail("there are 4 to 24 cities");
	make_cities();
	best = greedy() + 1;
	news = 0;
	if (nx_me != 0) {
		worker();
	} else if (nx_nodes > 1) {
		master();
	} else {
		int given = 0;
		struct task task;

		while ((task = next_task(&given)).next)
			search_from(&task);
	}
	if (nx_me == 0)
		nx_result("tsp %d: shortest trip %d", n, best);
}

static const struct nx_program nx_program = {18, solve};
