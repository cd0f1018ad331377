/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every function of the malloc family as a program may use it, at every time it may: before main,
 * in destructors of threads, after fork, in a library that is loaded, at exit. Checks itself.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			printf("line %d: %s does not hold\n", __LINE__, #x);                       \
			fflush(stdout);                                                            \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static char *early;
static pthread_key_t key;
static volatile size_t huge = SIZE_MAX / 2;

__attribute__((constructor)) static void before_main(void)
{
	early = strdup("before main");
	early = realloc(early, 100000);
}

static bool all_are(const char *p, size_t n, char c)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] != c)
			return false;
	}
	return true;
}

static void sizes(void)
{
	for (size_t n = 0; n < 300000; n += n / 7 + 1) {
		char *p = malloc(n), *q = calloc(n, 1), *r;

		CHECK(p && q && p != q && (uintptr_t)p % 16 == 0 && (uintptr_t)q % 16 == 0);
		CHECK(malloc_usable_size(p) >= n);
		CHECK(all_are(q, n, 0));
		memset(p, 'p', malloc_usable_size(p));
		memset(q, 'q', malloc_usable_size(q));
		r = realloc(p, 2 * n + 1);
		CHECK(r && all_are(r, n, 'p'));
		r = realloc(r, n / 3 + 1);
		CHECK(r && all_are(r, n / 3, 'p'));
		CHECK(all_are(q, n, 'q'));
		free(q);
		free(r);
	}
}

static void growth(void)
{
	size_t n = 10;
	char *p = malloc(n);

	memset(p, 'g', n);
	for (; n < 40000000; n *= 2) {
		p = realloc(p, 2 * n);
		CHECK(p && p[0] == 'g' && p[n / 2] == 'g' && p[n - 1] == 'g');
		memset(p + n, 'g', n);
	}
	p = reallocarray(p, 1000, 3);
	CHECK(p && all_are(p, 3000, 'g'));
	CHECK(realloc(p, 0) == NULL);
}

static void alignments(void)
{
	void *p;

	for (size_t align = sizeof(void *); align <= 1 << 22; align *= 2) {
		for (size_t n = 1; n < 200000; n = n * 5 + 3) {
			CHECK(posix_memalign(&p, align, n) == 0);
			CHECK((uintptr_t)p % align == 0 && malloc_usable_size(p) >= n);
			memset(p, 1, n);
			p = realloc(p, n + 100);
			CHECK(p && all_are(p, n, 1));
			free(p);
			p = memalign(align, n);
			CHECK(p && (uintptr_t)p % align == 0);
			memset(p, 1, n);
			free(p);
		}
	}
	p = aligned_alloc(32, 64);
	CHECK(p && (uintptr_t)p % 32 == 0);
	free(p);
	p = valloc(10);
	CHECK(p && (uintptr_t)p % 4096 == 0);
	free(p);
	p = pvalloc(10);
	CHECK(p && (uintptr_t)p % 4096 == 0 && malloc_usable_size(p) >= 4096);
	free(p);
	CHECK(posix_memalign(&p, 3, 10) == EINVAL);
	CHECK(posix_memalign(&p, 0, 10) == EINVAL);
}

static void failures(void)
{
	void *p = malloc(10), *q = NULL;

	errno = 0;
	CHECK(malloc(huge) == NULL && errno == ENOMEM);
	errno = 0;
	CHECK(malloc(huge + huge) == NULL && errno == ENOMEM);
	errno = 0;
	CHECK(calloc(huge, 4) == NULL && errno == ENOMEM);
	errno = 0;
	CHECK(reallocarray(p, huge, 4) == NULL && errno == ENOMEM);
	errno = 0;
	CHECK(realloc(p, huge) == NULL && errno == ENOMEM);
	CHECK(posix_memalign(&q, 64, huge) == ENOMEM && !q);
	errno = 7;
	free(p);
	free(NULL);
	CHECK(errno == 7);
	CHECK(malloc_usable_size(NULL) == 0);
	CHECK(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1);
	malloc_trim(0);
}

/* With little address space left, malloc says so, and works again when some is freed. */
static void little_memory(void)
{
	struct rlimit limit = {512 << 20, 512 << 20};
	static void *p[2000];
	int n = 0;

	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
	while (n < 2000 && (p[n] = malloc(1 << 20)))
		memset(p[n++], 1, 100);
	CHECK(n > 100 && n < 2000);
	while (n)
		free(p[--n]);
	while (n < 100 && (p[n] = malloc(1 << 20)))
		n++;
	CHECK(n == 100);
}

static void in_child(void (*body)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		body();
		_exit(0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(status == 0);
}

static void after_fork(void)
{
	CHECK(strcmp(early, "before main") == 0);
	free(early);
	sizes();
	growth();
}

static void last_words(void *value)
{
	char *p = malloc(1000);

	CHECK(p && strcmp(value, "of the thread") == 0);
	free(value);
	free(p);
}

static void *of_thread(void *arg)
{
	CHECK(pthread_setspecific(key, strdup("of the thread")) == 0);
	free(arg);
	sizes();
	return malloc(200000);
}

static void threads(void)
{
	pthread_t thread[8];
	void *result;

	CHECK(pthread_key_create(&key, last_words) == 0);
	for (int k = 0; k < 5; k++) {
		for (int i = 0; i < 8; i++)
			CHECK(pthread_create(&thread[i], NULL, of_thread, malloc(5000)) == 0);
		for (int i = 0; i < 8; i++) {
			CHECK(pthread_join(thread[i], &result) == 0);
			memset(result, 1, 200000);
			free(result);
		}
	}
}

static void *of_many(void *arg)
{
	char *p = malloc(100);

	p[99] = 1;
	free(p);
	return arg;
}

/* More threads, one after the other, than there are heaps to give out at once. */
static void many_threads(void)
{
	pthread_t thread;

	for (int i = 0; i < 3000; i++) {
		CHECK(pthread_create(&thread, NULL, of_many, NULL) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	}
}

static void library(void)
{
	void *handle = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);

	CHECK(handle && dlsym(handle, "cos") && !dlsym(handle, "no such thing"));
	CHECK(dlerror() != NULL);
	CHECK(dlclose(handle) == 0);
}

static volatile sig_atomic_t caught;

static void handler(int number)
{
	(void)number;
	free(malloc(500));
	caught = 1;
}

static void at_end(void)
{
	free(early);
	puts("all hold");
}

int main(void)
{
	CHECK(strcmp(early, "before main") == 0);
	atexit(at_end);
	sizes();
	growth();
	alignments();
	failures();
	in_child(after_fork);
	in_child(little_memory);
	threads();
	in_child(after_fork);
	many_threads();
	library();
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	CHECK(caught);
	return 0;
}
