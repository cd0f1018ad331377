/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A variable is looked at by atomic operations that are recorded, and set by code whose operations
 * are not: this file with -DOUTSIDE. The first thread knows what was there before, the second one
 * finds what is new, then the first one looks again. Prints what it sees: 0, then 1.
 */
#include <stdatomic.h>

#ifdef OUTSIDE

void set_outside(atomic_int *p)
{
	atomic_store(p, 1);
}

#else

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

void set_outside(atomic_int *p);

static atomic_int variable, stage;

static void await_stage(int n)
{
	while (atomic_load(&stage) < n)
		sched_yield();
}

static void *second(void *arg)
{
	await_stage(1);
	set_outside(&variable);
	if (atomic_load(&variable) != 1)
		return arg;
	atomic_store(&stage, 2);
	return NULL;
}

int main(void)
{
	int before = 2, after = 2;
	pthread_t t;

	pthread_create(&t, NULL, second, &t);
	for (int i = 0; i < 5; i++)
		before = atomic_load(&variable);
	atomic_store(&stage, 1);
	await_stage(2);
	for (int i = 0; i < 5; i++)
		after = atomic_load(&variable);
	pthread_join(t, NULL);
	printf("%d %d\n", before, after);
	return 0;
}

#endif
