/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fopenmp */
/* Tasks of every kind: who runs which, and when, is printed. */
#include <omp.h>
#include <stdio.h>

static volatile unsigned int idle;

static void say(const char *what, int i)
{
	for (unsigned int k = 0; k < 3000u * (unsigned int)(i % 5); k++)
		idle += k;
	printf("%s %d by %d\n", what, i, omp_get_thread_num());
}

static long fib(int n)
{
	long a, b;

	if (n < 2)
		return n;
#pragma omp task shared(a) if (n > 4) final(n == 6)
	a = fib(n - 1);
#pragma omp task shared(b)
	b = fib(n - 2);
#pragma omp taskwait
	if (n > 7)
		printf("fib %d by %d\n", n, omp_get_thread_num());
	return a + b;
}

static void dependences(void)
{
	int cell[4] = {0};

	for (int i = 0; i < 24; i++) {
#pragma omp task depend(inout : cell[i % 4]) depend(in : cell[(i + 1) % 4]) shared(cell)
		{
			cell[i % 4] = cell[(i + 1) % 4] + i;
			say("dependent", i);
		}
	}
#pragma omp taskwait depend(in : cell[1])
	printf("cell 1: %d\n", cell[1]);
#pragma omp taskwait
	printf("cells: %d %d %d %d\n", cell[0], cell[1], cell[2], cell[3]);
}

static void groups(void)
{
	int sum = 0;

#pragma omp taskgroup
	for (int i = 0; i < 6; i++) {
#pragma omp task shared(sum)
		{
#pragma omp task shared(sum)
			{
				say("grandchild", i);
#pragma omp atomic
				sum += i;
			}
			say("child", i);
		}
	}
	printf("sum: %d\n", sum);
#pragma omp taskloop grainsize(3)
	for (int i = 0; i < 20; i++)
		say("loop", i);
#pragma omp taskloop num_tasks(5) nogroup
	for (unsigned long i = 40; i > 20; i -= 2)
		say("down", (int)i);
}

int main(void)
{
	long f = 0;

	omp_set_num_threads(4);
	for (int round = 0; round < 3; round++) {
#pragma omp parallel
		{
#pragma omp single nowait
			{
				f = fib(12);
				dependences();
				groups();
				for (int i = 0; i < 300; i++) {
#pragma omp task
					idle += (unsigned int)i;
				}
			}
#pragma omp task
			say("everyone's", omp_get_thread_num());
#pragma omp barrier
#pragma omp task
			say("last", omp_get_thread_num());
		}
	}
	printf("fib: %ld\n", f);
	return f != 144;
}
