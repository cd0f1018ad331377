/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prints WAY PATH: prints a line in that way, "b" if there is a file of that name, else "a"; replay
 * knows nothing of the file. "all" prints in every way that comes back.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#define LENGTH 7

static char line[] = "line a\n", command[64];
static int at_end;

static void must(int good)
{
	if (!good)
		abort();
}

static void by_printf(void)
{
	printf("%s", line);
}

static void by_stderr(void)
{
	fputs(line, stderr);
}

static void by_err(void)
{
	errno = 0;
	warnx("%.6s", line);
	perror(line);
}

static void by_unlocked(void)
{
	for (int i = 0; i < LENGTH; i++)
		putchar_unlocked(line[i]);
}

static void by_fwrite_unlocked(void)
{
	fwrite_unlocked(line, 1, LENGTH, stdout);
}

static void by_wide(void)
{
	FILE *f = fdopen(dup(1), "w");

	fwprintf(f, L"%.7s", line);
	fclose(f);
}

static void by_dprintf(void)
{
	dprintf(1, "%s", line);
}

static void by_write(void)
{
	fflush(stdout);
	for (int i = 0; i < LENGTH; i++)
		must(write(1, line + i, 1) == 1);
}

static void by_writev(void)
{
	struct iovec parts[2] = {{line, 2}, {line + 2, LENGTH - 2}};

	fflush(stdout);
	must(writev(1, parts, 2) == LENGTH);
}

static void by_pwrite(void)
{
	must(pwrite(1, line, LENGTH, 0) == LENGTH || errno == ESPIPE);
}

static void by_dup(void)
{
	int fd = dup(2);

	must(write(fd, line, LENGTH) == LENGTH);
	close(fd);
}

static void by_dup2(void)
{
	FILE *f = fdopen(dup2(1, 77), "w");

	fputs(line, f);
	fclose(f);
}

static void by_fcntl(void)
{
	int fd = fcntl(1, F_DUPFD, 50);

	must(write(fd, line, LENGTH) == LENGTH);
	close(fd);
}

static void by_path(void)
{
	FILE *f = fopen("/dev/stdout", "a");

	fputs(line, f);
	fclose(f);
}

static void by_number(void)
{
	int fd = open("/proc/self/fd/1", O_WRONLY | O_APPEND);

	must(write(fd, line, LENGTH) == LENGTH);
	close(fd);
}

static void by_freopen(void)
{
	must(freopen("/dev/stdout", "a", stdout) != NULL);
	puts(line);
}

static void by_sendfile(void)
{
	int fd = memfd_create("lines", 0);
	off_t from = 0;

	must(write(fd, line, LENGTH) == LENGTH && sendfile(1, fd, &from, LENGTH) == LENGTH);
	close(fd);
}

static void by_atexit_line(void)
{
	fputs(line, stdout);
}

static void by_atexit(void)
{
	atexit(by_atexit_line);
}

static void by_destructor(void)
{
	at_end = 1;
}

static void __attribute__((destructor)) ends(void)
{
	if (at_end)
		fputs(line, stdout);
}

static void by_fork(void)
{
	fflush(stdout);
	if (fork() == 0) {
		fputs(line, stdout);
		exit(0);
	}
	wait(NULL);
}

static void by_popen(void)
{
	FILE *f = popen("cat", "w");

	fputs(line, f);
	must(pclose(f) == 0);
}

static void by_system(void)
{
	must(system(command) == 0);
}

static void by_exec(void)
{
	execlp("echo", "echo", line, NULL);
	abort();
}

static void *prints(void *arg)
{
	pthread_mutex_t *lock = arg;

	fputs(line, stdout);
	pthread_mutex_unlock(lock);
	pause();
	return NULL;
}

/* The thread is there when the program ends. */
static void by_thread(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread;

	pthread_mutex_lock(&lock);
	pthread_create(&thread, NULL, prints, &lock);
	pthread_mutex_lock(&lock);
}

static const struct {
	const char *name;
	void (*print)(void);
} ways[] = {
	{"printf", by_printf},
	{"stderr", by_stderr},
	{"err", by_err},
	{"unlocked", by_unlocked},
	{"fwrite-unlocked", by_fwrite_unlocked},
	{"wide", by_wide},
	{"dprintf", by_dprintf},
	{"write", by_write},
	{"writev", by_writev},
	{"pwrite", by_pwrite},
	{"dup", by_dup},
	{"dup2", by_dup2},
	{"fcntl", by_fcntl},
	{"sendfile", by_sendfile},
	{"path", by_path},
	{"number", by_number},
	{"freopen", by_freopen},
	{"atexit", by_atexit},
	{"destructor", by_destructor},
	{"fork", by_fork},
	{"popen", by_popen},
	{"system", by_system},
	{"thread", by_thread},
	{"exec", by_exec},
};

int main(int argc, char **argv)
{
	size_t n = sizeof(ways) / sizeof(ways[0]);

	must(argc == 3);
	if (pathconf(argv[2], _PC_NAME_MAX) > 0)
		line[5] = 'b';
	snprintf(command, sizeof(command), "echo %.6s", line);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(argv[1], ways[i].name) == 0 || strcmp(argv[1], "all") == 0)
			ways[i].print();
		if (strcmp(argv[1], "names") == 0)
			puts(ways[i].name);
	}
	return 0;
}
