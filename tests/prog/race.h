/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small situations whose message races are known. Each is a function that all of 4 ranks call; a
 * barrier lies between any two, so that they have nothing to do with each other. With arguments
 * only those named are run, in that order. Rank 0 prints for each what it expects to be found:
 *
 *   NAME pairs P receives R cover C choices X mistakes M
 *
 * P   unordered pairs of messages that race (Netzer and Miller, definition 3.2, and messages from
 *     one process with one communicator that a receive could both take do not overtake)
 * R   receives, posts and probes that could have got another message than they did
 * C   smallest number of messages that cover all pairs: what a minimal trace holds
 * X   Waitany and the like that could have returned another request
 * M   receives that may take another message than the wildcard probe before them found
 *
 * What is expected is right for whatever happened: where it depends on it, the situation says so
 * before it returns.
 */
#ifndef RACE_H
#define RACE_H

#include "outcome.h"

#define RACE_RANKS 4
#define A 1
#define B 2
#define TOKEN 9

struct race_count {
	int pairs, receives, cover, choices, mistakes;
};

#define RACE_NONE                                                                                  \
	{                                                                                          \
		0, 0, 0, 0, 0                                                                      \
	}
#define RACE_ONE                                                                                   \
	{                                                                                          \
		1, 1, 1, 0, 0                                                                      \
	}

struct race_situation {
	const char *name;
	void (*run)(int me);
	struct race_count expected;
};

/* Rank 0 sets it in a situation whose expectation depends on what happened. */
UNUSED static struct race_count race_found;

UNUSED static void race_send(int to, int tag)
{
	int me;

	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	jitter();
	MPI_Send(&me, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
}

/* Returns the source. */
UNUSED static int race_recv(int from, int tag)
{
	MPI_Status status;
	int number;

	MPI_Recv(&number, 1, MPI_INT, from, tag, MPI_COMM_WORLD, &status);
	CHECK(number == status.MPI_SOURCE);
	return number;
}

/* Ranks 1 and 2 send one message each to rank 0. */
UNUSED static void race_two_send(int me)
{
	if (me == 1 || me == 2)
		race_send(0, A);
}

static int race_chosen(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return 1;
	return argc < 2;
}

static void race_run(const struct race_situation *all, int count, int argc, char **argv)
{
	int me, size, ran = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	CHECK(size == RACE_RANKS);
	for (int i = 0; i < count; i++) {
		if (!race_chosen(all[i].name, argc, argv))
			continue;
		ran++;
		race_found = all[i].expected;
		MPI_Barrier(MPI_COMM_WORLD);
		all[i].run(me);
		if (me == 0)
			printf("%s pairs %d receives %d cover %d choices %d mistakes %d\n",
			       all[i].name, race_found.pairs, race_found.receives, race_found.cover,
			       race_found.choices, race_found.mistakes);
	}
	CHECK(ran > 0);
	MPI_Finalize();
}

#endif
