/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay: places at which the front wants a rank to halt, so that somebody can look at it. A thread
 * that is halted waits between two of its events, and MPI moves messages meanwhile, until the front
 * lets the rank go, or on to its second place (replay/session.h: S/halt-NNNN).
 */
#ifndef HOOK_HALT_H
#define HOOK_HALT_H

#include "hook/common/hook.h"

/* Reads where the thread is to halt. */
void hook_halt_open(struct hook_thread *t);

/* In a process that was restored: forgets what was read, and allows others to look at it. */
void hook_halt_resume(void);

/* It has begun this event, operation or call, where it is to halt; returns when it may go on. */
void hook_halt(struct hook_thread *t, uint64_t now) __attribute__((cold));

/* Before the program, which goes on there, main() or behind MPI_Init: halts if the front wants
 * that.
 */
void hook_halt_start(const void *program);

/* Does a debugger let one thread run at a time? */
bool hook_halt_in_turns(void);

/* Are threads of this process halted, or held by a debugger? Nobody is stuck then. */
bool hook_halt_is_on(void);

#endif
