/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four threads take inputs at the same time, of every kind: clocks, process and thread ids, random
 * numbers by call and by device, lines and bytes of standard input, messages from a pipe and a
 * socket that other threads fill. Each prints a digest of what it got.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "mix.h"

#define THREADS 4
#define STEPS 60

static int pipe_fds[2], sockets[2], urandom;

static __thread uint64_t digest;

static void add(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i++)
		digest = (digest ^ p[i]) * 0x100000001b3ull;
}

static void clocks(void)
{
	struct timespec ts;
	struct timeval tv;
	time_t now = time(NULL);

	clock_gettime(CLOCK_MONOTONIC, &ts);
	add(&ts, sizeof(ts));
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	add(&ts, sizeof(ts));
	gettimeofday(&tv, NULL);
	add(&tv, sizeof(tv));
	add(&now, sizeof(now));
}

static void ids(void)
{
	pid_t id[3] = {getpid(), getppid(), gettid()};

	add(id, sizeof(id));
}

static void random_numbers(void)
{
	unsigned char bytes[24];
	uint32_t word = arc4random();

	if (getrandom(bytes, 8, 0) != 8 || getentropy(bytes + 8, 8) != 0 ||
	    read(urandom, bytes + 16, 8) != 8)
		abort();
	add(bytes, sizeof(bytes));
	add(&word, sizeof(word));
}

/* Which thread gets which line is their race. */
static void standard_input(void)
{
	char line[64];

	if (next() % 2) {
		ssize_t n = read(STDIN_FILENO, line, 5);

		if (n > 0)
			add(line, (size_t)n);
	} else if (fgets(line, sizeof(line), stdin)) {
		add(line, strlen(line));
	}
}

static void messages(void)
{
	struct pollfd ready[2] = {{pipe_fds[0], POLLIN, 0}, {sockets[0], POLLIN, 0}};
	struct timeval soon = {0, 1000};
	uint64_t word = next();
	fd_set set;

	if (write(word % 2 ? pipe_fds[1] : sockets[1], &word, sizeof(word)) != sizeof(word))
		abort();
	if (poll(ready, 2, 1) > 0)
		add(ready, sizeof(ready));
	FD_ZERO(&set);
	FD_SET(pipe_fds[0], &set);
	if (select(pipe_fds[0] + 1, &set, NULL, NULL, &soon) == 1 &&
	    read(pipe_fds[0], &word, sizeof(word)) == sizeof(word))
		add(&word, sizeof(word));
	if (recv(sockets[0], &word, sizeof(word), MSG_DONTWAIT) == sizeof(word))
		add(&word, sizeof(word));
}

static void *work(void *arg)
{
	static void (*const ways[])(void) = {clocks, ids, random_numbers, standard_input, messages};
	uintptr_t id = (uintptr_t)arg;

	x = id * 1000003;
	digest = id;
	for (int i = 0; i < STEPS; i++)
		ways[next() % 5]();
	printf("thread %d: %016lx\n", (int)id, (unsigned long)digest);
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];

	urandom = open("/dev/urandom", O_RDONLY);
	if (urandom < 0 || pipe(pipe_fds) != 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) != 0)
		return 1;
	fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
