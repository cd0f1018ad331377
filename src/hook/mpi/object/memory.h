/* SPDX-License-Identifier: Apache-2.0 */
/* Memory from the kernel, and a lock: the hooks of MPI have no malloc and no mutex. */
#ifndef HOOK_MPI_MEMORY_H
#define HOOK_MPI_MEMORY_H

#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>

/* n bytes that are 0, or NULL; munmap gives them back. */
static inline void *hook_mpi_pages(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* It is held for a few instructions, and never inside MPI. */
static inline void hook_mpi_lock(int *lock)
{
	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static inline void hook_mpi_unlock(int *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

#endif
