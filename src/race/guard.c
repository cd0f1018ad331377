/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is inside. A thread says so by a plain store, and then looks whether all are asked to stay
 * out; who asks has the kernel order these two in every thread that runs (membarrier), and waits
 * for those that are inside. Where the kernel does not do that, or the program is about to forbid
 * it, each entry has a fence of its own.
 */
#include "race/inner.h"

#include <linux/membarrier.h>

bool race_fences;
int race_holds;

static bool opened;
static int stops; /* under race_world: how often all were stopped */

static long membarrier(int command)
{
	return rp_raw_call(SYS_membarrier, command, 0, 0, 0, 0, 0);
}

void race_guard_open(void)
{
	race_holds = 0;
	stops = 0;
	opened = true;
	if (race_fences)
		return;
	race_fences = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0;
}

/*
 * Who has not seen yet that it has to order itself has said before that it is inside: the kernel
 * makes all others see that, for the last time.
 */
void race_forbidden(void)
{
	if (!opened) {
		race_fences = true;
		return;
	}
	race_lock(&race_world);
	if (!race_fences) {
		__atomic_store_n(&race_fences, true, __ATOMIC_SEQ_CST);
		membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	}
	race_unlock(&race_world);
}

void race_guard_wait(struct race_thread *t)
{
	do {
		__atomic_store_n(&t->busy, 0, __ATOMIC_RELEASE);
		while (__atomic_load_n(&race_holds, __ATOMIC_ACQUIRE))
			race_sys_yield();
		__atomic_store_n(&t->busy, 1, __ATOMIC_SEQ_CST);
	} while (__atomic_load_n(&race_holds, __ATOMIC_SEQ_CST));
}

static bool wait_for_all(bool patient)
{
	int64_t start = patient ? 0 : race_sys_now();

	for (uint32_t i = 0; i < race_thread_count; i++) {
		while (__atomic_load_n(&race_threads[i].busy, __ATOMIC_SEQ_CST)) {
			if (!patient && race_sys_now() - start > RACE_PATIENCE)
				return false;
			race_sys_yield();
		}
	}
	return true;
}

static bool stop(bool patient)
{
	if (stops++)
		return true;
	__atomic_store_n(&race_holds, 1, __ATOMIC_SEQ_CST);
	if (!race_fences)
		membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	if (wait_for_all(patient))
		return true;
	race_guard_let_go();
	return false;
}

void race_guard_stop_all(void)
{
	stop(true);
}

bool race_guard_try_stop_all(void)
{
	return stop(false);
}

void race_guard_let_go(void)
{
	if (!--stops)
		__atomic_store_n(&race_holds, 0, __ATOMIC_RELEASE);
}
