/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions whose calls in a checked program go to the runtime first (the linker's --wrap): the
 * compiler does not tell what they read and write, and memory that is allocated anew is nobody's.
 */
#ifndef RACE_WRAPPED_H
#define RACE_WRAPPED_H

#define RACE_WRAPPED(x)                                                                            \
	x(memcpy) x(memmove) x(memset) x(memcmp) x(memchr) x(strlen) x(strcpy) x(strncpy)          \
		x(strcat) x(strcmp) x(strncmp) x(strchr) x(strrchr) x(malloc) x(calloc) x(realloc) \
			x(free) x(posix_memalign) x(aligned_alloc) x(strdup) x(_Znwm) x(_Znam)     \
				x(_ZdlPv) x(_ZdaPv) x(_ZdlPvm) x(_ZdaPvm) x(__cxa_guard_acquire)   \
					x(__cxa_guard_release)

#endif
