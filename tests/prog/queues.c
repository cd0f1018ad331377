/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that talk through POSIX message queues, and a signal that tells of a message. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EACH 40

static mqd_t queue;
static volatile sig_atomic_t told;

static void on_message(int sig)
{
	(void)sig;
	told++;
}

static void *sends(void *arg)
{
	for (int i = 0; i < EACH; i++) {
		char c = (char)('a' + (long)arg);

		if (mq_send(queue, &c, 1, (unsigned int)(i % 3)) != 0)
			abort();
	}
	return NULL;
}

static void receive_all(char *got)
{
	unsigned int priority, sum = 0;

	for (int i = 0; i < 3 * EACH; i++) {
		if (mq_receive(queue, got + i, 1, &priority) != 1)
			abort();
		sum += priority * (unsigned int)i;
	}
	printf("%s %u\n", got, sum);
}

/* Nothing comes: it is late, or at once. */
static void receive_none(void)
{
	struct mq_attr attr = {.mq_flags = O_NONBLOCK}, old;
	struct timespec now;
	char byte;

	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_nsec = (now.tv_nsec + 10000000) % 1000000000;
	if (mq_timedreceive(queue, &byte, 1, NULL, &now) != -1 || errno != ETIMEDOUT)
		abort();
	if (mq_setattr(queue, &attr, &old) != 0 || old.mq_maxmsg != 10)
		abort();
	if (mq_receive(queue, &byte, 1, NULL) != -1 || errno != EAGAIN)
		abort();
	if (mq_getattr(queue, &attr) != 0)
		abort();
	printf("%ld messages, flags %ld\n", attr.mq_curmsgs, attr.mq_flags);
}

static void be_told(void)
{
	struct sigevent by_signal = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};

	signal(SIGUSR1, on_message);
	if (mq_notify(queue, &by_signal) != 0)
		abort();
	if (mq_send(queue, "m", 1, 0) != 0)
		abort();
	while (!told)
		usleep(100);
	printf("told %d\n", (int)told);
}

int main(int argc, char **argv)
{
	struct mq_attr attr = {.mq_maxmsg = 10, .mq_msgsize = 1};
	char name[64], got[3 * EACH + 1] = "";
	pthread_t thread[3];

	snprintf(name, sizeof(name), "/reprise-%s", argc > 1 ? argv[1] : "");
	queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attr);
	if (queue < 0 && errno == ENOSYS)
		return 77;
	if (queue < 0 || mq_unlink(name) != 0)
		abort();
	for (long i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, sends, (void *)i);
	receive_all(got);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	receive_none();
	be_told();
	return mq_close(queue);
}
