/* SPDX-License-Identifier: Apache-2.0 */
/* System calls by number on threads and processes. */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int failed;

static void check(const char *what, long result)
{
	if (result < 0) {
		printf("%s failed\n", what);
		failed = 1;
	}
}

static void *asks(void *unused)
{
	uint64_t attr[32] = {0}, set[16];
	pid_t tid = (pid_t)syscall(SYS_gettid);
	struct rlimit limit;

	check("sched_getattr", syscall(SYS_sched_getattr, tid, attr, 48, 0));
	check("sched_setattr", syscall(SYS_sched_setattr, tid, attr, 0));
	check("sched_getaffinity", syscall(SYS_sched_getaffinity, tid, sizeof(set), set));
	check("sched_getscheduler", syscall(SYS_sched_getscheduler, tid));
	check("getpriority", syscall(SYS_getpriority, PRIO_PROCESS, tid));
	check("prlimit64", syscall(SYS_prlimit64, getpid(), RLIMIT_NOFILE, NULL, &limit));
	check("getsid", syscall(SYS_getsid, getpid()));
	check("getpgid", syscall(SYS_getpgid, getpid()));
	check("tkill", syscall(SYS_tkill, tid, 0));
	return unused;
}

int main(void)
{
	pthread_t thread;

	asks(NULL);
	pthread_create(&thread, NULL, asks, NULL);
	pthread_join(thread, NULL);
	puts(failed ? "no" : "yes");
	return failed;
}
