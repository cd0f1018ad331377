/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program asks about its own timers, clocks, signals and locks, and what comes from files of
 * the kernel by rarer ways; each by its name. errno is 0 at first, as C promises. "pipe" and "pair"
 * write until there is no more room.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void work(void)
{
	volatile long x = 0;

	for (long i = 0; i < 300000; i++)
		x += i;
}

static uint64_t sum(const void *p, ssize_t n)
{
	const unsigned char *bytes = p;
	uint64_t h = 14695981039346656037u;

	for (ssize_t i = 0; i < n; i++)
		h = (h ^ bytes[i]) * 1099511628211u;
	return h;
}

static void timers(void)
{
	struct sigevent none = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
	struct itimerspec quick = {{0, 10000}, {0, 10000}}, left;
	struct itimerval later = {{0, 0}, {50, 0}};
	struct timespec now = {0, 0};
	siginfo_t info;
	sigset_t set;
	timer_t timer;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	setitimer(ITIMER_REAL, &later, NULL);
	timer_create(CLOCK_MONOTONIC, &none, &timer);
	timer_settime(timer, 0, &quick, NULL);
	work();
	getitimer(ITIMER_REAL, &later);
	timer_gettime(timer, &left);
	printf("left: %ld us, %ld ns\n", (long)later.it_value.tv_usec, left.it_value.tv_nsec);
	sigwaitinfo(&set, &info);
	printf("overrun: %d %d\n", info.si_overrun, timer_getoverrun(timer));
	timer_delete(timer);
	sigtimedwait(&set, &info, &now);
}

static void pending(void)
{
	struct itimerval soon = {{0, 0}, {0, 1000}};
	sigset_t set, there;
	long looks = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	do {
		sigpending(&there);
		looks++;
	} while (!sigismember(&there, SIGALRM));
	printf("looked %ld times\n", looks);
}

static void clocks(void)
{
	struct timex clock = {0};
	struct timespec ts;
	clockid_t id;

	adjtimex(&clock);
	printf("kernel: %ld\n", (long)clock.time.tv_usec);
	pthread_getcpuclockid(pthread_self(), &id);
	clock_gettime(id, &ts);
	printf("thread: %d %ld\n", id, ts.tv_nsec);
	clock_getcpuclockid(0, &id);
	clock_gettime(id, &ts);
	printf("process: %ld\n", ts.tv_nsec);
}

static void given(void)
{
	int signal = -1;

	prctl(PR_GET_PDEATHSIG, &signal);
	printf("dies with its parent by %d\n", signal);
	printf("bytes: %lx\n", (long)sum((void *)getauxval(AT_RANDOM), 16));
}

static void locks(void)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET}, own;
	int fd = open("locked", O_RDWR | O_CREAT, 0600), other = open("locked", O_RDWR);
	int had[2], enough[2];
	char c = 'x';
	pid_t pid;

	if (fd < 0 || other < 0 || pipe(had) || pipe(enough))
		exit(1);
	pid = fork();
	if (pid == 0) {
		int first = fcntl(fd, F_SETLK, &whole), second = flock(other, LOCK_EX);

		_exit(first || second || write(had[1], &c, 1) != 1 || read(enough[0], &c, 1) != 1);
	}
	if (read(had[0], &c, 1) != 1)
		exit(1);
	own = whole;
	fcntl(fd, F_GETLK, &own);
	printf("locked by %s: %d\n", own.l_pid == pid ? "the child" : "another", own.l_pid);
	printf("had: %d %d", fcntl(fd, F_SETLK, &whole), lockf(fd, F_TEST, 0));
	printf(" %d\n", flock(open("locked", O_RDWR), LOCK_EX | LOCK_NB));
	if (write(enough[1], &c, 1) != 1)
		exit(1);
	wait(NULL);
}

static void files(void)
{
	char bytes[4096], word[64] = "";
	struct iovec part = {bytes, sizeof(bytes)};
	int fd = open("/proc/self/stat", O_RDONLY), dir;
	FILE *f;

	printf("pread: %lx\n", (long)sum(bytes, pread(fd, bytes, sizeof(bytes), 0)));
	printf("preadv: %lx\n", (long)sum(bytes, preadv(fd, &part, 1, 0)));
	dir = open("/proc/self", O_RDONLY | O_DIRECTORY);
	fd = openat(dir, "stat", O_RDONLY);
	printf("openat: %lx\n", (long)sum(bytes, read(fd, bytes, sizeof(bytes))));
	dup2(open("/proc/uptime", O_RDONLY), STDIN_FILENO);
	if (scanf("%63s", word) == 1)
		printf("stdin: %s\n", word);
	if (chdir("/proc/self"))
		exit(1);
	f = fopen("schedstat", "r");
	printf("fopen: %lx\n", f ? (long)sum(bytes, (ssize_t)fread(bytes, 1, 4096, f)) : 0);
}

static void fill(int fd)
{
	static const char bytes[100];
	long n = 0;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (write(fd, bytes, sizeof(bytes)) > 0)
		n++;
	printf("%ld times\n", n);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int fd[2];

	printf("errno is %d at first\n", errno);
	fflush(stdout);
	if (strcmp(what, "timers") == 0)
		timers();
	else if (strcmp(what, "pending") == 0)
		pending();
	else if (strcmp(what, "clocks") == 0)
		clocks();
	else if (strcmp(what, "given") == 0)
		given();
	else if (strcmp(what, "locks") == 0)
		locks();
	else if (strcmp(what, "files") == 0)
		files();
	else if (strcmp(what, "pipe") == 0 && pipe(fd) == 0)
		fill(fd[1]);
	else if (strcmp(what, "pair") == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0)
		fill(fd[1]);
	else
		return 2;
	return 0;
}
