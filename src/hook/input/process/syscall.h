/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that the program makes through libc's syscall(). If libc has a function for the
 * call, and we wrap it, the call goes there. Other calls that bring something from outside are
 * reported.
 */
#ifndef HOOK_INPUT_SYSCALL_H
#define HOOK_INPUT_SYSCALL_H

#include "hook/input/channel/io.h"

/* Calls from our own library: these are never the program's, whatever the depth. */
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
