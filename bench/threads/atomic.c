/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomic operations: of one thread on a variable that nobody else uses, while the program has a
 * second thread; with a third argument, of all threads on one variable. A third each adds, stores
 * and loads.
 */
#include "team.h"

static struct {
	_Alignas(128) atomic_long value;
} alone, shared;

static long rounds;
static int together;

static void work(int id)
{
	atomic_long *value = together ? &shared.value : &alone.value;
	long sum = 0;

	if (id && !together)
		return;
	for (long i = 0; i < rounds; i++) {
		atomic_fetch_add(value, 1);
		atomic_store_explicit(value, i, memory_order_release);
		sum += atomic_load_explicit(value, memory_order_acquire);
	}
	team_count = 3 * rounds;
	if (sum < 0)
		abort();
}

int main(int argc, char **argv)
{
	together = argc > 3;
	rounds = team_arguments(argc, argv, 3000000);
	team_run(work);
	return 0;
}
