/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways in which something comes to a program. The argument names one; "calls" are system calls by
 * number that are recorded like the functions of their names.
 */
#include <aio.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <pthread.h>
#include <pty.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

static sem_t done;

static void check(int holds, const char *what)
{
	if (!holds) {
		perror(what);
		exit(1);
	}
}

static void notified(union sigval value)
{
	(void)value;
	sem_post(&done);
}

static const struct sigevent by_thread = {.sigev_notify = SIGEV_THREAD,
					  .sigev_notify_function = notified};

static void aio(void)
{
	static char byte = 'x';
	struct aiocb cb = {.aio_buf = &byte, .aio_nbytes = 1, .aio_sigevent = by_thread};

	cb.aio_fildes = open("written", O_RDWR | O_CREAT, 0600);
	check(aio_write(&cb) == 0, "aio_write");
	sem_wait(&done);
}

static void timer(void)
{
	struct itimerspec soon = {.it_value.tv_nsec = 1000000};
	struct sigevent event = by_thread;
	timer_t timer;

	check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer_create");
	timer_settime(timer, 0, &soon, NULL);
	sem_wait(&done);
}

static void queue(void)
{
	struct mq_attr room = {.mq_maxmsg = 1, .mq_msgsize = 1};
	char name[32];
	mqd_t q;

	snprintf(name, sizeof(name), "/unseen-%d", (int)getpid());
	q = mq_open(name, O_RDWR | O_CREAT, 0600, &room);
	if (q == (mqd_t)-1)
		exit(77);
	check(mq_notify(q, &by_thread) == 0, "mq_notify");
	mq_unlink(name);
}

static void children(void)
{
	int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (fork() == 0) {
		*shared = 1;
		_exit(0);
	}
	wait(NULL);
	printf("%d\n", *shared);
}

static void segment(void)
{
	int id = shmget(IPC_PRIVATE, 4096, 0600 | IPC_CREAT);

	check(id >= 0 && shmat(id, NULL, 0) != (void *)-1, "shmat");
	shmctl(id, IPC_RMID, NULL);
}

static void named_pipe(void)
{
	char bytes[4] = "";
	int fd;

	unlink("pipe");
	check(mkfifo("pipe", 0600) == 0, "mkfifo");
	fd = open("pipe", O_RDWR);
	check(fd >= 0 && write(fd, "abc", 4) == 4 && read(fd, bytes, 4) == 4, "pipe");
	close(fd);
}

static void device(void)
{
	int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY);

	if (fd < 0)
		exit(77);
	close(fd);
}

static void ring(void)
{
	struct io_uring_params parameters = {0};

	/* It may be forbidden: that it was asked for counts. */
	syscall(SYS_io_uring_setup, 4, &parameters);
}

static void *wakes(void *word)
{
	__atomic_store_n((int *)word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
	return NULL;
}

static void futex(void)
{
	static int word;
	pthread_t thread;

	pthread_create(&thread, NULL, wakes, &word);
	do
		syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
	while (!__atomic_load_n(&word, __ATOMIC_ACQUIRE));
	pthread_join(thread, NULL);
}

static void *inherits(void *word)
{
	if (syscall(SYS_futex, word, FUTEX_LOCK_PI, 0, NULL, NULL, 0) == 0)
		syscall(SYS_futex, word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
	return NULL;
}

static void heirs(void)
{
	static int word;
	pthread_t thread;

	pthread_create(&thread, NULL, inherits, &word);
	pthread_join(thread, NULL);
}

static void terminal(void)
{
	int master, slave;
	char bytes[8];

	check(openpty(&master, &slave, NULL, NULL, NULL) == 0, "openpty");
	check(write(slave, "a\n", 2) == 2, "write");
	check(read(master, bytes, sizeof(bytes)) == 3, "read");
}

static void messages(void)
{
	int queue = msgget(IPC_PRIVATE, 0600 | IPC_CREAT);

	check(queue >= 0, "msgget");
	check(msgctl(queue, IPC_RMID, NULL) == 0, "msgctl");
}

static void semaphores(void)
{
	int set = semget(IPC_PRIVATE, 1, 0600 | IPC_CREAT);

	check(set >= 0, "semget");
	check(semctl(set, 0, IPC_RMID) == 0, "semctl");
}

static void words(void)
{
	wordexp_t w;

	check(wordexp("$(echo a b) c", &w, 0) == 0 && w.we_wordc == 3, "wordexp");
	wordfree(&w);
}

static void calls(void)
{
	static const char text[] = "written by number\n";
	struct timespec now, nap = {0, 1000};
	uint64_t random = 0;
	int ends[2];
	char c = 0;

	syscall(SYS_getrandom, &random, sizeof(random), 0);
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	syscall(SYS_nanosleep, &nap, NULL);
	check(pipe(ends) == 0, "pipe");
	check(syscall(SYS_write, ends[1], &random, 1) == 1, "write");
	check(syscall(SYS_read, ends[0], &c, 1) == 1, "read");
	printf("%lx %ld.%09ld %ld %ld %d\n", (long)random, (long)now.tv_sec, now.tv_nsec,
	       syscall(SYS_getpid), syscall(SYS_gettid), c);
	fflush(stdout);
	check(syscall(SYS_write, 1, text, sizeof(text) - 1) == sizeof(text) - 1, "write");
	check(syscall(SYS_read, -1, &c, 1) == -1, "read of nothing");
	syscall(SYS_exit_group, 3);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*way)(void);
	} ways[] = {{"aio", aio},           {"timer", timer},           {"queue", queue},
		    {"children", children}, {"segment", segment},       {"ring", ring},
		    {"pipe", named_pipe},   {"device", device},         {"futex", futex},
		    {"heirs", heirs},       {"calls", calls},           {"terminal", terminal},
		    {"messages", messages}, {"semaphores", semaphores}, {"words", words}};

	sem_init(&done, 0, 0);
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (!strcmp(argv[1], ways[i].name))
			ways[i].way();
	}
	puts("done");
	return 0;
}
