/* SPDX-License-Identifier: Apache-2.0 */
/* Only stacks that libc knows of are cleared: on another one there may be no room below. */
#include "hook/program/residue.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#include "hook/common/hook.h"

#define DEPTH 20480 /* our functions with buffers for paths, and libc's, go about as deep */

bool hook_residue_matters;
static __thread uintptr_t low, size;

void hook_residue_start(void)
{
	static const char *const collectors[] = {"ruby_init", "GC_init", "mono_gc_collect",
						 "gc_malloc"};

	for (size_t i = 0; i < sizeof(collectors) / sizeof(collectors[0]); i++)
		hook_residue_matters |= dlsym(RTLD_DEFAULT, collectors[i]) != NULL;
}

static void __attribute__((noinline)) find_stack(void)
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

bool hook_residue_has_room(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	int error = errno;

	if (!size)
		find_stack();
	errno = error;
	return here - low < size && here - low > (uintptr_t)2 * DEPTH;
}

/* Without a frame of its own, whose unused parts would stay as they are. */
__attribute__((naked, noinline)) void hook_residue_clear(void)
{
	__asm__("lea -%c0(%%rsp), %%rdi\n\t"
		"mov %1, %%ecx\n\t"
		"xor %%eax, %%eax\n\t"
		"rep stosq\n\t"
		"ret"
		:
		: "i"(DEPTH), "i"(DEPTH / 8));
}
