/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fopenmp */
/*
 * Critical sections, locks and reductions whose order shows in the result: sums of numbers that are
 * rounded, and a hash of who came when.
 */
#include <omp.h>
#include <stdio.h>

#define ROUNDS 200

static unsigned long hash;

static void came(int who)
{
	hash = hash * 31 + (unsigned long)who + 1;
}

static void locks(void)
{
	static omp_lock_t lock;
	static omp_nest_lock_t nest;
	unsigned long nested = 0;
	int failed = 0;

	omp_init_lock(&lock);
	omp_init_nest_lock(&nest);
#pragma omp parallel reduction(+ : failed)
	for (int i = 0; i < ROUNDS; i++) {
		int me = omp_get_thread_num();

		omp_set_lock(&lock);
		came(me);
		omp_unset_lock(&lock);
		omp_set_nest_lock(&nest);
		if (omp_test_nest_lock(&nest) != 2)
			printf("a nested lock was not had twice\n");
		nested = nested * 33 + (unsigned long)me;
		omp_unset_nest_lock(&nest);
		omp_unset_nest_lock(&nest);
		while (!omp_test_lock(&lock))
			failed++;
		came(me + 10);
		omp_unset_lock(&lock);
	}
	omp_destroy_nest_lock(&nest);
	omp_destroy_lock(&lock);
	printf("locks: %lx %lx, %d failed\n", hash, nested, failed);
}

static void sections(void)
{
	unsigned long other = 0;

#pragma omp parallel
	for (int i = 0; i < ROUNDS; i++) {
#pragma omp critical
		came(omp_get_thread_num());
#pragma omp critical(other)
		other = other * 37 + (unsigned long)omp_get_thread_num();
	}
	printf("critical: %lx %lx\n", hash, other);
}

static void reductions(void)
{
	double sum = 0, product = 1;

	for (int round = 0; round < 50; round++) {
#pragma omp parallel for reduction(+ : sum) reduction(* : product) schedule(dynamic)
		for (int i = 1; i < 40; i++) {
			sum += 1.0 / (i * (round + 1));
			product *= 1 + 1.0 / (i * 7 + round);
		}
	}
	printf("reductions: %a %a\n", sum, product);
}

int main(void)
{
	omp_set_num_threads(4);
	locks();
	sections();
	reductions();
	return 0;
}
