/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On which processors a thread may run. libc asks the kernel by the number that it knows the thread
 * by; in a process that was restored from an image that is the one of another process. A thread
 * that asks for itself, as OpenMP's do, needs no number.
 */
#include <errno.h>
#include <sched.h>

#include "hook/thread/call/real.h"

HOOK_EXPORT int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set)
{
	int before = errno, rc;

	if (!pthread_equal(thread, pthread_self()))
		return SYNC_REAL(pthread_getaffinity_np)(thread, size, set);
	rc = sched_getaffinity(0, size, set) == 0 ? 0 : errno;
	errno = before;
	return rc;
}

HOOK_EXPORT int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set)
{
	int before = errno, rc;

	if (!pthread_equal(thread, pthread_self()))
		return SYNC_REAL(pthread_setaffinity_np)(thread, size, set);
	rc = sched_setaffinity(0, size, set) == 0 ? 0 : errno;
	errno = before;
	return rc;
}
