/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A system call past libc, for code that runs where libc has no state to rely on, or where its
 * functions are the hooks'. Always inlined: such code may be moved elsewhere.
 */
#ifndef BASE_RAW_H
#define BASE_RAW_H

/* Returns what the kernel does: -errno if it failed. */
static inline __attribute__((always_inline)) long rp_raw_call(long n, long a, long b, long c,
							      long d, long e, long f)
{
	/* cppcheck-suppress constStatement */
	register long r10 __asm__("r10") = d;
	/* cppcheck-suppress constStatement */
	register long r8 __asm__("r8") = e;
	/* cppcheck-suppress constStatement */
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

#endif
