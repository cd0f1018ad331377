/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter HOW: a program of threads that installs a filter of system calls. HOW: "harmless" forbids
 * a call that nobody makes; "kills" ends the process at any call that makes or enlarges files;
 * "all" does so for all threads at once; "strict" leaves hardly anything. It goes on synchronising
 * and ends with status 3.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KILL_AT(number)                                                                            \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),                                       \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t line;
static long count, order;

static void *work(void *arg)
{
	long id = (long)arg;

	for (int part = 0; part < 2; part++) {
		for (int i = 0; i < 2000; i++) {
			pthread_mutex_lock(&lock);
			count++;
			order = order * 31 + id;
			pthread_mutex_unlock(&lock);
		}
		pthread_barrier_wait(&line);
		pthread_barrier_wait(&line);
	}
	return NULL;
}

static void install(const char *how)
{
	static struct sock_filter harmless[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		KILL_AT(SYS_sethostname),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	static struct sock_filter kills[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		KILL_AT(SYS_open),
		KILL_AT(SYS_openat),
		KILL_AT(SYS_fallocate),
		KILL_AT(SYS_ftruncate),
		KILL_AT(SYS_linkat),
		KILL_AT(SYS_unlinkat),
		KILL_AT(SYS_renameat),
		KILL_AT(SYS_pread64),
		KILL_AT(SYS_munmap),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(kills) / sizeof(kills[0]), kills};

	if (strcmp(how, "harmless") == 0)
		program = (struct sock_fprog){sizeof(harmless) / sizeof(harmless[0]), harmless};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		exit(77);
	if (strcmp(how, "all") == 0) {
		if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
			    &program) != 0)
			exit(77);
	} else if (strcmp(how, "strict") == 0) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
			exit(77);
	} else if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
		exit(77);
	}
}

static void say(const char *what)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%s %ld\n", what, count);

	if (write(1, text, (size_t)n) != n)
		exit(1);
}

int main(int argc, char **argv)
{
	pthread_t thread[3];

	if (argc < 2)
		return 2;
	pthread_barrier_init(&line, NULL, 4);
	for (long i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	pthread_barrier_wait(&line);
	say("before");
	install(argv[1]);
	if (strcmp(argv[1], "strict") == 0) {
		say("strict");
		syscall(SYS_exit, 3);
	}
	pthread_barrier_wait(&line);
	pthread_barrier_wait(&line);
	say("after");
	pthread_barrier_wait(&line);
	/* Joining would give back their stacks. */
	_exit(order == 0 ? 4 : 3);
}
