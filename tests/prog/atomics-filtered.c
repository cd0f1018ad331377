/* SPDX-License-Identifier: Apache-2.0 */
/*
 * atomics-filtered HOW: threads that hand an atomic variable to each other, and work with it for
 * long in between; then a filter comes that "kills" at membarrier(), or "refuses" it. "early": a
 * filter that kills comes before the first thread.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { HANDED = 3, IN_A_ROW = 9000 };

static atomic_long count;
static pthread_barrier_t line;

static void *work(void *arg)
{
	for (int k = 0; k < HANDED; k++) {
		for (int i = 0; i < IN_A_ROW; i++)
			atomic_fetch_add(&count, 1);
		pthread_barrier_wait(&line);
		pthread_barrier_wait(&line);
	}
	return arg;
}

static int install(const char *how)
{
	unsigned int act =
		strcmp(how, "refuses") == 0 ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_KILL_PROCESS;
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, act),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "kills";
	bool early = strcmp(how, "early") == 0;
	pthread_t thread;

	if (early && install(how) != 0)
		return 77;
	pthread_barrier_init(&line, NULL, 2);
	pthread_create(&thread, NULL, work, NULL);
	for (int k = 0; k < HANDED; k++) {
		pthread_barrier_wait(&line);
		if (k == HANDED - 1 && !early && install(how) != 0)
			return 77;
		atomic_fetch_add(&count, 1);
		pthread_barrier_wait(&line);
	}
	for (int i = 0; i < IN_A_ROW; i++)
		atomic_fetch_add(&count, 1);
	pthread_join(thread, NULL);
	printf("%ld\n", (long)count);
	return 3;
}
