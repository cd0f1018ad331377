/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A threaded server of lines: server WAY THREADS REQUESTS. One thread accepts and hands connections
 * to the others; each answers what it reads with its own number, the number of the request and a
 * count, and prints a line. WAY is how it waits: poll, select, or epoll (workers that share one
 * epoll descriptor, woken at the end by an eventfd). Ends after so many requests. The port is the
 * kernel's choice, on the first line of output.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ROOM 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int queue[ROOM], head, tail, over;
static int requests, wanted;
static int listener, epoll, waker, self_pipe[2];
static const char *way;

static void answer(int id, int fd, const char *line)
{
	char reply[160];
	int n, number;

	pthread_mutex_lock(&lock);
	number = ++requests;
	pthread_mutex_unlock(&lock);
	n = snprintf(reply, sizeof(reply), "%d %d %ld %s\n", id, number, (long)time(NULL), line);
	printf("%d on %d: %s", id, fd, reply);
	if (write(fd, reply, (size_t)n) != n)
		printf("%d cannot answer: %s\n", id, strerror(errno));
	if (number == wanted && write(self_pipe[1], "x", 1) != 1)
		abort();
}

/* 0: the connection is over. */
static int serve(int id, int fd)
{
	char line[100];
	ssize_t n = recv(fd, line, sizeof(line) - 1, 0);

	if (n <= 0)
		return 0;
	line[n] = 0;
	line[strcspn(line, "\r\n")] = 0;
	answer(id, fd, line);
	return 1;
}

static void await(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	fd_set set;
	int rc;

	do {
		if (strcmp(way, "select") == 0) {
			struct timeval tv = {0, 2000};

			FD_ZERO(&set);
			FD_SET(fd, &set);
			rc = select(fd + 1, &set, NULL, NULL, &tv);
		} else {
			rc = poll(&p, 1, 2);
		}
	} while (rc == 0);
}

static void *queue_worker(void *arg)
{
	int id = (int)(long)arg, fd;

	for (;;) {
		pthread_mutex_lock(&lock);
		while (head == tail && !over)
			pthread_cond_wait(&filled, &lock);
		if (head == tail) {
			pthread_mutex_unlock(&lock);
			return NULL;
		}
		fd = queue[head++ % ROOM];
		pthread_mutex_unlock(&lock);
		do
			await(fd);
		while (serve(id, fd));
		close(fd);
	}
}

static void *epoll_worker(void *arg)
{
	int id = (int)(long)arg;
	struct epoll_event event;
	uint64_t count;

	for (;;) {
		if (epoll_wait(epoll, &event, 1, -1) != 1)
			continue;
		if (event.data.fd == waker) {
			if (read(waker, &count, sizeof(count)) == sizeof(count))
				return NULL;
			continue;
		}
		if (!serve(id, event.data.fd)) {
			close(event.data.fd);
			continue;
		}
		event.events = EPOLLIN | EPOLLONESHOT;
		epoll_ctl(epoll, EPOLL_CTL_MOD, event.data.fd, &event);
	}
}

static void hand_over(int fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = fd};

	if (strcmp(way, "epoll") == 0) {
		epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
		return;
	}
	pthread_mutex_lock(&lock);
	queue[tail++ % ROOM] = fd;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
}

static void accept_all(void)
{
	struct pollfd p[2] = {{.fd = listener, .events = POLLIN},
			      {.fd = self_pipe[0], .events = POLLIN}};
	struct sockaddr_in from;
	char byte;

	while (poll(p, 2, -1) > 0 && !p[1].revents) {
		socklen_t length = sizeof(from);
		int fd = accept(listener, (struct sockaddr *)&from, &length);

		if (fd < 0)
			continue;
		printf("%d from port %d\n", fd, ntohs(from.sin_port));
		hand_over(fd);
	}
	if (read(self_pipe[0], &byte, 1) != 1)
		abort();
}

static void listen_somewhere(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(at);
	int one = 1;

	listener = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(listener, 64) != 0) {
		perror("listen");
		exit(3);
	}
	getsockname(listener, (struct sockaddr *)&at, &length);
	printf("port %d\n", ntohs(at.sin_port));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int threads = argc > 3 ? atoi(argv[2]) : 0;
	struct epoll_event wake = {.events = EPOLLIN};
	pthread_t t[ROOM];
	uint64_t all;

	if (argc != 4 || threads < 1 || threads > ROOM)
		return 2;
	way = argv[1];
	wanted = atoi(argv[3]);
	listen_somewhere();
	epoll = epoll_create1(EPOLL_CLOEXEC);
	waker = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK);
	if (pipe(self_pipe) != 0)
		return 3;
	wake.data.fd = waker;
	epoll_ctl(epoll, EPOLL_CTL_ADD, waker, &wake);
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, strcmp(way, "epoll") == 0 ? epoll_worker : queue_worker,
			       (void *)(long)i);
	accept_all();
	pthread_mutex_lock(&lock);
	over = 1;
	pthread_cond_broadcast(&filled);
	pthread_mutex_unlock(&lock);
	all = (uint64_t)threads;
	if (write(waker, &all, sizeof(all)) != sizeof(all))
		abort();
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	printf("%d requests, listener %d\n", requests, listener);
	return 7;
}
