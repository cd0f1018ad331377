/* SPDX-License-Identifier: Apache-2.0 */
/* Only stacks that libc knows of are cleared: on another one there may be no room below. */
#include "hook/program/residue.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "hook/common/hook.h"

#define DEPTH 12288 /* our functions with buffers for paths go about as deep */

bool hook_residue_matters;
static __thread uintptr_t low, size;

void hook_residue_start(void)
{
	static const char *const collectors[] = {"ruby_init", "GC_init", "mono_gc_collect",
						 "gc_malloc"};

	for (size_t i = 0; i < sizeof(collectors) / sizeof(collectors[0]); i++)
		hook_residue_matters |= dlsym(RTLD_DEFAULT, collectors[i]) != NULL;
}

static void find_stack(void)
{
	int depth = hook_depth;
	pthread_attr_t attr;
	void *start;
	size_t bytes;

	hook_depth = HOOK_CLOSED;
	size = 1;
	if (pthread_getattr_np(pthread_self(), &attr) == 0) {
		if (pthread_attr_getstack(&attr, &start, &bytes) == 0) {
			low = (uintptr_t)start;
			size = bytes;
		}
		pthread_attr_destroy(&attr);
	}
	hook_depth = depth;
}

static void __attribute__((noinline)) clear(void)
{
	char bytes[DEPTH];

	memset(bytes, 0, sizeof(bytes));
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

void hook_residue_clear(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	int error = errno;

	if (!size)
		find_stack();
	if (here - low < size && here - low > (uintptr_t)2 * DEPTH)
		clear();
	errno = error;
}
