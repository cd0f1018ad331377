/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks of OpenMP with and without the order that they need: variables racy_… race whoever runs the
 * tasks, also if one thread runs all of them, and fine_… never do.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int racy_depend, fine_depend, racy_siblings, fine_siblings, racy_maker, fine_maker, fine_other;
int fine_group, fine_chain, fine_readers[3], fine_inner, fine_critical, fine_undeferred, fine_final;
int fine_loop[64], racy_loop, fine_by_thread[8], fine_copied, fine_waited, fine_next, racy_reader;
static _Thread_local int fine_own;

/* Its frame lies where that of the next task will: that is no race. */
static int on_stack(int n)
{
	int local[16];
	volatile int *p = local;

	for (int i = 0; i < 16; i++)
		p[i] = n + i;
	return p[n % 16];
}

static void depends(void)
{
#pragma omp task
	racy_depend = 1;
#pragma omp task
	racy_depend++;
#pragma omp task depend(out : fine_depend)
	fine_depend = 1;
#pragma omp task depend(inout : fine_depend)
	fine_depend++;
#pragma omp task depend(in : fine_depend)
	fine_readers[0] = fine_depend;
#pragma omp task depend(in : fine_depend)
	fine_readers[1] = fine_depend;
#pragma omp task depend(out : fine_depend)
	fine_depend = 5;
	/* The wrong thing is named. */
#pragma omp task depend(out : fine_other)
	fine_other = racy_reader;
#pragma omp task depend(out : fine_readers)
	racy_reader = 3;
#pragma omp taskwait depend(in : fine_depend)
	fine_readers[2] = fine_depend;
#pragma omp taskwait
	fine_chain = fine_depend + fine_readers[0];
}

static void waits(void)
{
#pragma omp task shared(racy_maker)
	racy_maker = 1;
	racy_maker++;
#pragma omp task
	fine_maker = 1;
#pragma omp taskwait
	fine_maker++;
#pragma omp taskgroup
	{
#pragma omp task
		{
#pragma omp task
			fine_group = 1;
		}
	}
	fine_group++;
	/* A wait for children does not wait for theirs. */
#pragma omp task
	{
#pragma omp task
		racy_siblings = 1;
	}
#pragma omp taskwait
	racy_siblings++;
#pragma omp task
	{
#pragma omp task
		fine_inner = 1;
#pragma omp taskwait
		fine_inner++;
	}
#pragma omp taskwait
	fine_inner++;
}

static void at_once(int zero)
{
#pragma omp task if (zero)
	fine_undeferred = 1;
	fine_undeferred++;
#pragma omp task final(!zero)
	{
#pragma omp task
		fine_final = 1;
		fine_final++;
	}
	for (int i = 0; i < 4; i++) {
		int *copy = malloc(sizeof(int));

		*copy = i;
#pragma omp task firstprivate(i, copy)
		{
#pragma omp critical
			fine_critical += i;
			fine_by_thread[omp_get_thread_num()] += *copy;
			fine_own += on_stack(i);
			free(copy);
		}
	}
#pragma omp taskloop grainsize(4)
	for (int i = 0; i < 64; i++) {
		fine_loop[i] = i;
		racy_loop = i;
	}
	for (int i = 0; i < 64; i++)
		fine_copied += fine_loop[i];
}

int main(int argc, char **argv)
{
	(void)argv;
#pragma omp parallel num_threads(2)
	{
#pragma omp single
		depends();
#pragma omp single
		waits();
#pragma omp single
		at_once(argc - 1);
#pragma omp single nowait
		{
#pragma omp task
			fine_waited = 1;
		}
#pragma omp barrier
		if (omp_get_thread_num() == 1)
			fine_waited++;
#pragma omp single nowait
		{
#pragma omp task
			fine_next = 1;
		}
	}
	fine_next++;
	printf("%d %d %d\n", fine_waited, fine_next, fine_copied);
	return 0;
}
