/* SPDX-License-Identifier: Apache-2.0 */
/* Works for a while, prints a hash, and dies of SIGSEGV. */
#include <stdio.h>

int main(void)
{
	unsigned long hash = 7;
	volatile int *nowhere = NULL;

	for (int i = 0; i < 100; i++) {
		for (unsigned long k = 0; k < 1000000; k++)
			hash = (hash ^ k) * 0x9e3779b97f4a7c15ul;
		printf("%d %016lx\n", i, hash);
		fflush(stdout);
	}
	return *nowhere;
}
