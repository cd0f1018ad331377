/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heap below malloc: sizes and places, random operations against a model (each block is full of
 * its own pattern, so blocks that overlap are noticed), several threads, memory that comes back,
 * and that a second run with the recorded order of lists finds the same addresses. What concerns
 * addresses runs in child processes: an address space has one heap per slot.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hook/common/hook.h"
#include "hook/heap/core.h"
#include "hook/heap/slots.h"

__thread struct hook_here hook_here;

#define BLOCKS 4000

struct model {
	struct heap *heap;
	uint64_t random;
	unsigned char *block[BLOCKS];
	size_t size[BLOCKS];
	uint64_t hash; /* of all addresses so far */
};

static uint64_t draw(struct model *m)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return m->random;
}

/* In a child nothing but its status is seen: a failed check ends it. */
static void check(bool holds, int line)
{
	if (!holds) {
		fprintf(stderr, "test-heap.c:%d does not hold\n", line);
		_exit(1);
	}
}
#define CHECK(x) check((x), __LINE__)

static int status_of_child(void (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		body();
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void in_child(void (*body)(void))
{
	assert_int_equal(status_of_child(body), 0);
}

static unsigned char pattern(const void *p, size_t n)
{
	return (unsigned char)((uintptr_t)p / 16 * 31 + n);
}

/* Of a large block, its ends and something of each page. */
static void fill(unsigned char *p, size_t n)
{
	unsigned char c = pattern(p, n);
	size_t end = n < 4096 ? n : 4096;

	memset(p, c, end);
	memset(p + n - end, c, end);
	for (size_t i = end; i < n; i += 4096)
		p[i] = c;
}

static bool is_full(const unsigned char *p, size_t n, unsigned char c)
{
	size_t end = n < 4096 ? n : 4096;

	for (size_t i = 0; i < end; i++) {
		if (p[i] != c || p[n - end + i] != c)
			return false;
	}
	for (size_t i = end; i < n; i += 4096) {
		if (p[i] != c)
			return false;
	}
	return true;
}

static void release(struct heap *h, void *p)
{
	if (heap_is_small(p))
		heap_free_small(h, p);
	else
		heap_free_large(h, p);
}

static void step_free(struct model *m, size_t i)
{
	CHECK(is_full(m->block[i], m->size[i], pattern(m->block[i], m->size[i])));
	release(m->heap, m->block[i]);
	m->block[i] = NULL;
}

static size_t some_size(struct model *m)
{
	uint64_t r = draw(m);

	switch (r & 63) {
	case 0:
		return HEAP_SMALL_MAX + (r >> 8) % 300000;
	case 1:
	case 2:
	case 3:
		return (r >> 8) % HEAP_SMALL_MAX;
	case 4:
		return 0;
	default:
		return (r >> 8) % 700;
	}
}

static void step_alloc(struct model *m, size_t i)
{
	size_t n = some_size(m), align = 16;
	unsigned char *p;

	if (draw(m) % 8 == 0) {
		align = 1ul << (draw(m) % 14 + 4);
		p = heap_alloc_aligned(m->heap, n, align);
	} else {
		p = heap_alloc(m->heap, n);
	}
	CHECK(p != NULL);
	CHECK((uintptr_t)p % align == 0);
	CHECK(heap_room(p) >= n);
	CHECK(heap_is_ours(p));
	m->block[i] = p;
	m->size[i] = n;
	m->hash = (m->hash ^ (uintptr_t)p) * 0x100000001b3ull;
	fill(p, n);
}

static void step_realloc(struct model *m, size_t i)
{
	size_t n = HEAP_SMALL_MAX + 1 + draw(m) % (draw(m) % 16 ? 200000 : 3000000);
	size_t had = m->size[i], kept = (had < n ? had : n) & ~4095ul;
	unsigned char c = pattern(m->block[i], had);
	unsigned char *p = heap_realloc_large(m->heap, m->block[i], n);

	CHECK(p != NULL);
	CHECK(heap_room(p) >= n);
	for (size_t k = 0; k < had && k < 4096; k++)
		CHECK(p[k] == c);
	for (size_t k = 4096; k < kept; k += 4096)
		CHECK(p[k] == c);
	CHECK(had > n || !had || p[had - 1] == c);
	m->block[i] = p;
	m->size[i] = n;
	m->hash = (m->hash ^ (uintptr_t)p) * 0x100000001b3ull;
	fill(p, n);
}

static void steps(struct model *m, size_t count)
{
	for (size_t k = 0; k < count; k++) {
		size_t i = draw(m) % BLOCKS;

		if (!m->block[i])
			step_alloc(m, i);
		else if (heap_is_large(m->block[i]) && draw(m) % 2)
			step_realloc(m, i);
		else
			step_free(m, i);
	}
}

static void sizes_fit(void **state)
{
	(void)state;
	for (size_t n = 0; n <= HEAP_SMALL_MAX; n++) {
		uint32_t c = heap_class(n);
		size_t size = heap_class_size(c);

		assert_true(c < HEAP_CLASSES && size >= n && size % 16 == 0 && size >= 32);
		assert_true(size <= 32 || size <= n + n / 8 + 16);
		assert_int_equal(heap_class(size), c);
	}
	for (size_t n = HEAP_SMALL_MAX + 1; n < HEAP_TIB; n += n / 1000) {
		uint32_t k = heap_large_class(n);
		size_t size = heap_large_class_size(k);

		assert_true(k < HEAP_LARGE_CLASSES && size >= n && size <= n + n / 8 + 1);
		assert_int_equal(size % HEAP_PAGE, 0);
		assert_int_equal(heap_large_class(size), k);
	}
}

static void places_do_not_meet(void **state)
{
	uintptr_t small = HEAP_SMALL_BASE, large = HEAP_LARGE_BASE;

	(void)state;
	for (uint32_t slot = 0; slot < HEAP_SLOTS; slot++) {
		struct heap_range s = heap_small_range(slot), l = heap_large_range(slot);

		assert_true(s.start >= small && s.end > s.start && l.start >= large &&
			    l.end > l.start);
		assert_int_equal(s.start % HEAP_SEGMENT, 0);
		small = s.end;
		large = l.end;
	}
	assert_true(small <= HEAP_SMALL_BASE + HEAP_SMALL_BYTES);
	assert_true(large <= HEAP_LARGE_BASE + HEAP_LARGE_BYTES);
}

static void random_child(void)
{
	static struct model m = {.random = 42};

	m.heap = heap_make(0);
	CHECK(m.heap != NULL);
	for (int i = 0; i < 20; i++) {
		steps(&m, 10000);
		if (i % 5 == 4)
			heap_trim(m.heap);
	}
	for (size_t i = 0; i < BLOCKS; i++) {
		if (m.block[i])
			step_free(&m, i);
	}
}

static void random_operations(void **state)
{
	(void)state;
	in_child(random_child);
}

static void zero_child(void)
{
	struct heap *h = heap_make(0);

	for (size_t n = HEAP_SMALL_MAX + 1; n < 8000000; n += n / 3) {
		for (int i = 0; i < 3; i++) {
			unsigned char *p = heap_alloc_large(h, n, 64, true);

			CHECK(p && p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
			memset(p, 0xee, n);
			heap_free_large(h, p);
			if (i == 1)
				heap_trim(h);
		}
	}
}

static void zeroed_blocks_are_zero(void **state)
{
	(void)state;
	in_child(zero_child);
}

/* Blocks of one size, all freed, make room for blocks of another. */
static void reuse_child(void)
{
	enum { BYTES = 48 << 20 };
	static void *p[BYTES / 48];
	struct heap *h = heap_make(0);
	uint32_t most = 0;

	for (size_t n = 48; n < 5000; n += n / 2) {
		for (size_t i = 0; i < BYTES / n; i++)
			CHECK((p[i] = heap_alloc(h, n)) != NULL);
		if (n == 48)
			most = h->segment_count;
		for (size_t i = 0; i < BYTES / n; i++)
			heap_free_small(h, p[i]);
	}
	CHECK(h->segment_count <= most + most / 2);
}

static void spans_change_class(void **state)
{
	(void)state;
	in_child(reuse_child);
}

static size_t resident(void)
{
	unsigned long size, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	CHECK(f && fscanf(f, "%lu %lu", &size, &pages) == 2);
	fclose(f);
	return pages * 4096;
}

static void large_child(void)
{
	struct heap *h = heap_make(0);
	void *p[200];
	size_t before = resident(), full;

	for (int i = 0; i < 200; i++) {
		p[i] = heap_alloc(h, 1 << 20);
		memset(p[i], 1, 1 << 20);
	}
	full = resident();
	for (int i = 0; i < 200; i++)
		release(h, p[i]);
	CHECK(full - before > 190u << 20);
	CHECK(resident() - before < 80u << 20);
	heap_trim(h);
	CHECK(resident() - before < 10u << 20);
}

static void large_memory_goes_back(void **state)
{
	(void)state;
	in_child(large_child);
}

/* A producer and a consumer: what the one makes the other frees, and memory does not grow. */
static _Atomic(void *) boxes[256];

static void *consume(void *arg)
{
	struct heap *h = heap_make(2);

	(void)arg;
	CHECK(h != NULL);
	for (size_t n = 0; n < 400000;) {
		for (size_t i = 0; i < 256; i++) {
			void *p = atomic_exchange(&boxes[i], NULL);

			if (p) {
				release(h, p);
				n++;
			}
		}
		sched_yield();
	}
	return NULL;
}

static void produce_child(void)
{
	struct heap *h = heap_make(1);
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, consume, NULL) == 0);
	for (size_t n = 0; n < 400000; n++) {
		void *p = heap_alloc(h, n % 1000 == 0 ? 100000 : 100), *none = NULL;

		CHECK(p != NULL);
		memset(p, 1, 100);
		while (!atomic_compare_exchange_strong(&boxes[n % 256], &none, p)) {
			none = NULL;
			sched_yield();
		}
	}
	pthread_join(thread, NULL);
	CHECK(h->segment_count <= 4);
	CHECK(h->large_next - heap_large_range(1).start < 1ul << 30);
}

static void blocks_go_home(void **state)
{
	(void)state;
	in_child(produce_child);
}

/*
 * Threads that free each other's blocks, in rounds; the lists that come home are recorded in the
 * first run, and taken alike in the second.
 */
enum { WORKERS = 4, ROUNDS = 30, HANDED = 1500, TAKES = 100000 };

struct outcome {
	uint64_t hash[WORKERS];
	size_t takes[WORKERS];
	struct {
		uint64_t refill;
		uintptr_t info;
	} take[WORKERS][TAKES];
};
static struct outcome *outcome; /* shared by the two runs */
static size_t taken[WORKERS];
static pthread_barrier_t barrier;
static void *handed[WORKERS][HANDED];

static bool record_due(struct heap *h)
{
	return h->arrived || atomic_load(&h->inbox);
}

static bool record_take(struct heap *h, uintptr_t *info)
{
	uint32_t id = h->slot - 1;

	if (!h->arrived)
		return false;
	CHECK(outcome->takes[id] < TAKES);
	*info = h->arrived->key;
	outcome->take[id][outcome->takes[id]].refill = h->refills;
	outcome->take[id][outcome->takes[id]++].info = *info;
	return true;
}

static bool replay_take(struct heap *h, uintptr_t *info)
{
	uint32_t id = h->slot - 1;

	if (taken[id] == outcome->takes[id] || outcome->take[id][taken[id]].refill != h->refills)
		return false;
	*info = outcome->take[id][taken[id]++].info;
	return true;
}

static bool replay_due(struct heap *h)
{
	uint32_t id = h->slot - 1;

	return taken[id] < outcome->takes[id] && outcome->take[id][taken[id]].refill == h->refills;
}

static void missing(void)
{
	CHECK(false);
}

static void *exchange(void *arg)
{
	uint32_t id = (uint32_t)(uintptr_t)arg;
	struct model *m = calloc(1, sizeof(*m));

	m->random = 1234567 + id;
	m->heap = heap_make(id + 1);
	CHECK(m->heap != NULL);
	for (int round = 0; round < ROUNDS; round++) {
		steps(m, 1000);
		for (size_t i = 0; i < HANDED; i++) {
			handed[id][i] = heap_alloc(m->heap, i % 500 ? 40 + i % 30 : 80000);
			m->hash = (m->hash ^ (uintptr_t)handed[id][i]) * 0x100000001b3ull;
		}
		pthread_barrier_wait(&barrier);
		for (size_t i = 0; i < HANDED; i++)
			release(m->heap, handed[(id + 1 + i % 2) % WORKERS][i]);
		pthread_barrier_wait(&barrier);
	}
	heap_retire(m->heap);
	outcome->hash[id] = m->hash;
	free(m);
	return NULL;
}

static void exchange_all(void)
{
	pthread_t thread[WORKERS];

	CHECK(pthread_barrier_init(&barrier, NULL, WORKERS) == 0);
	for (uintptr_t i = 0; i < WORKERS; i++)
		CHECK(pthread_create(&thread[i], NULL, exchange, (void *)i) == 0);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(thread[i], NULL);
}

static void exchange_recorded(void)
{
	static const struct heap_order order = {record_due, record_take, missing, NULL};

	heap_order = &order;
	exchange_all();
}

static void exchange_replayed(void)
{
	static const struct heap_order order = {replay_due, replay_take, missing, NULL};

	heap_order = &order;
	exchange_all();
}

static void same_addresses_again(void **state)
{
	uint64_t hash[WORKERS];

	(void)state;
	outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	assert_true(outcome != MAP_FAILED);
	in_child(exchange_recorded);
	memcpy(hash, outcome->hash, sizeof(hash));
	for (int i = 0; i < WORKERS; i++)
		assert_true(outcome->takes[i] > 0);
	for (int i = 0; i < 3; i++) {
		memset(outcome->hash, 0, sizeof(hash));
		in_child(exchange_replayed);
		assert_memory_equal(outcome->hash, hash, sizeof(hash));
	}
	munmap(outcome, sizeof(*outcome));
}

static void no_room_child(void)
{
	struct rlimit limit = {64 << 20, 64 << 20};
	struct heap *h = heap_make(0);
	size_t n = 0;

	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
	CHECK(heap_alloc(h, 1ul << 30) == NULL);
	CHECK(heap_alloc(h, SIZE_MAX) == NULL);
	CHECK(heap_alloc_aligned(h, 100, 1ul << 50) == NULL);
	while (n < 200000 && heap_alloc(h, 1000))
		n++;
	CHECK(n > 1000 && n < 200000);
	CHECK(heap_alloc(h, 1000) == NULL);
}

static void no_room_is_an_answer(void **state)
{
	(void)state;
	in_child(no_room_child);
}

static void free_twice_child(void)
{
	struct heap *h = heap_make(0);
	void *p = heap_alloc(h, 100), *q = heap_alloc(h, 100);

	heap_free_small(h, p);
	heap_free_small(h, q);
	heap_free_small(h, p);
}

static void free_twice_large_child(void)
{
	struct heap *h = heap_make(0);
	void *p = heap_alloc(h, 100000);

	heap_free_large(h, p);
	heap_free_large(h, p);
}

static void free_inside_child(void)
{
	struct heap *h = heap_make(0);

	heap_free_small(h, (char *)heap_alloc(h, 1000) + 16);
}

static void free_nothing_child(void)
{
	struct heap *h = heap_make(0);

	heap_free_small(h, (char *)heap_alloc(h, 1000) + 4 * HEAP_UNIT);
}

/* What looks free and is not: a block that was filled from a freed one. */
static void free_copy_child(void)
{
	struct heap *h = heap_make(0);
	void *p = heap_alloc(h, 100), *q = heap_alloc(h, 100);

	heap_free_small(h, p);
	memcpy(q, p, 32);
	heap_free_small(h, q);
}

static void bad_frees_abort(void **state)
{
	(void)state;
	assert_int_equal(status_of_child(free_twice_child) & 127, SIGABRT);
	assert_int_equal(status_of_child(free_twice_large_child) & 127, SIGABRT);
	assert_int_equal(status_of_child(free_inside_child) & 127, SIGABRT);
	assert_int_equal(status_of_child(free_nothing_child) & 127, SIGABRT);
	in_child(free_copy_child);
}

static void taken_addresses_child(void)
{
	struct heap_range small = heap_small_range(3);

	CHECK(mmap((void *)(small.start + HEAP_PAGE), HEAP_PAGE, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
	CHECK(heap_make(3) == NULL);
}

static void taken_addresses_are_left(void **state)
{
	(void)state;
	in_child(taken_addresses_child);
}

static uint32_t not_ready;

static bool is_free(uint32_t slot)
{
	return slot != not_ready;
}

static void slots_are_used_again(void **state)
{
	static const struct heap_slot_also also = {is_free, NULL};
	struct heap_use a = heap_slot_take(), b = heap_slot_take(), c;

	(void)state;
	assert_int_equal(a.slot, 1);
	assert_int_equal(b.slot, 2);
	heap_slot_leave(a.slot);
	c = heap_slot_take();
	assert_int_equal(c.slot, 1);
	assert_int_equal(c.turn, 1);
	heap_slot_leave(b.slot);
	assert_true(heap_slot_take_this((struct heap_use){2, 1}));
	assert_true(heap_slot_take_this((struct heap_use){5, 0}));
	assert_false(heap_slot_take_this((struct heap_use){HEAP_SLOTS, 0}));
	assert_int_equal(heap_slot_take().slot, 6);

	/* One that was left, but to which something belongs that is not free yet, is passed by. */
	heap_slot_also = &also;
	not_ready = 2;
	heap_slot_leave(2);
	heap_slot_leave(5);
	assert_int_equal(heap_slot_take().slot, 5);
	assert_int_equal(heap_slot_take().slot, 7);
	not_ready = 0;
	assert_int_equal(heap_slot_take().slot, 2);
	heap_slot_also = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_fit),
		cmocka_unit_test(places_do_not_meet),
		cmocka_unit_test(random_operations),
		cmocka_unit_test(zeroed_blocks_are_zero),
		cmocka_unit_test(spans_change_class),
		cmocka_unit_test(large_memory_goes_back),
		cmocka_unit_test(blocks_go_home),
		cmocka_unit_test(same_addresses_again),
		cmocka_unit_test(no_room_is_an_answer),
		cmocka_unit_test(bad_frees_abort),
		cmocka_unit_test(taken_addresses_are_left),
		cmocka_unit_test(slots_are_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
