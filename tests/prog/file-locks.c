/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file-locks NAME: threads that keep each other out by locks on a file, which each of them has
 * opened: flock, and a lock of the open file by fcntl. In which order they were in is printed.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#define THREADS 4
#define TURNS 50

static const char *name;
static char order[THREADS * TURNS + 1];
static int entered;

static void set_range(int fd, short type)
{
	struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_len = 1};

	if (fcntl(fd, F_OFD_SETLKW, &range) != 0)
		abort();
}

static void *work(void *arg)
{
	int fd = open(name, O_RDWR | O_CREAT, 0600);

	for (int i = 0; i < TURNS; i++) {
		if (i % 2)
			set_range(fd, F_WRLCK);
		else if (flock(fd, LOCK_EX) != 0)
			abort();
		if (i % 2 == 0)
			set_range(fd, F_WRLCK);
		order[entered++] = (char)('a' + (long)arg);
		set_range(fd, F_UNLCK);
		if (i % 2 == 0)
			flock(fd, LOCK_UN);
	}
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];

	if (argc != 2)
		return 2;
	name = argv[1];
	for (long i = 0; i < THREADS; i++) {
		if (pthread_create(&thread[i], NULL, work, (void *)i))
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	puts(order);
	return 0;
}
