/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the processor itself for the time and for a random number. */
#include <stdio.h>

int main(void)
{
#if defined(__x86_64__)
	unsigned long number = 0;

	if (__builtin_cpu_supports("rdrnd"))
		__asm__ volatile("rdrand %0" : "=r"(number) : : "cc");
	printf("%llu %lu\n", (unsigned long long)__builtin_ia32_rdtsc(), number);
	return 0;
#else
	return 77;
#endif
}
