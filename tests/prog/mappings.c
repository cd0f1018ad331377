/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads map, move, cut and unmap memory in all ways there are, at random, unmap each other's, and
 * check that nobody else's stores are in theirs. Prints a hash of all addresses of each thread.
 *   mappings THREADS ROUNDS
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#define MOST 8
#define HELD 64
#define PAGE 4096ul
#define ANONYMOUS (MAP_PRIVATE | MAP_ANONYMOUS)

struct block {
	char *at;
	size_t n;
	uint64_t mark;
};

static struct worker {
	pthread_t thread;
	unsigned int seed;
	uint64_t hash, marks;
	struct block held[HELD];
} workers[MOST];

static int rounds;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block passed[HELD]; /* to whoever unmaps it */

static void require(int holds, int line)
{
	if (!holds) {
		fprintf(stderr, "mappings.c:%d does not hold (%s)\n", line, strerror(errno));
		abort();
	}
}
#define REQUIRE(x) require((x) != 0, __LINE__)

static void seen(struct worker *w, const void *p)
{
	w->hash = (w->hash ^ (uintptr_t)p) * 0x9e3779b97f4a7c15ull;
	w->hash ^= w->hash >> 29;
}

static size_t draw(struct worker *w, size_t n)
{
	return (size_t)rand_r(&w->seed) % n;
}

static void fill(struct worker *w, struct block *b)
{
	b->mark = ++w->marks << 8 | (uint64_t)(w - workers);
	for (size_t i = 0; i < b->n; i += PAGE)
		memcpy(b->at + i, &b->mark, sizeof(b->mark));
}

static void check(const struct block *b)
{
	for (size_t i = 0; i < b->n; i += PAGE)
		REQUIRE(memcmp(b->at + i, &b->mark, sizeof(b->mark)) == 0);
}

static void drop(struct block *b)
{
	if (!b->n)
		return;
	check(b);
	REQUIRE(munmap(b->at, b->n) == 0);
	b->n = 0;
}

static void map(struct worker *w, struct block *b)
{
	void *wish = NULL;
	int flags = ANONYMOUS;

	drop(b);
	b->n = PAGE * (1 + draw(w, 40));
	switch (draw(w, 8)) {
	case 0:
		b->n = (2ul << 20) + PAGE * draw(w, 3);
		break;
	case 1:
		wish = (void *)(uintptr_t)((3ul << 40) + (draw(w, 1000) << 24) + 123);
		break;
	case 2:
		if (w->held[0].n)
			wish = w->held[0].at + w->held[0].n;
		break;
	case 3:
		flags |= MAP_32BIT;
		break;
	default:
		break;
	}
	b->at = mmap(wish, b->n, PROT_READ | PROT_WRITE, flags, -1, 0);
	REQUIRE(b->at != MAP_FAILED);
	seen(w, b->at);
	fill(w, b);
}

/* A large alignment, as allocators get it: what is too much at both ends is given back. */
static void align(struct worker *w, struct block *b)
{
	size_t much = 8ul << 20, head;
	char *p;

	drop(b);
	p = mmap(NULL, much, PROT_NONE, ANONYMOUS | MAP_NORESERVE, -1, 0);
	REQUIRE(p != MAP_FAILED);
	head = -(uintptr_t)p & ((4ul << 20) - 1);
	b->n = PAGE * (1 + draw(w, 100));
	b->at = p + head;
	REQUIRE(!head || munmap(p, head) == 0);
	REQUIRE(munmap(b->at + b->n, much - head - b->n) == 0);
	REQUIRE(mmap(b->at, b->n, PROT_READ | PROT_WRITE, ANONYMOUS | MAP_FIXED, -1, 0) == b->at);
	seen(w, b->at);
	fill(w, b);
}

static void cut(struct worker *w, struct block *b)
{
	size_t hole = b->n / 3 & -PAGE;

	if (!hole)
		return;
	check(b);
	REQUIRE(munmap(b->at + hole, hole) == 0);
	REQUIRE(munmap(b->at + 2 * hole, b->n - 2 * hole) == 0);
	b->n = hole;
	(void)w;
}

static void move(struct worker *w, struct block *b)
{
	size_t n = PAGE * (1 + draw(w, 80)), old = b->n;

	if (!old)
		return;
	check(b);
	b->at = mremap(b->at, old, n, MREMAP_MAYMOVE);
	REQUIRE(b->at != MAP_FAILED);
	b->n = n < old ? n : old;
	check(b);
	b->n = n;
	seen(w, b->at);
	fill(w, b);
}

static void stay(struct worker *w, struct block *b)
{
	void *p;

	if (!b->n)
		return;
	p = mremap(b->at, b->n, b->n + PAGE, 0);
	seen(w, p);
	if (p != MAP_FAILED)
		b->n += PAGE;
	fill(w, b);
}

/* Over a page of its own, and what cannot be had. What is now two mappings cannot be moved. */
static void demand(struct worker *w, struct block *b)
{
	if (!b->n)
		return;
	REQUIRE(mmap(b->at, PAGE, PROT_READ | PROT_WRITE, ANONYMOUS | MAP_FIXED, -1, 0) == b->at);
	fill(w, b);
	REQUIRE(mmap(b->at, PAGE, PROT_READ, ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
			MAP_FAILED &&
		errno == EEXIST);
	REQUIRE(mmap(NULL, 1ul << 46, PROT_READ | PROT_WRITE, ANONYMOUS, -1, 0) == MAP_FAILED);
	REQUIRE(mmap(NULL, 0, PROT_READ, ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
	drop(b);
}

static void pass(struct worker *w, struct block *b)
{
	struct block *to = &passed[draw(w, HELD)], other;

	pthread_mutex_lock(&lock);
	other = *to;
	*to = *b;
	pthread_mutex_unlock(&lock);
	*b = other;
}

static void *work(void *arg)
{
	static void (*const ways[])(struct worker *, struct block *) = {
		map, map, map, align, cut, move, stay, demand, pass, pass};
	struct worker *w = arg;

	for (int i = 0; i < rounds; i++)
		ways[draw(w, sizeof(ways) / sizeof(ways[0]))](w, &w->held[draw(w, HELD)]);
	for (int i = 0; i < HELD; i++)
		drop(&w->held[i]);
	return NULL;
}

static void print_others(void)
{
	int id = shmget(IPC_PRIVATE, 3 * PAGE, 0600 | IPC_CREAT);
	char *was = sbrk(0), *shared = id < 0 ? NULL : shmat(id, NULL, 0);
	void *library = dlopen("libm.so.6", RTLD_NOW);

	REQUIRE(sbrk(10000) == was && sbrk(0) == was + 10000);
	memset(was, 1, 10000);
	REQUIRE(sbrk(-10000) == was + 10000 && brk(was + 5) == 0 && sbrk(0) == was + 5);
	REQUIRE(shared && shared != (void *)-1);
	strcpy(shared, "shared");
	REQUIRE(shmctl(id, IPC_RMID, NULL) == 0 && shmdt(shared) == 0);
	printf("%p %p %p\n", (void *)was, (void *)shared, library ? dlsym(library, "cos") : NULL);
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;

	rounds = argc > 2 ? atoi(argv[2]) : 1000;
	for (int i = 0; i < threads; i++) {
		workers[i].seed = (unsigned int)i + 1;
		if (i && pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			abort();
	}
	work(&workers[0]);
	for (int i = 1; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < threads; i++)
		printf("%016lx\n", workers[i].hash);
	print_others();
	return 0;
}
