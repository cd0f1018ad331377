/* SPDX-License-Identifier: Apache-2.0 */
/* System calls by number on threads and processes, and such that bring what is other in each run.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
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

static void show(const char *what, const struct stat *st)
{
	printf("%s: inode %lu, %ld.%09ld\n", what, (unsigned long)st->st_ino,
	       (long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
}

/* A file of this run, with times and a number that no other run gives it. */
static void is_told(void)
{
	int fd = open("made", O_CREAT | O_TRUNC | O_RDWR, 0600),
	    device = open("/dev/urandom", O_RDONLY);
	struct stat st;
	struct statx more;
	struct sysinfo info;
	unsigned int random;

	check("stat", syscall(SYS_stat, "made", &st));
	show("stat", &st);
	check("lstat", syscall(SYS_lstat, "made", &st));
	show("lstat", &st);
	check("fstat", syscall(SYS_fstat, fd, &st));
	show("fstat", &st);
	check("newfstatat", syscall(SYS_newfstatat, AT_FDCWD, "made", &st, 0));
	show("newfstatat", &st);
	check("statx", syscall(SYS_statx, AT_FDCWD, "made", 0, STATX_BASIC_STATS, &more));
	printf("statx: %ld.%09u\n", (long)more.stx_mtime.tv_sec, more.stx_mtime.tv_nsec);
	check("sysinfo", syscall(SYS_sysinfo, &info));
	printf("sysinfo: %lu free, %ld s\n", info.freeram, info.uptime);
	check("pread64", syscall(SYS_pread64, device, &random, sizeof(random), 0));
	printf("pread64: %u\n", random);
	close(fd);
	close(device);
	unlink("made");
}

/* With as many arguments as there can be. */
static void passes_all(void)
{
	int in = open("in", O_RDWR | O_CREAT | O_TRUNC, 0600);
	int out = open("out", O_RDWR | O_CREAT | O_TRUNC, 0600);
	long from = 2, to = 3;

	check("write", write(in, "0123456789", 10) == 10 ? 0 : -1);
	check("copy_file_range",
	      syscall(SYS_copy_file_range, in, &from, out, &to, 5L, 0L) == 5 ? 0 : -1);
	check("its places", from == 7 && to == 8 ? 0 : -1);
	close(in);
	close(out);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argv;
	if (argc > 1)
		passes_all();
	is_told();
	asks(NULL);
	pthread_create(&thread, NULL, asks, NULL);
	pthread_join(thread, NULL);
	puts(failed ? "no" : "yes");
	return failed;
}
