/* SPDX-License-Identifier: Apache-2.0 */
/*
 * soup ITERATIONS SEED: everything at once. In each iteration each rank sends a number of messages
 * that depends on the seed alone to ranks that depend on the seed alone, by a send that depends on
 * the seed alone; it computes how many will come to it and receives them in ways drawn from the
 * seed: every wildcard receive, probe, and completion there is. Sends are completed every WINDOW
 * iterations, when everything sent has been received: before that a rank may have taken a later
 * message in place of an earlier one. Prints a hash per rank over all it learned: sources, tags,
 * indices, numbers of unsuccessful polls.
 */
#include "note.h"

#define BATCH 5
#define TAGS 4
#define WINDOW 8
#define MOST 8

static int me, size;
static uint64_t hash = 0xcbf29ce484222325ull;

static void learn(uint64_t value)
{
	hash = (hash ^ value) * 0x100000001b3ull;
	hash ^= hash >> 29;
}

static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static void learn_note(const struct note *note, const MPI_Status *status)
{
	CHECK(note->source == status->MPI_SOURCE && note->tag == status->MPI_TAG);
	learn((uint64_t)note->source << 8 | (uint64_t)note->tag);
	learn((uint64_t)note->number);
}

/* What rank `from` sends in one iteration: the same for all who ask. */
struct plan {
	int n, to[MOST], tag[MOST], kind[MOST];
};

static struct plan make_plan(uint64_t seed, int iteration, int from)
{
	uint64_t state = seed * 1000003 + (uint64_t)iteration * 64 + (uint64_t)from;
	struct plan plan;

	plan.n = (int)(draw(&state) % MOST);
	for (int i = 0; i < plan.n; i++) {
		plan.to[i] = (int)(draw(&state) % (uint64_t)size);
		plan.tag[i] = (int)(draw(&state) % TAGS);
		plan.kind[i] = (int)(draw(&state) % 3);
	}
	return plan;
}

static struct note outgoing[WINDOW * MOST];
static MPI_Request sends[WINDOW * MOST];
static int sent;

static void send_planned(uint64_t seed, int iteration)
{
	struct plan plan = make_plan(seed, iteration, me);

	for (int i = 0; i < plan.n; i++) {
		struct note *note = &outgoing[sent];
		int to = plan.to[i], tag = plan.tag[i];

		*note = note_make(&note_world, me, to, tag);
		jitter();
		if (plan.kind[i] == 0)
			MPI_Isend(note, NOTE_INTS, MPI_INT, to, tag, MPI_COMM_WORLD, &sends[sent]);
		else if (plan.kind[i] == 1)
			MPI_Issend(note, NOTE_INTS, MPI_INT, to, tag, MPI_COMM_WORLD, &sends[sent]);
		else
			MPI_Ibsend(note, NOTE_INTS, MPI_INT, to, tag, MPI_COMM_WORLD, &sends[sent]);
		sent++;
	}
}

static int expected(uint64_t seed, int iteration)
{
	int n = 0;

	for (int from = 0; from < size; from++) {
		struct plan plan = make_plan(seed, iteration, from);

		for (int i = 0; i < plan.n; i++)
			n += plan.to[i] == me;
	}
	return n;
}

static void receive_one(uint64_t how)
{
	int flag = 0, misses = 0;
	struct note note;
	MPI_Status status;
	MPI_Message message;
	MPI_Comm w = MPI_COMM_WORLD;

	switch (how % 6) {
	case 0:
		MPI_Recv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, w, &status);
		break;
	case 1:
		MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, w, &status);
		MPI_Recv(&note, NOTE_INTS, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, w, &status);
		break;
	case 2:
		for (; !flag; misses++)
			MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, w, &flag, &status);
		MPI_Recv(&note, NOTE_INTS, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, w, &status);
		break;
	case 3:
		MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, w, &message, &status);
		MPI_Mrecv(&note, NOTE_INTS, MPI_INT, &message, &status);
		break;
	case 4:
		for (; !flag; misses++)
			MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, w, &flag, &message, &status);
		MPI_Mrecv(&note, NOTE_INTS, MPI_INT, &message, &status);
		break;
	default:
		MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, &note, NOTE_INTS, MPI_INT,
			     MPI_ANY_SOURCE, MPI_ANY_TAG, w, &status);
	}
	learn((uint64_t)misses);
	learn_note(&note, &status);
}

static int finish_some(uint64_t how, int n, MPI_Request *requests, int *indices,
		       MPI_Status *statuses)
{
	int done = 0, flag = 0;

	switch (how % 5) {
	case 0:
		MPI_Waitany(n, requests, &indices[0], &statuses[0]);
		return 1;
	case 1:
		MPI_Waitsome(n, requests, &done, indices, statuses);
		return done;
	case 2:
		MPI_Testany(n, requests, &indices[0], &flag, &statuses[0]);
		return flag;
	case 3:
		MPI_Testsome(n, requests, &done, indices, statuses);
		return done;
	default:
		for (indices[0] = n - 1; requests[indices[0]] == MPI_REQUEST_NULL;)
			indices[0]--;
		MPI_Test(&requests[indices[0]], &flag, &statuses[0]);
		return flag;
	}
}

static void receive_batch(uint64_t how, int n)
{
	struct note notes[BATCH];
	MPI_Request requests[BATCH];
	MPI_Status statuses[BATCH];
	int indices[BATCH];

	for (int i = 0; i < n; i++)
		MPI_Irecv(&notes[i], NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
			  MPI_COMM_WORLD, &requests[i]);
	for (int left = n, done; left > 0; left -= done) {
		done = finish_some(how, n, requests, indices, statuses);
		learn((uint64_t)done);
		for (int k = 0; k < done; k++) {
			learn((uint64_t)indices[k]);
			learn_note(&notes[indices[k]], &statuses[k]);
		}
		if (done == 0)
			sched_yield();
	}
}

static void iterate(uint64_t seed, int iteration)
{
	uint64_t state = seed ^ (uint64_t)iteration << 20 ^ (uint64_t)me << 50;
	int left = expected(seed, iteration);

	send_planned(seed, iteration);
	while (left > 0) {
		uint64_t how = draw(&state);
		int batch = (int)((how >> 32) % BATCH) + 1;

		if (how % 2) {
			receive_one(how >> 1);
			left--;
		} else {
			batch = batch < left ? batch : left;
			receive_batch(how >> 1, batch);
			left -= batch;
		}
	}
}

int main(int argc, char **argv)
{
	static char space[1 << 20];
	int room = sizeof(space), iterations = argument(argc, argv, 1, 30);
	uint64_t seed = (uint64_t)argument(argc, argv, 2, 1);
	void *attached;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Buffer_attach(space, room);
	for (int i = 0; i < iterations; i++) {
		iterate(seed, i);
		if (i % WINDOW == WINDOW - 1 || i == iterations - 1) {
			MPI_Waitall(sent, sends, MPI_STATUSES_IGNORE);
			sent = 0;
			MPI_Barrier(MPI_COMM_WORLD);
		}
	}
	MPI_Buffer_detach(&attached, &room);
	outcome(" #%016llx", (unsigned long long)hash);
	outcome_print();
	MPI_Finalize();
	return 0;
}
