/* SPDX-License-Identifier: Apache-2.0 */
/*
 * There is one order for the whole process, although one per communicator would be enough. It also
 * orders the numbers of posted receives. A post never waits for a message, so a thread never waits
 * long for its turn. Replay waits for it as for a turn on an object, and counts the lower half
 * alone.
 */
#include "hook/mpi/object/turn.h"

#include "hook/kit/lock.h"
#include "hook/mpi/call/mpi.h"
#include "hook/thread/sync/wait.h"

static uint64_t next_turn;
static uint32_t turn_now;
static struct hook_lock locked;
static const struct hook_thread *holder;

uint64_t hook_turn_lock(void)
{
	hook_lock_take(&locked);
	holder = hook_self;
	return next_turn;
}

void hook_turn_unlock(bool taken)
{
	next_turn += taken;
	holder = NULL;
	hook_lock_give(&locked);
}

void hook_turn_left(const struct hook_thread *t)
{
	if (__atomic_load_n(&holder, __ATOMIC_RELAXED) == t)
		hook_turn_unlock(true);
}

/* The turns before are those of other threads here: if they wait as well, it will not come. */
void hook_turn_wait(struct hook_thread *t, uint64_t turn)
{
	t->wait.in = trace_call_name(t->mpi.call);
	t->wait.at = t->mpi.site;
	hook_sync_await(t, &turn_now, (uint32_t)turn);
}

void hook_turn_done(void)
{
	hook_sync_pass(&turn_now, turn_now + 1);
}
