/* SPDX-License-Identifier: Apache-2.0 */
/*
 * S/credit is two matrices of counters, mapped by all ranks of the host: messages received, by
 * receiver and sender, and messages sent, by sender and receiver. Only the rank that a row belongs
 * to writes it. The limit for a receiver that stands still is doubled, so that a wrong guess costs
 * only a few pauses. It is reset when the receiver has caught up.
 */
#include "hook/mpi/replay/credit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hook/common/end.h"
#include "hook/kit/pages.h"
#include "hook/kit/time.h"
#include "hook/mpi/replay/yield.h"
#include "hook/session/session.h"

/*
 * How many messages a sender may be ahead of a receiver that waits for it, or for others. Open MPI
 * keeps a queue per sender: nothing has to be walked past there, and only memory counts. With MPICH
 * a receiver that had no core for a while finds that many in its way when it turns to others.
 */
#ifdef HOOK_FLAVOUR_OPENMPI
#define FAR 1024
#define CLOSE FAR
#else
#define FAR 128
#define CLOSE 32
#endif
#define LOOK_EVERY 16 /* messages between two looks at the counters, which others write */
#define LONGEST_PAUSE_NS 20000000
#define NAP_NS 20000
#define NAPS_ALIKE 16 /* then they get longer, up to 16 times */
#define LONGEST_SHIFT 4
#define PAUSES_AWAKE 100
#define PAUSES_IN_VAIN 120
#define LOOKS_PER_PAUSE 8 /* for messages of our own: a few microseconds */

static uint32_t *matrix;     /* NULL: nothing is counted */
static uint32_t *sent;       /* by receiver */
static uint32_t *received;   /* by sender; published now and then */
static uint32_t *known;      /* by sender: how many it had sent when we looked last */
static uint32_t *indulgence; /* by receiver: how much more than usual it may be ahead */
static int ranks;
static size_t stride; /* counters from row to row */
static bool crowded;  /* somebody else can use the core of one who steps aside */

static uint32_t *map_matrix(size_t size)
{
	char path[1100];
	struct stat st;
	void *p = MAP_FAILED;
	int fd;

	snprintf(path, sizeof(path), "%s/credit", hook_process.session);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && (size_t)st.st_size >= size)
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

void hook_credit_open(int world)
{
	size_t row = (size_t)world * sizeof(uint32_t);

	const char *fault = getenv("REPRISE_FAULT");

	if (!hook_session_is_local() || (fault && strcmp(fault, "nocredit") == 0))
		return;
	sent = hook_pages(row);
	received = hook_pages(row);
	known = hook_pages(row);
	indulgence = hook_pages(row);
	if (!sent || !received || !known || !indulgence)
		return;
	ranks = world;
	crowded = world > sysconf(_SC_NPROCESSORS_ONLN);
	stride = replay_credit_row((size_t)world);
	matrix = map_matrix(2 * (size_t)world * stride * sizeof(*matrix));
}

void hook_credit_close(void)
{
	matrix = NULL;
}

/* A locked instruction is a good part of what a short message costs. */
static uint32_t count(uint32_t *counter)
{
	return hook_mpi_turns ? __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED) : ++*counter;
}

static bool is_counted(int peer, MPI_Comm comm)
{
	return matrix && comm == MPI_COMM_WORLD && peer >= 0 && peer < ranks &&
	       peer != (int)hook_process.rank;
}

/* What a rank sends to itself is not counted: its own place says that it has lost count. */
static uint32_t *lost_by(int rank)
{
	return &matrix[(size_t)rank * stride + (size_t)rank];
}

void hook_credit_lost(MPI_Comm comm)
{
	if (matrix && comm == MPI_COMM_WORLD)
		*lost_by((int)hook_process.rank) = 1;
}

/*
 * Too far ahead of the receiver, as things stand? Its slot, which it writes at every event, is
 * looked at only where that decides.
 */
static bool is_ahead(int dest, uint32_t mine, uint32_t taken, const struct replay_slot *receiver)
{
	int32_t ahead = (int32_t)(mine - taken - indulgence[dest]);

	if (ahead <= CLOSE)
		return false;
	if (ahead <= FAR &&
	    __atomic_load_n(&receiver->peer, __ATOMIC_RELAXED) == (int32_t)hook_process.rank)
		return false;
	return !*lost_by(dest);
}

/* How many messages this sender has certainly sent: one more may be under way. */
static uint32_t *sent_by(uint32_t source, uint32_t dest)
{
	return &matrix[((size_t)ranks + source) * stride + dest];
}

static uint32_t taken_by(int dest)
{
	return __atomic_load_n(&matrix[(size_t)dest * stride + hook_process.rank],
			       __ATOMIC_RELAXED);
}

/*
 * Waking up takes as long as the receiver needs for hundreds of messages: whoever has a core to
 * itself, as it seems, sleeps only after some pauses. Where cores are few it takes one away from
 * those that the receiver waits for: it sleeps the longer the longer that lasts.
 */
static void pause_a_little(int pauses)
{
	int shift = pauses / NAPS_ALIKE < LONGEST_SHIFT ? pauses / NAPS_ALIKE : LONGEST_SHIFT;
	bool sleep = crowded || pauses > PAUSES_AWAKE;

	for (int i = 0; i < (sleep ? 1 : LOOKS_PER_PAUSE) && hook_end_progress; i++)
		hook_end_progress();
	if (sleep)
		hook_time_nap((long)NAP_NS << shift);
}

/*
 * A receiver that does nothing may be waiting, by way of others, for what we would send next: it
 * is indulged, and more so each time. One that moves needs no indulgence. That time passes says
 * little: all of us may have been stopped meanwhile.
 */
static void step_aside(int dest, uint32_t mine, const struct replay_slot *receiver)
{
	uint32_t taken = taken_by(dest), before = taken;
	uint64_t seen = 0, since = hook_time_now();
	int pauses = 0, in_vain = 0;

	for (; is_ahead(dest, mine, taken, receiver); before = taken, taken = taken_by(dest)) {
		uint64_t events = seen;

		if (taken == before)
			events = __atomic_load_n(&receiver->events, __ATOMIC_RELAXED);
		if (taken != before || events != seen) {
			seen = events;
			since = hook_time_now();
			in_vain = 0;
		} else if (++in_vain > PAUSES_IN_VAIN &&
			   hook_time_now() - since > LONGEST_PAUSE_NS) {
			indulgence[dest] = indulgence[dest] * 2 + CLOSE;
			return;
		}
		pause_a_little(pauses++);
	}
	indulgence[dest] /= 2;
}

void hook_credit_sending(struct hook_thread *t, int dest, MPI_Comm comm)
{
	const struct replay_slot *receiver;
	uint32_t mine;

	(void)t;
	if (!is_counted(dest, comm))
		return;
	mine = count(&sent[dest]);
	if (hook_yields)
		__atomic_store_n(sent_by(hook_process.rank, (uint32_t)dest), mine - 1,
				 __ATOMIC_RELEASE);
	if (mine % LOOK_EVERY)
		return;
	receiver = hook_session_slot((uint32_t)dest);
	if (is_ahead(dest, mine, taken_by(dest), receiver))
		step_aside(dest, mine, receiver);
}

bool hook_credit_is_sent(int source, MPI_Comm comm)
{
	if (!is_counted(source, comm))
		return false;
	if ((int32_t)(known[source] - received[source]) > 0)
		return true;
	if (*lost_by((int)hook_process.rank))
		return false;
	known[source] =
		__atomic_load_n(sent_by((uint32_t)source, hook_process.rank), __ATOMIC_ACQUIRE);
	return (int32_t)(known[source] - received[source]) > 0;
}

void hook_credit_received(int source, MPI_Comm comm)
{
	uint32_t n;

	if (!is_counted(source, comm))
		return;
	n = count(&received[source]);
	if (n % LOOK_EVERY == 0)
		__atomic_store_n(&matrix[hook_process.rank * stride + (size_t)source], n,
				 __ATOMIC_RELAXED);
}
