/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The message of the test programs: it says who sent it, with which tag, and as which of the
 * sender's messages with that tag to that receiver. note_check compares that with the status and
 * with MPI's rule that messages do not overtake.
 */
#ifndef NOTE_H
#define NOTE_H

#include "outcome.h"

#define NOTE_RANKS 64
#define NOTE_TAGS 32
#define NOTE_INTS 3

struct note {
	int source, tag, number;
};

struct note_book {
	int sent[NOTE_RANKS][NOTE_TAGS];
	int seen[NOTE_RANKS][NOTE_TAGS];
};

static struct note_book note_world;

UNUSED static struct note note_make(struct note_book *book, int me, int to, int tag)
{
	struct note note = {me, tag, book->sent[to][tag]++};

	return note;
}

UNUSED static void note_send_on(struct note_book *book, MPI_Comm comm, int me, int to, int tag)
{
	struct note note = note_make(book, me, to, tag);

	MPI_Send(&note, NOTE_INTS, MPI_INT, to, tag, comm);
}

UNUSED static void note_send(int to, int tag)
{
	int me;

	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	note_send_on(&note_world, MPI_COMM_WORLD, me, to, tag);
}

/* status may be NULL: then only the order is checked. */
UNUSED static void note_check_on(struct note_book *book, const struct note *note,
				 const MPI_Status *status)
{
	CHECK(note->source >= 0 && note->source < NOTE_RANKS);
	CHECK(note->tag >= 0 && note->tag < NOTE_TAGS);
	if (status) {
		int count;

		MPI_Get_count(status, MPI_INT, &count);
		CHECK(status->MPI_SOURCE == note->source);
		CHECK(status->MPI_TAG == note->tag);
		CHECK(count == NOTE_INTS);
	}
	CHECK(note->number == book->seen[note->source][note->tag]++);
}

/* Checks a note of MPI_COMM_WORLD and notes its source as an outcome. */
UNUSED static void note_got(const struct note *note, const MPI_Status *status)
{
	note_check_on(&note_world, note, status);
	outcome(" %d", note->source);
}

#endif
