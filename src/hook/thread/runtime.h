/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code of the MPI library is not the program's, even where libc calls it on the program's behalf:
 * UCX takes locks whenever memory is mapped. Its operations depend on what the program does not
 * decide. So does what the unwinder does when a thread ends by cancellation: it is in our code then
 * or in the program's.
 */
#ifndef HOOK_SYNC_RUNTIME_H
#define HOOK_SYNC_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

extern uintptr_t hook_runtime_low, hook_runtime_size; /* all of it lies in between */

/* Looks for the files of both among those loaded now. */
void hook_runtime_find(void);

bool hook_runtime_search(uintptr_t address);

static inline bool hook_runtime_may_have(const void *site)
{
	return (uintptr_t)site - hook_runtime_low < hook_runtime_size;
}

static inline bool hook_runtime_has(const void *site)
{
	return __builtin_expect(hook_runtime_may_have(site), 0) &&
	       hook_runtime_search((uintptr_t)site);
}

#endif
