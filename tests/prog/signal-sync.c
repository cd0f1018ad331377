/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal-sync HOW [TOKENS [MICROSECONDS]]: the handler of a timer's signals is the only one that
 * lets the threads of the program go on.
 *   posts   it posts a semaphore that they all wait for
 *   pipes   it writes to a pipe that they all read
 *   waits   they wait on a condition, which one of them signals when the handler has posted
 *   masked  the same as posts, by threads that are made with a mask of their own, again and again
 *   given   one thread comes to no call after it has given a lock back, until another, that had the
 *           lock next, has sent it a signal
 *   twice   two signals that wait for the same call: one handler after the other
 * Prints which thread had which token, and what the handlers found the semaphore's value to be.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define THREADS 4
#define MOST 100000

static sem_t posted;
static int ends[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int tokens, used, offered;
static char users[MOST + 1];
static atomic_ulong values;
static sem_t ready;
static volatile sig_atomic_t writes, handled, sent;

static void handle(int sig)
{
	static _Thread_local int at_work;
	int error = errno, value;

	(void)sig;
	if (at_work++)
		abort();
	if (writes) {
		if (write(ends[1], "t", 1) != 1 && errno != EAGAIN)
			abort();
	} else {
		sem_getvalue(&posted, &value);
		values += (unsigned long)value;
		sem_post(&posted);
	}
	at_work--;
	handled++;
	errno = error;
}

static void every(long us)
{
	struct itimerval value = {{0, us}, {0, us}};

	if (setitimer(ITIMER_REAL, &value, NULL) != 0)
		abort();
}

/* The next token is the caller's; false: there are enough. */
static int use(long who)
{
	int more;

	pthread_mutex_lock(&lock);
	more = used < tokens;
	if (more)
		users[used++] = (char)('a' + who);
	pthread_mutex_unlock(&lock);
	return more;
}

static void *takes(void *who)
{
	do {
		while (sem_wait(&posted) != 0)
			;
	} while (use((long)who));
	sem_post(&posted);
	return NULL;
}

static void *takes_once(void *who)
{
	while (sem_wait(&posted) != 0)
		;
	use((long)who);
	return NULL;
}

static void *reads(void *who)
{
	char byte;

	do {
		while (read(ends[0], &byte, 1) != 1)
			;
	} while (use((long)who));
	return NULL;
}

static void *waits(void *who)
{
	int more = 1;

	while (more) {
		pthread_mutex_lock(&lock);
		while (!offered && used < tokens)
			pthread_cond_wait(&changed, &lock);
		more = used < tokens;
		if (more) {
			offered--;
			users[used++] = (char)('a' + (long)who);
		}
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void offer(void)
{
	for (int i = 0; i < tokens; i++) {
		while (sem_wait(&posted) != 0)
			;
		pthread_mutex_lock(&lock);
		offered++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	while (used < tokens) {
		pthread_mutex_unlock(&lock);
		usleep(1000);
		pthread_mutex_lock(&lock);
	}
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void *computes(void *unused)
{
	pthread_mutex_lock(&lock);
	sem_post(&posted);
	pthread_mutex_unlock(&lock);
	while (!handled)
		;
	return unused;
}

static void given(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, computes, NULL) != 0)
		abort();
	sem_wait(&posted);
	pthread_mutex_lock(&lock);
	if (write(ends[1], "m", 1) != 1)
		abort();
	pthread_mutex_unlock(&lock);
	pthread_kill(thread, SIGUSR1);
	pthread_join(thread, NULL);
	if (read(ends[0], users, 2) != 2)
		abort();
}

static void *looks(void *unused)
{
	struct timespec now;

	sem_post(&ready);
	while (!sent)
		;
	while (handled < 2)
		clock_gettime(CLOCK_MONOTONIC, &now);
	return unused;
}

static void twice(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, looks, NULL) != 0)
		abort();
	sem_wait(&ready);
	pthread_kill(thread, SIGRTMIN);
	pthread_kill(thread, SIGRTMIN);
	sent = 1;
	pthread_join(thread, NULL);
	sem_getvalue(&posted, &used);
	users[0] = (char)('0' + used);
}

static void run(void *(*work)(void *), const pthread_attr_t *attr, void (*meanwhile)(void))
{
	pthread_t thread[THREADS];

	for (long i = 0; i < THREADS; i++) {
		if (pthread_create(&thread[i], attr, work, (void *)i) != 0)
			abort();
	}
	if (meanwhile)
		meanwhile();
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

static void masked(void)
{
	pthread_attr_t attr;
	sigset_t none;

	sigemptyset(&none);
	pthread_attr_init(&attr);
	pthread_attr_setsigmask_np(&attr, &none);
	while (used < tokens)
		run(takes_once, &attr, NULL);
	pthread_attr_destroy(&attr);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
	const char *how = argc > 1 ? argv[1] : "";
	long period = argc > 3 ? atol(argv[3]) : 700;

	tokens = argc > 2 ? atoi(argv[2]) : 100;
	if (tokens > MOST || pipe(ends) != 0)
		return 2;
	sem_init(&posted, 0, 0);
	sem_init(&ready, 0, 0);
	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGRTMIN, &action, NULL);
	writes = strcmp(how, "pipes") == 0 || strcmp(how, "given") == 0;
	if (strcmp(how, "given") == 0) {
		given();
	} else if (strcmp(how, "twice") == 0) {
		twice();
	} else {
		every(period);
		if (strcmp(how, "posts") == 0)
			run(takes, NULL, NULL);
		else if (strcmp(how, "pipes") == 0)
			run(reads, NULL, NULL);
		else if (strcmp(how, "waits") == 0)
			run(waits, NULL, offer);
		else if (strcmp(how, "masked") == 0)
			masked();
		else
			return 2;
		every(0);
	}
	printf("%s %lu\n", users, values);
	return 0;
}
