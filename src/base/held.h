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

#endif
