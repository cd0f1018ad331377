/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits for a process asks here whether a debugger holds it: no time that passes meanwhile says
 * anything. What the kernel tells counts, and nothing else. No malloc, and plain system calls, also
 * in somebody else's process.
 */
#ifndef RP_HELD_H
#define RP_HELD_H

#include <stdbool.h>

/* True if a tracer keeps a thread of the process stopped. False if there is no such process. */
bool rp_held(int pid);

/* True if some thread of the process has a tracer, stopped or not. */
bool rp_traced(int pid);

/* The same of every thread. A debugger attaches to one after the other. */
bool rp_all_held(int pid);
bool rp_all_traced(int pid);

/* True if some thread of the process computes, or would if it had a processor. */
bool rp_runs(int pid);

#endif
