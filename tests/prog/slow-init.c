/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library to be loaded before an MPI: in the program "rounds", MPI_Init takes three seconds if
 * there is a file "loads", in which memory grows, and for ever if there is a file "waits".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define STEP (256 << 10)
#define STEPS 60
#define SIZE (STEP * STEPS)

/* A quarter of a megabyte more every 50 ms, or nothing; the first time only. */
static void slowly(void)
{
	static int done;
	char *page = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int loads = access("loads", F_OK) == 0, waits = access("waits", F_OK) == 0;

	if (strcmp(program_invocation_short_name, "rounds") != 0 || (!loads && !waits) || done++)
		return;
	madvise(page, SIZE, MADV_NOHUGEPAGE);
	for (int i = 0; i < STEPS; i += !waits) {
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
		for (int k = 0; k < STEP; k += 4096)
			page[i * STEP + k] = (char)loads;
	}
}

/* What each MPI calls as it begins. */
#ifdef mpich
int hwloc_topology_init(void *topology)
{
	int (*next)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, "hwloc_topology_init");

	slowly();
	return next(topology);
}
#else
int PMIx_Init(void *proc, void *info, size_t ninfo)
{
	int (*next)(void *, void *, size_t) =
		(int (*)(void *, void *, size_t))dlsym(RTLD_NEXT, "PMIx_Init");

	slowly();
	return next(proc, info, ninfo);
}
#endif
