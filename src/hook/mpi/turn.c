/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One order for the whole process, although order per communicator would do: it also orders the
 * numbers of posted receives, and what is posted never waits for a message, so a thread never
 * waits long for its turn. Waiting is by futex on the low half of the counter.
 */
#include "hook/mpi/turn.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t next_turn;
static int locked;

static void futex(void *word, int op, uint32_t value)
{
	syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
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

void hook_turn_wait(uint64_t turn)
{
	uint64_t now;

	while ((now = __atomic_load_n(&next_turn, __ATOMIC_ACQUIRE)) != turn)
		futex(&next_turn, FUTEX_WAIT, (uint32_t)now);
}

void hook_turn_done(void)
{
	__atomic_store_n(&next_turn, next_turn + 1, __ATOMIC_RELEASE);
	futex(&next_turn, FUTEX_WAKE, INT_MAX);
}
