/* SPDX-License-Identifier: Apache-2.0 */
/* Has children that print, one after the other, and becomes another program at the end. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static unsigned long work(unsigned long hash)
{
	struct timespec ts;

	for (int i = 0; i < 20; i++) {
		for (unsigned long k = 0; k < 200000; k++)
			hash = (hash ^ k) * 0x9e3779b97f4a7c15ul;
		clock_gettime(CLOCK_MONOTONIC, &ts);
	}
	return hash;
}

int main(int argc, char **argv)
{
	unsigned long hash = 7;

	if (argc > 1) {
		clock_gettime(CLOCK_MONOTONIC, &(struct timespec){0});
		printf("became another one\n");
		return 3;
	}
	for (int i = 0; i < 12; i++) {
		hash = work(hash);
		printf("%d %016lx\n", i, hash);
		fflush(stdout);
		if (system("echo child; exit 5") >> 8 != 5)
			return 1;
	}
	work(hash);
	execl(argv[0], argv[0], "again", (char *)NULL);
	return 1;
}
