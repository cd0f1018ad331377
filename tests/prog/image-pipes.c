/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that speak with each other by pipes: one writes, one passes on, one reads and prints what
 * its hash has become. The pipe between the last two is nearly always filled; the other one does
 * not block. Some of the ends have a second number.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STEPS 3000
#define AHEAD 900

static int first[2], second[2], again;

static void mix(unsigned long *hash, unsigned long x)
{
	*hash = (*hash ^ x) * 0x9e3779b97f4a7c15ul;
	*hash ^= *hash >> 29;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void *write_all(void *unused)
{
	unsigned long hash = 7;

	for (unsigned long i = 0; i < STEPS; i++) {
		for (int k = 0; k < 20000; k++)
			mix(&hash, i);
		while (write(first[1], &hash, sizeof(hash)) != sizeof(hash)) {
			if (errno != EAGAIN)
				fail("write");
			sched_yield();
		}
	}
	close(first[1]);
	return unused;
}

static void *pass_on(void *unused)
{
	unsigned long x;
	ssize_t n;

	while ((n = read(first[0], &x, sizeof(x))) != 0) {
		if (n < 0 && errno == EAGAIN) {
			sched_yield();
			continue;
		}
		if (n != sizeof(x) || write(again, &x, sizeof(x)) != sizeof(x))
			fail("pass on");
	}
	close(again);
	close(second[1]);
	return unused;
}

int main(void)
{
	unsigned long hash = 7, got[AHEAD], x;
	pthread_t writer, passer;
	ssize_t n;

	if (pipe2(first, O_NONBLOCK) != 0 || pipe(second) != 0)
		fail("pipe");
	again = dup(second[1]);
	/* So much the last one stays behind. */
	for (unsigned long i = 0; i < AHEAD; i++)
		got[i] = i;
	if (write(second[1], got, sizeof(got)) != sizeof(got))
		fail("fill");
	pthread_create(&writer, NULL, write_all, NULL);
	pthread_create(&passer, NULL, pass_on, NULL);
	for (int i = 0; (n = read(second[0], &x, sizeof(x))) == sizeof(x); i++) {
		for (int k = 0; k < 20000; k++)
			mix(&hash, x);
		if (i % 100 == 0)
			printf("%d %016lx\n", i, hash);
		fflush(stdout);
	}
	pthread_join(writer, NULL);
	pthread_join(passer, NULL);
	printf("end %zd %016lx\n", n, hash);
	return 3;
}
