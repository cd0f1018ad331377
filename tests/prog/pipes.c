/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that send each other pointers through a pipe, and a child process at the other end of a
 * pair of sockets, read by stdio: what a pointer points to must be there when it is read, and the
 * child must get all it is sent. The order of the threads varies.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITERS 4
#define LETTERS 60
#define BYTES 300000

struct letter {
	int from, number;
	uint64_t seal;
};

static int post[2];

static void *writer(void *arg)
{
	int from = (int)(long)arg;

	for (int i = 0; i < LETTERS; i++) {
		struct letter *l = malloc(sizeof(*l));

		l->from = from;
		l->number = i;
		l->seal = (uint64_t)(from * 1000 + i) * 0x9e3779b97f4a7c15ull;
		if (write(post[1], &l, sizeof(l)) != sizeof(l))
			abort();
		if (i % 7 == from)
			usleep(50);
	}
	return NULL;
}

static void letters(void)
{
	pthread_t t[WRITERS];
	struct letter *l;

	if (pipe(post) != 0)
		abort();
	for (long i = 0; i < WRITERS; i++)
		pthread_create(&t[i], NULL, writer, (void *)i);
	for (int i = 0; i < WRITERS * LETTERS; i++) {
		if (read(post[0], &l, sizeof(l)) != sizeof(l))
			abort();
		if (l->seal != (uint64_t)(l->from * 1000 + l->number) * 0x9e3779b97f4a7c15ull)
			abort();
		printf("%d.%d\n", l->from, l->number);
		free(l);
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(t[i], NULL);
	close(post[0]);
	close(post[1]);
}

static int child(int fd)
{
	unsigned char bytes[5000];
	unsigned long sum = 0, count = 0;
	ssize_t n;

	while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			sum = sum * 31 + bytes[i];
		count += (unsigned long)n;
	}
	dprintf(fd, "%lu bytes\n%lx\n", count, sum);
	return 0;
}

static void send_all(int fd)
{
	static unsigned char bytes[BYTES];

	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (unsigned char)(i * 7 + i / 1000);
	for (size_t done = 0; done < BYTES;) {
		ssize_t n = write(fd, bytes + done, BYTES - done);

		if (n <= 0)
			abort();
		done += (size_t)n;
	}
	shutdown(fd, SHUT_WR);
}

static void family(void)
{
	int pair[2], status;
	char line[100];
	FILE *f;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		abort();
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		close(pair[0]);
		_exit(child(pair[1]));
	}
	close(pair[1]);
	send_all(pair[0]);
	f = fdopen(pair[0], "r");
	while (fgets(line, sizeof(line), f))
		printf("child: %s", line);
	fclose(f);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		abort();
}

int main(void)
{
	letters();
	family();
	printf("next descriptor %d\n", open("/dev/null", O_RDONLY));
	return 0;
}
