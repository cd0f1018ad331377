/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops in which registers and memory of the program are the same each time: what goes on is in a
 * vector register, in a thread-local variable, or in how much has been read.
 */
#include <stdio.h>

__thread int count;

static __attribute__((noinline)) void by_vector(void)
{
	for (double x = 0; x < 1000; x += 1)
		__asm__ volatile("movapd %0, %%xmm7\n"
				 "passed_vector: nop"
				 :
				 : "x"(x)
				 : "xmm7");
}

static __attribute__((noinline)) void by_local(void)
{
	__asm__ volatile("1: incl %%fs:count@tpoff\n"
			 "passed_local: nop\n\t"
			 "cmpl $1000, %%fs:count@tpoff\n\t"
			 "jl 1b"
			 :
			 :
			 : "memory", "cc");
}

static __attribute__((noinline)) void by_input(void)
{
	while (getchar() == 'x')
		__asm__ volatile("passed_input: nop");
}

int main(void)
{
	by_vector();
	by_local();
	by_input();
	printf("%d\n", count);
	return 0;
}
