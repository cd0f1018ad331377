/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that the program makes through libc's syscall(). Those that have a function in libc
 * which we stand in for go to that; others that bring something from outside are told of.
 */
#ifndef HOOK_INPUT_SYSCALL_H
#define HOOK_INPUT_SYSCALL_H

#include "hook/input/channel/io.h"

/* Of our own library: no such call is the program's, whatever the depth. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static inline bool hook_syscall_is_programs(const void *site)
{
	return hook_depth == 0 &&
	       ((const char *)site < __ehdr_start || (const char *)site >= etext) &&
	       !hook_runtime_has(site);
}

/* true: it was made, as a function, and returned *result, with errno. */
bool hook_syscall(long number, const long arg[6], long *result);

#endif
