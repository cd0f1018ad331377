/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc's memcpy and its kin for our own code. By their plain names we would get a sanitizer's,
 * which would report what our threads pass to each other as races of the program. A library that
 * stands in for libc has them without a version, so we ask for libc's by version. Compiled apart,
 * so that the compiler does not turn this code into calls of itself.
 */
#include <dlfcn.h>
#include <stddef.h>

#define HIDDEN __attribute__((visibility("hidden"), used))

#define BYTES(result, name, version, params, args)                                                 \
	HIDDEN result name params;                                                                 \
	HIDDEN result name params                                                                  \
	{                                                                                          \
		static result(*real) params;                                                       \
                                                                                                   \
		if (__builtin_expect(!real, 0))                                                    \
			*(void **)&real = dlvsym(RTLD_NEXT, #name, version);                       \
		return real args;                                                                  \
	}

BYTES(void *, memcpy, "GLIBC_2.14", (void *to, const void *from, size_t n), (to, from, n))
BYTES(void *, memmove, "GLIBC_2.2.5", (void *to, const void *from, size_t n), (to, from, n))
BYTES(void *, memset, "GLIBC_2.2.5", (void *to, int byte, size_t n), (to, byte, n))
BYTES(int, memcmp, "GLIBC_2.2.5", (const void *a, const void *b, size_t n), (a, b, n))
BYTES(char *, strcpy, "GLIBC_2.2.5", (char *to, const char *from), (to, from))
BYTES(char *, strncpy, "GLIBC_2.2.5", (char *to, const char *from, size_t n), (to, from, n))
BYTES(size_t, strlen, "GLIBC_2.2.5", (const char *text), (text))
