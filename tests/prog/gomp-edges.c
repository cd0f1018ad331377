/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fopenmp */
/*
 * Corners of OpenMP: regions begun by tasks that run at the end of a region, cancellation right
 * after a barrier, ordered loops that overlap, loops that count down without a sign, and the last
 * value of a conditional assignment. Argument: the only one to do.
 */
#include <omp.h>
#include <stdio.h>
#include <string.h>

static volatile unsigned int idle;

static void work(unsigned int n)
{
	for (unsigned int k = 0; k < 300 * n; k++)
		idle = k;
}

static void nested(void)
{
	omp_set_max_active_levels(2);
	for (int round = 0; round < 20; round++) {
#pragma omp parallel
		{
			for (int i = 0; i < 3; i++) {
#pragma omp task
				{
					int who = omp_get_thread_num();

					work(5);
#pragma omp parallel for num_threads(2) schedule(dynamic)
					for (int k = 0; k < 4; k++)
						printf("inner %d by %d of %d\n", k,
						       omp_get_thread_num(), who);
				}
			}
		}
	}
}

static void cancelled(void)
{
	for (int round = 0; round < 300; round++) {
		int passed = 0;

#pragma omp parallel
		{
			work((unsigned int)omp_get_thread_num() * 3);
#pragma omp barrier
#pragma omp atomic
			passed++;
			if (omp_get_thread_num() == round % 4) {
#pragma omp cancel parallel
			}
			work(1);
#pragma omp barrier
#pragma omp critical
			printf("still there: %d\n", omp_get_thread_num());
		}
		printf("round %d: %d passed the barrier\n", round, passed);
	}
}

/* None of them static: there libgomp waits for ever, with or without us. */
static void overlapping(void)
{
	for (int round = 0; round < 30; round++) {
#pragma omp parallel
		for (int loop = 0; loop < 8; loop++) {
#pragma omp for schedule(dynamic) ordered nowait
			for (int i = 0; i < 9; i++) {
				work((unsigned int)(i + loop) % 4);
#pragma omp ordered
				printf("%d: ordered %d by %d\n", loop, i, omp_get_thread_num());
			}
#pragma omp for schedule(guided) ordered nowait
			for (int i = 0; i < 5; i++) {
				if (i % 2) {
#pragma omp ordered
					printf("%d: guided %d by %d\n", loop, i,
					       omp_get_thread_num());
				}
			}
		}
	}
}

static void down(void)
{
#pragma omp parallel
	{
#pragma omp for schedule(dynamic, 3) nowait
		for (unsigned long i = 100; i > 9; i -= 4)
			printf("down %lu by %d\n", i, omp_get_thread_num());
#pragma omp for schedule(guided)
		for (unsigned long i = ~0ul; i > ~0ul - 50; i -= 7)
			printf("down %lx by %d\n", i, omp_get_thread_num());
#pragma omp for schedule(guided, 2)
		for (unsigned long i = ~0ul - 60; i < ~0ul - 5; i += 5)
			printf("up %lx by %d\n", i, omp_get_thread_num());
	}
}

static void conditional(void)
{
	int found = -1;

	for (int round = 0; round < 5; round++) {
#pragma omp parallel for schedule(dynamic, 2) lastprivate(conditional : found)
		for (int i = 0; i < 60; i++) {
			work(2);
			printf("looked at %d by %d\n", i, omp_get_thread_num());
			if (i % 7 == round)
				found = i;
		}
		printf("found %d\n", found);
#pragma omp parallel
		{
#pragma omp for schedule(dynamic) lastprivate(conditional : found)
			for (int i = 0; i < 20; i++) {
				printf("looked for %d by %d\n", i, omp_get_thread_num());
				if (i % 5 == round)
					found = i;
			}
#pragma omp sections lastprivate(conditional : found)
			{
#pragma omp section
				found = 100 + omp_get_thread_num();
#pragma omp section
				found = 200 + omp_get_thread_num();
			}
		}
		printf("found %d\n", found);
	}
}

static const struct {
	const char *name;
	void (*act)(void);
} all[] = {
	{"nested", nested}, {"cancelled", cancelled},     {"overlapping", overlapping},
	{"down", down},     {"conditional", conditional},
};

int main(int argc, char **argv)
{
	omp_set_num_threads(4);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (argc < 2 || strcmp(argv[1], all[i].name) == 0)
			all[i].act();
	}
	return 0;
}
