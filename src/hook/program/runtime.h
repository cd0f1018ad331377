/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code of the MPI library is not the program's, even where libc calls it on the program's behalf:
 * UCX takes locks whenever memory is mapped. The program does not decide its operations. The same
 * holds for the unwinder when a thread ends by cancellation, in our code or in the program's. And
 * an allocator that the program brings decides by atomic operations which of its locks it takes. In
 * serial mode a thread must not be interrupted halfway in it.
 */
#ifndef HOOK_SYNC_RUNTIME_H
#define HOOK_SYNC_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

extern uintptr_t hook_runtime_low, hook_runtime_size; /* all of it lies in between */

extern uintptr_t hook_allocator_low, hook_allocator_size;

/* Looks for the files of all of them among those loaded now. */
void hook_runtime_find(void);

/* The file of an allocator is loaded there; NULL: it is libc's. */
void hook_runtime_allocator(const void *base);

bool hook_runtime_search(uintptr_t address);

/* Is it code of the dynamic loader? After hook_runtime_find. */
bool hook_runtime_is_loader(const void *site);

/*
 * Does this thread load or unload a library, or run the constructors or destructors of one? It then
 * holds a lock of the loader, for which others cannot wait as an operation.
 */
bool hook_runtime_loads(int tid);

/* Does another one? */
bool hook_runtime_loads_beside(int tid);

/*
 * Inside MPI, where something is written: does a function of the program write that MPI has called
 * (of an attribute, an operation, an error), and not MPI itself? The stack is unwound.
 */
bool hook_runtime_calls_program(void);
/* True while we call a function of the program where MPI would. */
extern __thread bool hook_runtime_is_ours;

static inline bool hook_runtime_may_have(const void *site)
{
	return (uintptr_t)site - hook_runtime_low < hook_runtime_size;
}

static inline bool hook_runtime_has(const void *site)
{
	return __builtin_expect(hook_runtime_may_have(site), 0) &&
	       hook_runtime_search((uintptr_t)site);
}

static inline bool hook_runtime_is_allocator(const void *site)
{
	return __builtin_expect((uintptr_t)site - hook_allocator_low < hook_allocator_size, 0);
}

#endif
