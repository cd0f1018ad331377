/* SPDX-License-Identifier: Apache-2.0 */
/*
 * S/credit is a matrix of counters, by receiver and sender, mapped by all ranks of the host. Each
 * row is written by its receiver alone. The limit for a receiver that stands still is doubled, so
 * that a wrong guess costs a few pauses and no more; it is as before when the receiver has caught
 * up.
 */
#include "hook/mpi/credit.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "hook/common/end.h"
#include "hook/common/session.h"

#define FIRST_LIMIT 64
#define LONGEST_PAUSE_NS 20000000

static uint32_t *matrix; /* NULL: nothing is counted */
static uint32_t *sent;
static uint32_t *limit;
static int ranks;

static void *fresh(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

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

	if (!hook_session_is_local())
		return;
	sent = fresh(row);
	limit = fresh(row);
	if (!sent || !limit)
		return;
	for (int i = 0; i < world; i++)
		limit[i] = FIRST_LIMIT;
	ranks = world;
	matrix = map_matrix(row * (size_t)world);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * A receiver that does nothing may be waiting, by way of others, for what we would send next. One
 * that moves again needs no more than it did before.
 */
static void step_aside(int dest, uint32_t mine, const uint32_t *taken)
{
	const struct replay_slot *receiver = hook_session_slot((uint32_t)dest);
	uint64_t seen = __atomic_load_n(&receiver->events, __ATOMIC_RELAXED);
	uint64_t since = now_ns();

	while ((int32_t)(mine - __atomic_load_n(taken, __ATOMIC_RELAXED)) > (int32_t)limit[dest]) {
		uint64_t events = __atomic_load_n(&receiver->events, __ATOMIC_RELAXED);

		if (events != seen) {
			seen = events;
			since = now_ns();
		} else if (now_ns() - since > LONGEST_PAUSE_NS) {
			limit[dest] *= 2;
			return;
		}
		if (hook_end_progress)
			hook_end_progress();
		sched_yield();
	}
	if (limit[dest] > FIRST_LIMIT)
		limit[dest] /= 2;
}

void hook_credit_sending(struct hook_thread *t, int dest, MPI_Comm comm)
{
	const uint32_t *taken;
	uint32_t mine, ahead;

	(void)t;
	if (!matrix || comm != MPI_COMM_WORLD || dest < 0 || dest >= ranks ||
	    (uint32_t)dest == hook_process.rank)
		return;
	taken = &matrix[(size_t)dest * (size_t)ranks + hook_process.rank];
	mine = __atomic_add_fetch(&sent[dest], 1, __ATOMIC_RELAXED);
	ahead = mine - __atomic_load_n(taken, __ATOMIC_RELAXED);
	if ((int32_t)ahead > (int32_t)limit[dest])
		step_aside(dest, mine, taken);
}

void hook_credit_received(int source, MPI_Comm comm)
{
	size_t row = (size_t)hook_process.rank * (size_t)ranks;

	if (matrix && comm == MPI_COMM_WORLD && source >= 0 && source < ranks)
		__atomic_add_fetch(&matrix[row + (size_t)source], 1, __ATOMIC_RELAXED);
}
