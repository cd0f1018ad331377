/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs built with a sanitizer. What its runtime does for itself (the clock of its allocator,
 * the pipe to the process that finds lines, its own thread) is not the program's.
 */
#ifndef HOOK_SANITIZER_H
#define HOOK_SANITIZER_H

#include <stdbool.h>
#include <stdint.h>

extern uintptr_t hook_sanitizer_low, hook_sanitizer_size; /* its code */

/* Before main: finds the runtime, and asks it to tell of its end. */
void hook_sanitizer_watch(void);

bool hook_sanitizer_is_own(const void *site);

/*
 * A call that returns to this address is the runtime's own. Without a sanitizer, this is one
 * comparison.
 */
static inline bool hook_sanitizer_calls(const void *site)
{
	return __builtin_expect((uintptr_t)site - hook_sanitizer_low < hook_sanitizer_size, 0) &&
	       hook_sanitizer_is_own(site);
}

/* The same where the runtime may come by its own way in for programs; slow. */
bool hook_sanitizer_is_behind(const void *site);

/*
 * Functions between the program and a call whose place a sanitizer reports: it follows the frame
 * pointers.
 */
#ifdef __clang__
#define HOOK_FRAME
#else
#define HOOK_FRAME __attribute__((optimize("no-omit-frame-pointer")))
#endif

/* Around such a call: the thread sanitizer keeps a stack of its own. */
void hook_sanitizer_enter(const void *site);
void hook_sanitizer_leave(void);

/* libc's backtrace(), which has a version; a runtime has one of its own, without. */
int hook_sanitizer_backtrace(void **frames, int n);

#endif
