/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program may do and a recording must not notice: undisturbed HOW.
 *   last    signals come to threads that do nothing more before they end, and no timers are left
 *   fault   pthread_create writes to a page that the handler of the fault opens
 *   jump    a lock without memory, taken, then given back, each left by a jump; then another signal
 *   taken   a signal whose handler has run does not come again, whatever is to be done with it then
 *   once    the same with a handler that is for one signal only
 *   suspend signals come while they are blocked but for sigsuspend
 *   clone   a child by the bare system call, with a stack of its own
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 20
#define SENT 2000

static volatile int got;
static sigjmp_buf back;
static char *page;

static void handle(int sig)
{
	(void)sig;
	got++;
}

static void jump(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

static void open_page(int sig)
{
	(void)sig;
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

/* By no function that a recording knows: it is there when the call returns. */
static void *signal_myself(void *arg)
{
	syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), SIGUSR1);
	return arg;
}

static void *nothing(void *arg)
{
	return arg;
}

/* Lines of a list of the kernel's, four to a timer; none if it keeps no such list. */
static int timers(void)
{
	FILE *list = fopen("/proc/self/timers", "r");
	int c, lines = 0;

	while (list && (c = getc(list)) != EOF)
		lines += c == '\n';
	if (list)
		fclose(list);
	return lines;
}

static void last(void)
{
	signal(SIGUSR1, handle);
	for (int i = 0; i < THREADS; i++) {
		pthread_t t;

		pthread_create(&t, NULL, signal_myself, NULL);
		pthread_join(t, NULL);
	}
	printf("%d of %d signals, %d lines of timers\n", got, THREADS, timers());
}

static void fault(void)
{
	pthread_t *t;
	int rc;

	signal(SIGSEGV, open_page);
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	t = (pthread_t *)page;
	rc = pthread_create(t, NULL, nothing, NULL);
	pthread_join(*t, NULL);
	printf("created: %d\n", rc);
}

static void leave_by_jump(void)
{
	struct timespec ts;
	pthread_t t;

	/* Locks count only where there are threads. */
	pthread_create(&t, NULL, nothing, NULL);
	pthread_join(t, NULL);
	signal(SIGSEGV, jump);
	signal(SIGUSR1, handle);
	if (!sigsetjmp(back, 1))
		pthread_mutex_lock((pthread_mutex_t *)64);
	raise(SIGUSR1);
	clock_gettime(CLOCK_REALTIME, &ts);
	printf("%d signal\n", got);
	if (!sigsetjmp(back, 1))
		pthread_mutex_unlock((pthread_mutex_t *)64);
	raise(SIGUSR1);
	clock_gettime(CLOCK_REALTIME, &ts);
	printf("%d signals\n", got);
}

static void come_once(void)
{
	struct timespec nap = {0, 100000000}, ts;
	int rc;

	signal_myself(NULL);
	clock_gettime(CLOCK_REALTIME, &ts);
	rc = nanosleep(&nap, NULL);
	printf("%d signal, slept: %d\n", got, rc);
}

static void taken(void)
{
	struct timespec nap = {0, 100000000};

	signal(SIGUSR1, handle);
	come_once();
	signal(SIGUSR1, SIG_DFL);
	nanosleep(&nap, NULL);
}

static void once(void)
{
	struct sigaction a = {.sa_handler = handle, .sa_flags = (int)SA_RESETHAND};

	sigaction(SIGUSR1, &a, NULL);
	come_once();
	sigaction(SIGUSR1, NULL, &a);
	printf("default again: %d\n", a.sa_handler == SIG_DFL);
}

static void *send(void *arg)
{
	pthread_t to = *(pthread_t *)arg;

	for (int i = 0; i < SENT; i++) {
		while (__atomic_load_n(&got, __ATOMIC_ACQUIRE) < i)
			;
		pthread_kill(to, SIGUSR1);
	}
	return NULL;
}

static void suspend(void)
{
	pthread_t me = pthread_self(), t;
	sigset_t set, old;

	signal(SIGUSR1, handle);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_create(&t, NULL, send, &me);
	for (int i = 0; i < SENT; i++) {
		pthread_sigmask(SIG_BLOCK, &set, &old);
		while (got <= i)
			sigsuspend(&old);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	pthread_join(t, NULL);
	printf("%d of %d signals\n", got, SENT);
}

static void child(void)
{
	syscall(SYS_exit, 7);
}

static void clone_bare(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	void *top[2] = {(void *)child, NULL};
	char *at = stack + sizeof(stack) - 4096;
	int status = 0;

	memcpy(at, top, sizeof(top));
	waitpid((pid_t)syscall(SYS_clone, (long)(CLONE_VM | CLONE_VFORK | SIGCHLD), at, 0L, 0L, 0L),
		&status, 0);
	printf("the child ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static const struct {
	const char *how;
	void (*act)(void);
} ways[] = {{"last", last},   {"fault", fault}, {"jump", leave_by_jump}, {"clone", clone_bare},
	    {"taken", taken}, {"once", once},   {"suspend", suspend}};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(argv[1], ways[i].how) == 0) {
			ways[i].act();
			return 0;
		}
	}
	return 2;
}
