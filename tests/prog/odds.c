/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rarer ways to use descriptors: odds HOW. HOW is what happens first: "loop", "range" and "from"
 * close all descriptors that the program does not know, "few" allows it only a few, "full" closes
 * them when no more can be had, "none" is nothing; with "late" the loop comes when the first thread
 * has been, with "many" and "kept" it opens many then, and closes them at once or not at all. Then
 * threads print their numbers, count by eventfd_read and eventfd_write, read nothing from a pipe,
 * and much from a child at once.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUCH (3 << 20)

static int events;

static int open_many(int most)
{
	int n = 0;

	while (n < most && open("/dev/null", O_RDONLY) >= 0)
		n++;
	return n;
}

static void begin(const char *how)
{
	struct rlimit few = {40, 40};

	if (strcmp(how, "loop") == 0) {
		for (int fd = 3; fd < 2000; fd++)
			close(fd);
	} else if (strcmp(how, "range") == 0) {
		close_range(3, ~0u, 0);
	} else if (strcmp(how, "from") == 0) {
		closefrom(3);
	} else if (strcmp(how, "late") == 0) {
		for (int fd = 3; fd < 2000 && events; fd++) {
			if (fd != events)
				close(fd);
		}
	} else if (strcmp(how, "few") == 0) {
		setrlimit(RLIMIT_NOFILE, &few);
	} else if (strcmp(how, "full") == 0) {
		setrlimit(RLIMIT_NOFILE, &few);
		open_many(100);
		close_range(3, ~0u, 0);
	} else if (strcmp(how, "many") == 0 || strcmp(how, "kept") == 0) {
		int n = events ? open_many(300) : 0;

		if (n && strcmp(how, "many") == 0)
			close_range((unsigned int)events + 1, ~0u, 0);
	}
}

static void *thread(void *arg)
{
	eventfd_t count;
	cpu_set_t set;
	char bytes[8];
	struct iovec nothing = {bytes, 0}, here = {bytes, sizeof(bytes)},
		     there = {&count, sizeof(count)};
	int ends[2];

	eventfd_write(events, (eventfd_t)(long)arg);
	if (eventfd_read(events, &count) != 0 || pipe(ends) != 0)
		abort();
	dprintf(ends[1], "%d", 42);
	printf("thread %d is there: %d, %lu, %zd bytes of nothing\n", gettid(),
	       sched_getaffinity(gettid(), sizeof(set), &set) == 0 &&
		       tgkill(getpid(), gettid(), 0) == 0 &&
		       process_vm_readv(getpid(), &here, 1, &there, 1, 0) == sizeof(count),
	       (unsigned long)count, readv(ends[0], &nothing, 1));
	printf("%zd bytes on %d and %d\n", read(ends[0], bytes, sizeof(bytes)), ends[0], ends[1]);
	close(ends[0]);
	close(ends[1]);
	return NULL;
}

static void much(void)
{
	static unsigned char bytes[MUCH];
	unsigned long sum = 0;
	int pair[2], seed = (int)getpid();
	ssize_t n;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		abort();
	if (fork() == 0) {
		for (size_t i = 0; i < MUCH; i++)
			bytes[i] = (unsigned char)(i * 7 + (size_t)seed);
		for (size_t done = 0; done < MUCH; done += (size_t)n) {
			n = write(pair[1], bytes + done, MUCH - done);
			if (n <= 0)
				_exit(1);
		}
		_exit(0);
	}
	close(pair[1]);
	n = recv(pair[0], bytes, MUCH, MSG_WAITALL);
	for (ssize_t i = 0; i < n; i++)
		sum = sum * 31 + bytes[i];
	printf("%zd bytes, %lx\n", n, sum);
	wait(NULL);
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc != 2)
		return 2;
	begin(argv[1]);
	events = eventfd(0, 0);
	printf("thread %d of process %d, events from %d\n", gettid(), getpid(), events);
	fflush(stdout);
	much();
	for (long i = 1; i < 4; i++) {
		pthread_create(&t, NULL, thread, (void *)i);
		pthread_join(t, NULL);
		if (i == 1 && (!strcmp(argv[1], "late") || !strcmp(argv[1], "many") ||
			       !strcmp(argv[1], "kept")))
			begin(argv[1]);
	}
	return 0;
}
