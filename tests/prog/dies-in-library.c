/* SPDX-License-Identifier: Apache-2.0 */
/* It aborts in a function of a library that has no name. */
#include <stdlib.h>

void odd(int n);

#ifdef LIBRARY
static __attribute__((noinline)) int inner(int n)
{
	if (n > 0)
		abort();
	return n;
}

void odd(int n)
{
	exit(inner(n) + 1);
}
#else
int main(int argc, char **argv)
{
	(void)argv;
	odd(argc);
	return 0;
}
#endif
