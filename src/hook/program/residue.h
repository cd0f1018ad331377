/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What our code leaves on the stack below the program's frames. A garbage collector that takes
 * every word of the stack for a pointer (Ruby, libgc, Mono, D) finds it in frames made later, and
 * keeps what it seems to point to. Recording and replay leave different things there. So in
 * programs that have such a collector, wrappers clear that part of the stack when they are done.
 */
#ifndef HOOK_RESIDUE_H
#define HOOK_RESIDUE_H

#include <stdbool.h>

extern bool hook_residue_matters;

/* Looks for such a collector; before the program begins. */
void hook_residue_start(void);

bool hook_residue_has_room(void);
void hook_residue_clear(void);

static inline void hook_residue_end(void)
{
	if (__builtin_expect(hook_residue_matters, 0) && hook_residue_has_room())
		hook_residue_clear();
}

/* Of a wrapper's function that has buffers, so that they are cleared, too. */
#define HOOK_RESIDUE_BELOW __attribute__((noinline))

/* The value of a call of such a function. */
#define HOOK_RESIDUE_OF(call)                                                                      \
	({                                                                                         \
		__typeof__(call) value = (call);                                                   \
		hook_residue_end();                                                                \
		value;                                                                             \
	})

#endif
