/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program without MPI: prints the time, its process number and a random number, echoes its
 * standard input, and ends with the status its argument names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct timespec now;
	unsigned number = 0;
	int c;

	clock_gettime(CLOCK_REALTIME, &now);
	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return 125;
	printf("%lld.%09ld %d %u\n", (long long)now.tv_sec, now.tv_nsec, (int)getpid(), number);
	while ((c = getchar()) != EOF)
		putchar(c);
	return argc > 1 ? atoi(argv[1]) : 0;
}
