/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diverge FILE: a program that depends on something nobody records, the first word of a file:
 *   same      rank 0 receives 10 messages from anyone
 *   more      rank 0 receives 11: one more than the recorded run
 *   other     rank 0 calls MPI_Probe where the recorded run called MPI_Recv
 *   tag       rank 0 receives with another tag
 *   fewer     rank 0 receives 5 and is done
 *   stuck     rank 0 waits for a message of rank 1 that is never sent
 */
#include "note.h"

#define MESSAGES 10

static void receive(int tag)
{
	struct note note;
	MPI_Status status;

	MPI_Recv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
	note_got(&note, &status);
}

/* What nobody asked for must not be left behind: MPI libraries warn about it. */
static void drain(void)
{
	struct note note;
	int size;

	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int from = 1; from < size; from++) {
		for (int tag = 1; tag <= 2; tag++) {
			while (note_world.seen[from][tag] < MESSAGES + 1) {
				MPI_Recv(&note, NOTE_INTS, MPI_INT, from, tag, MPI_COMM_WORLD,
					 MPI_STATUS_IGNORE);
				note_check_on(&note_world, &note, NULL);
			}
		}
	}
}

static void collect(const char *word)
{
	int messages = MESSAGES;

	if (!strcmp(word, "more"))
		messages++;
	if (!strcmp(word, "fewer"))
		messages = 5;
	for (int i = 0; i < messages; i++) {
		if (i == 7 && !strcmp(word, "other"))
			MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (i == 7 && !strcmp(word, "stuck"))
			MPI_Recv(NULL, 0, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		receive(i == 7 && !strcmp(word, "tag") ? 2 : 1);
	}
}

int main(int argc, char **argv)
{
	char word[16] = "";
	FILE *file;
	int me;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	CHECK(argc > 1);
	file = fopen(argv[1], "r");
	CHECK(file != NULL && fscanf(file, "%15s", word) == 1);
	fclose(file);
	for (int i = 0; i < MESSAGES + 1 && me != 0; i++) {
		note_send(0, 1);
		note_send(0, 2);
	}
	if (me == 0) {
		collect(word);
		drain();
	}
	outcome_print();
	MPI_Finalize();
	return 0;
}
