/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads may look up the same functions at once: they store the same pointers. */
#include "hook/input/real.h"

#include <dlfcn.h>

#include "hook/common/hook.h"

struct hook_input_real hook_input_real;

void hook_input_resolve(void)
{
#define X(name) hook_input_real.name = (__typeof__(name) *)hook_real(#name);
	HOOK_INPUT_REALS(X)
#undef X
	/* hook_real would find our own wrapper where libc has none. */
	hook_input_real.arc4random_buf =
		(void (*)(void *, size_t))dlsym(RTLD_NEXT, "arc4random_buf");
}
