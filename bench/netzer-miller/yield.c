/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linked into the programs with MPICH, which waits without ever letting go of the core: with more
 * ranks than cores a message then takes a slice of the scheduler, and a run measures nothing else.
 * Here a rank that finds nothing to do gives its core away, as Open MPI does by itself.
 */
#include <dlfcn.h>
#include <sched.h>

/* What MPICH's progress loop calls of UCX; how much it found to do. */
unsigned ucp_worker_progress(void *worker)
{
	static unsigned (*real)(void *);
	unsigned done;

	if (!real)
		real = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
	done = real(worker);
	if (!done)
		sched_yield();
	return done;
}
