/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what threads are told of their own attributes, and checks that their stacks are usable to
 * the lowest byte and guarded below.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int ends[2];

/* Can the kernel read there? */
static int is_readable(const char *at)
{
	char byte;

	return write(ends[1], at, 1) == 1 && read(ends[0], &byte, 1) == 1;
}

static void show(const char *what, pthread_t thread)
{
	int detached = -1, policy = -1, inherits = -1, scope = -1, mask;
	struct sched_param param = {-1};
	pthread_attr_t attr;
	cpu_set_t set;
	sigset_t signals;
	size_t guard, size;
	void *low;

	if (pthread_getattr_np(thread, &attr) != 0)
		abort();
	pthread_attr_getguardsize(&attr, &guard);
	pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_getdetachstate(&attr, &detached);
	pthread_attr_getschedpolicy(&attr, &policy);
	pthread_attr_getschedparam(&attr, &param);
	pthread_attr_getinheritsched(&attr, &inherits);
	pthread_attr_getscope(&attr, &scope);
	pthread_attr_getaffinity_np(&attr, sizeof(set), &set);
	mask = pthread_attr_getsigmask_np(&attr, &signals);
	printf("%s: guard %zu, detached %d, policy %d, priority %d, inherits %d, scope %d, on %d, "
	       "mask %d",
	       what, guard, detached, policy, param.sched_priority, inherits, scope,
	       CPU_COUNT(&set), mask);
	if (thread != pthread_self() || (char *)low > (char *)&attr ||
	    (char *)&attr >= (char *)low + size)
		printf(", elsewhere\n");
	else if (guard)
		printf(", %zu bytes from %zu of a page, %d %d\n", size, (uintptr_t)low % 4096,
		       is_readable(low), is_readable((char *)low - 1));
	else
		printf("\n");
	pthread_attr_destroy(&attr);
}

static void *body(void *arg)
{
	char *low;
	pthread_attr_t attr;
	size_t size;

	show(arg, pthread_self());
	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, (void **)&low, &size);
	pthread_attr_destroy(&attr);
	*(volatile char *)low = 1;
	return NULL;
}

static void run(const char *what, const pthread_attr_t *attr)
{
	pthread_t thread;

	if (pthread_create(&thread, attr, body, (void *)what) != 0)
		abort();
	pthread_join(thread, NULL);
}

int main(void)
{
	pthread_attr_t attr;
	cpu_set_t set;
	sigset_t mask;

	if (pipe(ends) != 0)
		abort();
	show("main", pthread_self());
	run("no attributes", NULL);
	pthread_attr_init(&attr);
	run("as they are", &attr);
	pthread_attr_setguardsize(&attr, 5000);
	run("a guard of 5000", &attr);
	pthread_attr_setguardsize(&attr, 65536);
	pthread_attr_setstacksize(&attr, 1000000);
	run("an odd size", &attr);
	pthread_attr_setguardsize(&attr, 0);
	run("no guard", &attr);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	pthread_attr_setsigmask_np(&attr, &mask);
	pthread_attr_setguardsize(&attr, 4096);
	run("a mask", &attr);
	sched_getaffinity(0, sizeof(set), &set);
	for (int i = 0, first = 1; i < CPU_SETSIZE; i++) {
		if (CPU_ISSET(i, &set) && !first)
			CPU_CLR(i, &set);
		else if (CPU_ISSET(i, &set))
			first = 0;
	}
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	run("one processor", &attr);
	pthread_attr_destroy(&attr);
	show("main again", pthread_self());
	return 0;
}
