/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that succeed leave errno alone, also the first ones of a process and of a thread. Each is
 * made with errno 77, and named with what it has left there if that is something else. Afterwards
 * the same calls are made again. Needs a directory to work in.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_barrier_t barrier;
static sem_t sem;
static char told[8192];

static void note(const char *what)
{
	size_t n = strlen(told);
	int error = errno;

	if (error != 77)
		snprintf(told + n, sizeof(told) - n, "%s: %d\n", what, error);
}

#define KEEPS(call)                                                                                \
	do {                                                                                       \
		errno = 77;                                                                        \
		(void)(call);                                                                      \
		note(#call);                                                                       \
	} while (0)

static void nothing(void)
{
}

static void *allocates(void *arg)
{
	void *p, *q;

	KEEPS(p = malloc(100));
	KEEPS(q = malloc(5 << 20));
	KEEPS(free(p));
	KEEPS(free(q));
	KEEPS(p = calloc(3, 50));
	KEEPS(p = realloc(p, 70000));
	KEEPS(free(p));
	return arg;
}

static void synchronises(void)
{
	KEEPS(pthread_mutex_lock(&mutex));
	KEEPS(pthread_mutex_unlock(&mutex));
	KEEPS(pthread_once(&once, nothing));
	KEEPS(sem_post(&sem));
	KEEPS(sem_wait(&sem));
	KEEPS(pthread_barrier_wait(&barrier));
}

static void *works(void *arg)
{
	allocates(NULL);
	synchronises();
	return arg;
}

static void threads(void)
{
	pthread_t t;

	KEEPS(pthread_create(&t, NULL, works, NULL));
	KEEPS(pthread_join(t, NULL));
}

static void files(void)
{
	struct stat st;
	char text[64];
	FILE *f;
	DIR *d;
	int fd;

	KEEPS(f = fopen("errno.one", "w+"));
	KEEPS(fputs("one\n", f));
	KEEPS(fflush(f));
	KEEPS(rewind(f));
	KEEPS(fgets(text, sizeof(text), f));
	KEEPS(fclose(f));
	KEEPS(fd = open("errno.two", O_CREAT | O_RDWR, 0600));
	KEEPS(write(fd, "two", 3));
	KEEPS(lseek(fd, 0, SEEK_SET));
	KEEPS(read(fd, text, 3));
	KEEPS(fstat(fd, &st));
	KEEPS(close(fd));
	KEEPS(fd = open("errno.two", O_RDONLY));
	KEEPS(read(fd, text, 3));
	KEEPS(close(fd));
	KEEPS(stat("errno.two", &st));
	KEEPS(access("errno.two", R_OK));
	KEEPS(rename("errno.two", "errno.three"));
	KEEPS(link("errno.three", "errno.four"));
	KEEPS(symlink("errno.three", "errno.five"));
	KEEPS(chmod("errno.four", 0644));
	KEEPS(truncate("errno.four", 1));
	KEEPS(unlink("errno.three"));
	KEEPS(unlink("errno.four"));
	KEEPS(unlink("errno.five"));
	KEEPS(remove("errno.one"));
	KEEPS(mkdir("errno.directory", 0700));
	KEEPS(d = opendir("errno.directory"));
	KEEPS(readdir(d));
	KEEPS(closedir(d));
	KEEPS(rmdir("errno.directory"));
	KEEPS(fd = open("errno.new", O_CREAT | O_EXCL | O_WRONLY, 0600));
	KEEPS(close(fd));
	KEEPS(unlink("errno.new"));
}

static void values(void)
{
	struct timespec ts;
	struct timeval tv;
	char text[256];

	KEEPS(clock_gettime(CLOCK_MONOTONIC, &ts));
	KEEPS(gettimeofday(&tv, NULL));
	KEEPS(time(NULL));
	KEEPS(getpid());
	KEEPS(getcwd(text, sizeof(text)));
	KEEPS(gethostname(text, sizeof(text)));
	KEEPS(nanosleep(&(struct timespec){0, 1000}, NULL));
	KEEPS(fgets(text, sizeof(text), stdin));
}

int main(void)
{
	pthread_barrier_init(&barrier, NULL, 1);
	sem_init(&sem, 0, 0);
	allocates(NULL);
	values();
	synchronises();
	files();
	threads();
	allocates(NULL);
	values();
	synchronises();
	files();
	threads();
	KEEPS(fputs(told, stdout));
	KEEPS(fflush(stdout));
	fputs(told, stdout);
	return told[0] != 0;
}
