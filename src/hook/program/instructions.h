/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording: reports which files, loaded at start, have instructions that no wrapper sees: system
 * calls without libc, the processor's own clock and random numbers.
 */
#ifndef HOOK_INSTRUCTIONS_H
#define HOOK_INSTRUCTIONS_H

void hook_instructions_look(void);

#endif
