/* SPDX-License-Identifier: Apache-2.0 */
/*
 * races-filtered HOW: a filter comes that "kills" at membarrier(), or "refuses" it, or "none".
 * "early": one that kills comes before the first thread.
 * Threads that are made before and after it add to a number in pairs without a lock, and to another
 * one with a lock.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { THREADS = 40, ROUNDS = 300 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long locked, racy[THREADS];

static void *work(void *arg)
{
	long *mine = arg;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		locked++;
		pthread_mutex_unlock(&lock);
	}
	++*mine;
	return NULL;
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

	if (strcmp(how, "none") == 0)
		return 0;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "kills";
	int before = strcmp(how, "early") == 0 ? 0 : 2;
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i += 2) {
		if (i == before && install(how) != 0)
			return 77;
		for (int k = 0; k < 2; k++)
			pthread_create(&thread[i + k], NULL, work, &racy[i]);
		for (int k = 0; k < 2; k++)
			pthread_join(thread[i + k], NULL);
	}
	printf("%ld\n", locked);
	return 0;
}
