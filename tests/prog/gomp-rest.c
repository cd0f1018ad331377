/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fopenmp */
/* Parts of OpenMP that are not kept. Argument: which. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

static void reduction(void)
{
	int sum = 0;

#pragma omp parallel
#pragma omp single
#pragma omp taskgroup task_reduction(+ : sum)
	for (int i = 0; i < 20; i++) {
#pragma omp task in_reduction(+ : sum)
		sum += i;
	}
	printf("sum: %d\n", sum);
}

static void modifier(void)
{
	int sum = 0;

#pragma omp parallel reduction(task, + : sum)
	{
#pragma omp task in_reduction(+ : sum)
		sum += 5;
	}
#pragma omp parallel
#pragma omp for reduction(task, + : sum) schedule(dynamic)
	for (int i = 0; i < 8; i++) {
#pragma omp task in_reduction(+ : sum)
		sum += i;
	}
	printf("sum: %d\n", sum);
}

static void detach(void)
{
	int done = 0;

#pragma omp parallel
#pragma omp single
	{
		omp_event_handle_t event;

#pragma omp task detach(event) shared(done)
		{
			done++;
			omp_fulfill_event(event);
		}
#pragma omp taskwait
		printf("done: %d\n", done);
	}
}

static void target(void)
{
	int done = 0;

#pragma omp parallel
#pragma omp single
	{
#pragma omp target map(tofrom : done)
		done++;
#pragma omp target nowait map(tofrom : done)
		done++;
#pragma omp taskwait
		printf("done: %d\n", done);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	omp_set_num_threads(4);
	if (strcmp(what, "reduction") == 0)
		reduction();
	else if (strcmp(what, "modifier") == 0)
		modifier();
	else if (strcmp(what, "detach") == 0)
		detach();
	else if (strcmp(what, "target") == 0)
		target();
	else
		return 2;
	return 0;
}
