/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes to a pipe or a socket, each way, and prints nothing of it: gives WAY FILE. If there is a
 * file FILE, it writes something else, of the same length or, with WAY "longer", of another one.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHARED 65536

static const char *text;
static int to, from;

static int drain(size_t n)
{
	char bytes[64];

	return read(from, bytes, n) != (ssize_t)n;
}

static int write_one(void)
{
	return write(to, text, 8) != 8 || drain(8);
}

static void *write_in_thread(void *arg)
{
	return write_one() ? arg : NULL;
}

static int in_thread(void)
{
	void *failed;
	pthread_t t;

	return pthread_create(&t, NULL, write_in_thread, &to) || pthread_join(t, &failed) || failed;
}

/* A child ends with what it was given. */
static int to_child(void)
{
	int ends[2], status = 0;
	pid_t pid;

	if (pipe(ends) != 0)
		return 1;
	pid = fork();
	if (pid == 0) {
		char bytes[8] = "";

		_exit(read(ends[0], bytes, 8) != 8);
	}
	if (write(ends[1], text, 8) != 8)
		return 1;
	return waitpid(pid, &status, 0) != pid || status;
}

static int by_stream(void)
{
	FILE *f = fdopen(to, "w");

	return !f || fprintf(f, "%s", text) < 8 || fflush(f) != 0 || drain(8);
}

static int many(void)
{
	struct iovec parts[] = {{"always", 6}, {(void *)text, 8}};
	struct mmsghdr m[] = {{.msg_hdr = {.msg_iov = parts, .msg_iovlen = 1}},
			      {.msg_hdr = {.msg_iov = parts, .msg_iovlen = 2}}};

	return sendmmsg(to, m, 2, 0) != 2 || drain(20);
}

static int one_of_two(void)
{
	struct iovec parts[] = {{"always", 6}, {(void *)text, 8}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};

	return sendmsg(to, &m, 0) != 14 || drain(14);
}

static int parts(void)
{
	struct iovec parts[] = {{"always", 6}, {(void *)text, 8}};

	return writev(to, parts, 2) != 14 || drain(14);
}

static int printed(void)
{
	return dprintf(to, "%s", text) != 8 || drain(8);
}

static int event(void)
{
	int fd = eventfd(0, 0);
	uint64_t value = 0;

	return eventfd_write(fd, strlen(text)) || eventfd_read(fd, &value) || !value;
}

static int queue(void)
{
	struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = 8};
	mqd_t q;

	mq_unlink("/reprise-gives");
	q = mq_open("/reprise-gives", O_RDWR | O_CREAT, 0600, &attr);
	return q == -1 || mq_send(q, text, 8, 1) != 0 || mq_unlink("/reprise-gives") != 0;
}

static int by_popen(void)
{
	FILE *f = popen("cat >/dev/null", "w");

	return !f || fputs(text, f) < 0 || pclose(f) != 0;
}

/* A position of -1 is that of a stream. */
static int at_the_end(void)
{
	struct iovec part = {(void *)text, 8};

	return pwritev2(to, &part, 1, -1, 0) != 8 || drain(8);
}

/* Whoever reads it all may do with the memory what it likes. */
static void *take(void *memory)
{
	size_t left = SHARED;

	for (char bytes[4096]; left;) {
		ssize_t n = read(from, bytes, sizeof(bytes));

		if (n <= 0)
			return NULL;
		left -= (size_t)n;
	}
	munmap(memory, SHARED);
	return memory;
}

static int handed(void)
{
	for (int i = 0; i < 20; i++) {
		char *memory = mmap(NULL, SHARED, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		void *taken;
		pthread_t t;

		memset(memory, i + 1, SHARED);
		if (pthread_create(&t, NULL, take, memory) != 0 ||
		    write(to, memory, SHARED) != SHARED || pthread_join(t, &taken) || !taken)
			return 1;
	}
	return 0;
}

/* All of these fail, as they do natively. */
static int unreadable(void)
{
	static char there[8];
	volatile size_t most = (size_t)-1;
	void *volatile nowhere = NULL;

	return write(to, (void *)16, 8) != -1 || write(to, nowhere, 8) != -1 ||
	       writev(to, nowhere, 1) != -1 || sendmsg(to, NULL, 0) != -1 ||
	       sendmmsg(to, NULL, 1, 0) != -1 || send(to, (void *)-4096, 8192, 0) != -1 ||
	       write(to, there, most) != -1;
}

static void *sleep_a_little(void *arg)
{
	usleep(20000);
	return arg;
}

/* How often is chance. */
static int asks(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, sleep_a_little, NULL) != 0)
		return 1;
	while (pthread_tryjoin_np(t, NULL) == EBUSY)
		kill(getpid(), 0);
	return raise(0);
}

/* More than there is room for: it is the part that was taken which counts. */
static int partly(void)
{
	static char much[1 << 20];

	memset(much, text[1], sizeof(much));
	return send(to, much, sizeof(much), MSG_DONTWAIT) <= 0;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	int other = argc > 2 && pathconf(argv[2], _PC_NAME_MAX) > 0, ends[2];

	text = other ? "another\n" : "a text.\n";
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return 1;
	to = ends[0];
	from = ends[1];
	if (strcmp(way, "print") == 0)
		return send(1, text, 8, 0) != 8;
	puts("begins");
	if (strcmp(way, "write") == 0)
		return write_one();
	if (strcmp(way, "thread") == 0)
		return in_thread();
	if (strcmp(way, "child") == 0)
		return to_child();
	if (strcmp(way, "stream") == 0)
		return by_stream();
	if (strcmp(way, "writev") == 0)
		return parts();
	if (strcmp(way, "send") == 0)
		return send(to, text, 8, 0) != 8 || drain(8);
	if (strcmp(way, "sendto") == 0)
		return sendto(to, text, 8, 0, NULL, 0) != 8 || drain(8);
	if (strcmp(way, "sendmsg") == 0)
		return one_of_two();
	if (strcmp(way, "sendmmsg") == 0)
		return many();
	if (strcmp(way, "dprintf") == 0)
		return printed();
	if (strcmp(way, "queue") == 0)
		return queue();
	if (strcmp(way, "partly") == 0)
		return partly();
	if (strcmp(way, "event") == 0) {
		text = other ? "x" : "xx";
		return event();
	}
	if (strcmp(way, "popen") == 0)
		return by_popen();
	if (strcmp(way, "pwritev2") == 0)
		return at_the_end();
	if (strcmp(way, "elsewhere") == 0) {
		text = "a text.";
		return write(other ? from : to, text, 8) != 8;
	}
	if (strcmp(way, "handed") == 0)
		return handed();
	if (strcmp(way, "unreadable") == 0)
		return unreadable() || write_one();
	if (strcmp(way, "asks") == 0)
		return asks();
	if (strcmp(way, "shorter") == 0) {
		text = other ? "a" : "a text.";
		return write(to, text, strlen(text)) <= 0;
	}
	if (strcmp(way, "longer") == 0) {
		text = other ? "a text. And more." : "a text.";
		/* The other end may take as much as before. */
		return write(to, text, strlen(text)) <= 0;
	}
	return 2;
}
