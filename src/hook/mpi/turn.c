/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One order for the whole process, although order per communicator would do: it also orders the
 * numbers of posted receives, and what is posted never waits for a message, so a thread never
 * waits long for its turn. Waiting is by futex on the low half of the counter.
 */
#include "hook/mpi/turn.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/mpi/mpi.h"
#include "hook/thread/stuck.h"

#define TICK_NS 250000000

static uint64_t next_turn;
static int locked;

static long futex(int op, uint32_t value, const struct timespec *time)
{
	return syscall(SYS_futex, &next_turn, op | FUTEX_PRIVATE_FLAG, value, time, NULL, 0);
}

uint64_t hook_turn_lock(void)
{
	int spins = 0;

	while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE)) {
		if (++spins > 100)
			sched_yield();
	}
	return next_turn;
}

void hook_turn_unlock(bool taken)
{
	next_turn += taken;
	__atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
}

/* The turns before are those of other threads here: if they wait as well, it will not come. */
void hook_turn_wait(struct hook_thread *t, uint64_t turn)
{
	const struct timespec tick = {0, TICK_NS};
	uint64_t now;

	while ((now = __atomic_load_n(&next_turn, __ATOMIC_ACQUIRE)) != turn) {
		t->waits_in = hook_mpi_call_name(t->call);
		t->state = HOOK_THREAD_WAITS;
		if (futex(FUTEX_WAIT, (uint32_t)now, &tick) != 0 && errno == ETIMEDOUT)
			hook_sync_look(t);
	}
	t->state = HOOK_THREAD_RUNS;
}

void hook_turn_done(void)
{
	__atomic_store_n(&next_turn, next_turn + 1, __ATOMIC_RELEASE);
	futex(FUTEX_WAKE, INT_MAX, NULL);
}
