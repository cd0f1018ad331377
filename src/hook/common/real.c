/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads may look up the same functions at once: they store the same pointers. */
#include "hook/common/real.h"

#include <dlfcn.h>

#include "hook/common/hook.h"

struct hook_reals hook_reals;

void hook_reals_resolve(void)
{
#define X(name) hook_reals.name = (__typeof__(name) *)hook_real(#name);
	HOOK_REALS(X)
#undef X
	/* hook_real would find our own wrapper where libc has none. */
	hook_reals.arc4random_buf = (void (*)(void *, size_t))dlsym(RTLD_NEXT, "arc4random_buf");
}
