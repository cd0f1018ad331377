/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is inside. A thread says so by a plain store, and then looks whether all are asked to stay
 * out; who asks has the kernel order these two in every thread that runs (membarrier), and waits
 * for those that are inside. Where the kernel does not do that, each entry has a fence of its own.
 */
#include "race/inner.h"

#include <linux/membarrier.h>

bool race_fences;
int race_holds;

static long membarrier(int command)
{
	return rp_raw_call(SYS_membarrier, command, 0, 0, 0, 0, 0);
}

void race_guard_open(void)
{
	race_holds = 0;
	race_fences = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0;
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

void race_guard_stop_all(void)
{
	__atomic_store_n(&race_holds, 1, __ATOMIC_SEQ_CST);
	if (!race_fences)
		membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	for (uint32_t i = 0; i < race_thread_count; i++) {
		while (__atomic_load_n(&race_threads[i].busy, __ATOMIC_SEQ_CST))
			race_sys_yield();
	}
}

void race_guard_let_go(void)
{
	__atomic_store_n(&race_holds, 0, __ATOMIC_RELEASE);
}
