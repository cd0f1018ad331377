/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals HOW: handlers that print what the program had counted when they ran.
 *   calls    an interval timer, and a loop of calls that are recorded or ordered
 *   prints   the same, and the loop prints
 *   spins    a loop that makes no call at all until the handler says so
 *   raised   signals that the program sends to itself, blocks and lets through
 *   sleeps   calls that are interrupted, or wait for a signal
 *   workers  threads at work until SIGTERM comes from outside
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t ticks;
static volatile long count;
static int pipe_of_handler[2];

static void say(const char *what, long n)
{
	char line[80];
	int length = snprintf(line, sizeof(line), "%s %ld\n", what, n);

	if (write(1, line, (size_t)length) != length)
		abort();
}

static void on_tick(int sig)
{
	(void)sig;
	ticks++;
	say("tick at", count);
}

static void on_info(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code == SI_QUEUE)
		say("value", info->si_value.sival_int);
	else
		say(info->si_code == SI_USER || info->si_code == SI_TKILL ? "sent" : "other", sig);
	ticks++;
}

static void on_term(int sig)
{
	(void)sig;
	if (write(pipe_of_handler[1], "t", 1) != 1)
		abort();
}

static void arm(long us, long again)
{
	struct itimerval value = {{0, again}, {0, us}};

	if (setitimer(ITIMER_REAL, &value, NULL) != 0)
		abort();
}

static void handle(int sig, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;

	sigemptyset(&action.sa_mask);
	if (sigaction(sig, &action, NULL) != 0 || sigaction(sig, NULL, &old) != 0 ||
	    old.sa_handler != handler)
		abort();
}

static void calls(int prints)
{
	struct timespec now;

	handle(SIGALRM, on_tick, SA_RESTART);
	arm(3000, 3000);
	while (ticks < 20) {
		count++;
		if (prints)
			printf("%ld\n", count);
		else
			clock_gettime(CLOCK_MONOTONIC, &now);
	}
	arm(0, 0);
	fflush(stdout);
	say("counted", count);
}

static void spins(void)
{
	handle(SIGALRM, on_tick, 0);
	alarm(1);
	while (!ticks)
		;
	say("ticks", ticks);
}

static void raised(void)
{
	struct sigaction action = {.sa_sigaction = on_info, .sa_flags = SA_SIGINFO};
	union sigval value;
	sigset_t set, old;

	sigemptyset(&action.sa_mask);
	sigaction(SIGUSR1, &action, NULL);
	signal(SIGUSR2, on_tick);
	for (count = 1; count <= 3; count++) {
		raise(SIGUSR1);
		say("raised", ticks);
		kill(getpid(), SIGUSR2);
		say("sent", ticks);
		value.sival_int = 100 + count;
		say("queued", sigqueue(getpid(), SIGUSR1, value));
		say("queued again", pthread_sigqueue(pthread_self(), SIGUSR1, value));
	}
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &old);
	raise(SIGUSR1);
	say("blocked", ticks);
	sigprocmask(SIG_SETMASK, &old, NULL);
	say("let through", ticks);
	signal(SIGUSR2, SIG_IGN);
	raise(SIGUSR2);
	say("ignored", ticks);
}

static void sleeps(void)
{
	struct timespec ten = {10, 0}, left;
	struct pollfd nothing = {.fd = -1};
	siginfo_t info;
	sigset_t set;
	int rc;

	handle(SIGALRM, on_tick, 0);
	arm(20000, 0);
	rc = nanosleep(&ten, &left);
	say(rc < 0 ? strerror(errno) : "slept", left.tv_sec);
	printf("%ld ns left\n", left.tv_nsec);
	arm(20000, 0);
	rc = poll(&nothing, 1, 10000);
	say(rc < 0 ? strerror(errno) : "polled", rc);
	arm(20000, 0);
	rc = pause();
	say(strerror(errno), rc);
	alarm(1);
	say("seconds left", (long)sleep(10));
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	arm(20000, 0);
	rc = sigwaitinfo(&set, &info);
	say("waited for", rc);
	printf("code %d, ticks %d\n", info.si_code, (int)ticks);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool stop; /* with the lock: a flag that the handler sets would be a data race */
static sem_t begun;

static void *worker(void *arg)
{
	bool done = false;
	long n = 0;

	sem_post(&begun);
	while (!done) {
		pthread_mutex_lock(&lock);
		count++;
		n++;
		done = stop;
		pthread_mutex_unlock(&lock);
		usleep(200);
	}
	pthread_mutex_lock(&lock);
	printf("worker %ld: %ld of %ld\n", (long)arg, n, (long)count);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void workers(void)
{
	pthread_t t[3];
	char byte;

	if (pipe(pipe_of_handler) != 0)
		abort();
	handle(SIGTERM, on_term, 0);
	sem_init(&begun, 0, 0);
	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, worker, (void *)i);
	for (int i = 0; i < 3; i++)
		sem_wait(&begun);
	printf("ready\n");
	fflush(stdout);
	while (read(pipe_of_handler[0], &byte, 1) != 1)
		printf("interrupted: %s\n", strerror(errno));
	pthread_mutex_lock(&lock);
	stop = true;
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("stopped by '%c' at %ld\n", byte, (long)count);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (strcmp(how, "calls") == 0)
		calls(0);
	else if (strcmp(how, "prints") == 0)
		calls(1);
	else if (strcmp(how, "spins") == 0)
		spins();
	else if (strcmp(how, "raised") == 0)
		raised();
	else if (strcmp(how, "sleeps") == 0)
		sleeps();
	else if (strcmp(how, "workers") == 0)
		workers();
	else
		return 2;
	return 5;
}
