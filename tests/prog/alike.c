/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops in which registers and memory of the program are the same each time: what goes on is in a
 * vector register, in a thread-local variable, in how much has been read, in memory that is shared,
 * or, while it runs on a stack of its own making, in the stack that it had, or below the new one.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

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

static __attribute__((noinline)) void by_shared(void)
{
	int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	__asm__ volatile("1: incl (%0)\n"
			 "passed_shared: nop\n\t"
			 "cmpl $1000, (%0)\n\t"
			 "jl 1b"
			 :
			 : "r"(shared)
			 : "memory", "cc");
}

/* On this stack. What is counted is somewhere else. */
static int own[16384] __attribute__((aligned(4096)));
static int *counted;
static ucontext_t before, there;

static void by_frame(void)
{
	__asm__ volatile("1: incl (%0)\n"
			 "passed_frame: nop\n\t"
			 "cmpl $1000, (%0)\n\t"
			 "jl 1b"
			 :
			 : "r"(counted)
			 : "memory", "cc");
}

static void by_own(void)
{
	__asm__ volatile("1: incl (%0)\n"
			 "passed_own: nop\n\t"
			 "cmpl $1000, (%0)\n\t"
			 "jl 1b"
			 :
			 : "r"(counted)
			 : "memory", "cc");
}

static __attribute__((noinline)) void elsewhere(void (*f)(void), int *what)
{
	getcontext(&there);
	there.uc_stack.ss_sp = own;
	there.uc_stack.ss_size = sizeof(own);
	there.uc_link = &before;
	counted = what;
	makecontext(&there, f, 0);
	swapcontext(&before, &there);
}

int main(void)
{
	int here = 0;

	by_vector();
	by_local();
	by_input();
	by_shared();
	elsewhere(by_frame, &here);
	elsewhere(by_own, own);
	printf("%d\n", count);
	return 0;
}
