/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded into ranks of MPICH in tests, which have more ranks than cores: who waits lets go of its
 * core, as Open MPI does if it is told to (mpi_yield_when_idle). MPICH itself waits in a loop until
 * the kernel takes the core away; a barrier of four ranks on two cores then takes 8 ms. Who has
 * waited for long sleeps in between, so that other tests have the core.
 */
#include <dlfcn.h>
#include <sched.h>
#include <time.h>

#define POLLS_BEFORE_YIELD 64
#define POLLS_BEFORE_NAP 20000
#define NAP_NS 200000

unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
	static unsigned (*real)(void *worker);
	static unsigned idle;
	unsigned (*function)(void *worker) = __atomic_load_n(&real, __ATOMIC_RELAXED);
	unsigned come, polls;
	void *ucp;

	if (!function) {
		/* A library that the program opened may have brought it: then it is not among the
		 * next. */
		ucp = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
		function =
			(unsigned (*)(void *))dlsym(ucp ? ucp : RTLD_NEXT, "ucp_worker_progress");
		__atomic_store_n(&real, function, __ATOMIC_RELAXED);
	}
	come = function(worker);
	polls = come ? 0 : __atomic_load_n(&idle, __ATOMIC_RELAXED) + 1;
	__atomic_store_n(&idle, polls, __ATOMIC_RELAXED);
	if (polls > POLLS_BEFORE_NAP)
		nanosleep(&(struct timespec){0, NAP_NS}, NULL);
	else if (polls > POLLS_BEFORE_YIELD)
		sched_yield();
	return come;
}
