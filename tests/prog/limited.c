/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the clock often under a limit on the size of files: argument 1 is the limit that it sets
 * ("none": the one it has got), with argument 2 it handles SIGXFSZ. That signal must never come,
 * but for the program's own doing: at the end it writes too much itself, and must get it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define READINGS 300000

static volatile sig_atomic_t signals;

static void handle(int signal)
{
	(void)signal;
	signals++;
}

static int write_too_much(void)
{
	FILE *file = tmpfile();

	errno = 0;
	if (!file || pwrite(fileno(file), "x", 1, 1 << 30) >= 0 || errno != EFBIG)
		return 1;
	return signals != 1;
}

int main(int argc, char **argv)
{
	struct rlimit limit;
	struct timespec ts;
	unsigned long sum = 0;

	if (argc > 2)
		signal(SIGXFSZ, handle);
	getrlimit(RLIMIT_FSIZE, &limit);
	if (argc > 1 && strcmp(argv[1], "none") != 0) {
		limit.rlim_cur = strtoul(argv[1], NULL, 10);
		setrlimit(RLIMIT_FSIZE, &limit);
	}
	for (int i = 0; i < READINGS; i++) {
		clock_gettime(CLOCK_REALTIME, &ts);
		sum = sum * 31 + (unsigned long)ts.tv_nsec;
	}
	if (signals || (argc > 2 && write_too_much()))
		return 1;
	printf("done %lx\n", sum);
	return 0;
}
