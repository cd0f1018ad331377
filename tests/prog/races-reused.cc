/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread frees blocks, and another gets the same memory by functions of libraries, after that
 * only in time. That is no race, but for may_step, by which it waits. "racy": it also uses a block
 * that was freed.
 */
#include <cstdio>
#include <cstdlib>
#include <stdint.h>
#include <cstring>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <sys/mman.h>

#define BLOCKS 4000
#define BYTES 96
#define MAPPED 65536

static volatile int may_step;
static char *block[BLOCKS];
static pthread_barrier_t both;
static bool racy;

static void await_step(int step)
{
	while (may_step < step)
		sched_yield();
}

static char *by_asprintf()
{
	char *p;

	return asprintf(&p, "%*d", BYTES - 1, 1) > 0 ? p : NULL;
}

static char *by_getline()
{
	static const char line[BYTES - 1] = "a line of text\n";
	FILE *f = fmemopen((void *)line, strlen(line), "r");
	char *p = (char *)malloc(1);
	size_t room = 1;
	ssize_t got = getline(&p, &room, f);

	fclose(f);
	return got > 0 ? (char *)reallocarray(p, BYTES, 1) : NULL;
}

static char *by_string()
{
	std::string *s = new std::string(BYTES - 1, 'a');

	return &(*s)[0];
}

static char *by_strndup()
{
	static const char text[] =
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaa";

	return strndup(text, BYTES - 1);
}

static char *by_nothrow()
{
	return new (std::nothrow) char[BYTES];
}

static char *by_aligned()
{
	return new (std::align_val_t(32)) char[BYTES];
}

static char *by_memalign()
{
	return (char *)memalign(16, BYTES);
}

static char *(*const ways[])() = {by_asprintf, by_getline, by_string,  by_strndup,
				  by_nothrow,  by_aligned, by_memalign};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static bool was_freed(const char *p)
{
	return ((uintptr_t)p ^ (uintptr_t)block[BLOCKS / 2]) < 65536;
}

static char *map(char *at)
{
	char *p = (char *)mmap(at, MAPPED, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	p[0] = 1;
	p[MAPPED / 2] = 1;
	return p;
}

static char *volatile may_mapped, *volatile may_block;
void *own;

static void *gets(void *arg)
{
	int again = 0;

	for (unsigned w = 0; w < WAYS; w++) {
		for (int i = 0; i < BLOCKS; i++)
			block[i] = (char *)malloc(BYTES);
		pthread_barrier_wait(&both);
		await_step(2 * w + 1);
		for (int i = 0; i < 2 * BLOCKS; i++) {
			char *p = ways[w]();

			again += was_freed(p);
			p[0] = p[BYTES - 2] = 'x';
		}
		printf("%u: %s\n", w, again ? "again" : "never");
		again = 0;
		pthread_barrier_wait(&both);
	}
	await_step(100);
	map(may_mapped);
	if (racy) {
		char *p = may_block;

		p[40] = 'y';
	}
	return arg;
}

static void give()
{
	char *p = (char *)malloc(BYTES);

	may_block = p;
	free(p);
}

static void *gives(void *arg)
{
	own = malloc(1); /* it has a heap, too: what it frees goes home */
	for (unsigned w = 0; w < WAYS; w++) {
		pthread_barrier_wait(&both);
		for (int i = 0; i < BLOCKS; i++)
			free(block[i]);
		may_step = 2 * w + 1;
		pthread_barrier_wait(&both);
	}
	if (racy)
		give();
	may_mapped = map(NULL);
	munmap(may_mapped, MAPPED);
	may_step = 100;
	return arg;
}

int main(int argc, char **)
{
	pthread_t a, b;

	racy = argc > 1;
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&a, NULL, gets, NULL);
	pthread_create(&b, NULL, gives, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
