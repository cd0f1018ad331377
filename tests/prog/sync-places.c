/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects wherever a program may have them: initialised by the linker, in memory shared with
 * another process, on the stack, copied while nobody uses them, destroyed or just freed and their
 * bytes used again for objects of other kinds. Four threads; what they print depends on their
 * order.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mix.h"

#define THREADS 4
#define ROUNDS 40
#define STEPS 20

static pthread_mutex_t fixed[] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
				  PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
				  PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP};
static pthread_rwlock_t fixed_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t meet;

struct place {
	union {
		pthread_mutex_t mutex;
		pthread_rwlock_t rwlock;
		pthread_spinlock_t spin;
		sem_t sem;
	};
	uint64_t data;
};

struct shared {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	sem_t sem;
	uint64_t by_mutex, by_sem;
	int ready;
};

static struct place copies[ROUNDS + 1], *heap, *on_stack;
static struct shared *shared;
static uint64_t by_fixed[5];

static void use_fixed(void)
{
	unsigned i = (unsigned)(next() % 5);

	if (i == 4)
		pthread_rwlock_wrlock(&fixed_rwlock);
	else
		pthread_mutex_lock(&fixed[i]);
	mix(&by_fixed[i]);
	if (i == 4)
		pthread_rwlock_unlock(&fixed_rwlock);
	else
		pthread_mutex_unlock(&fixed[i]);
}

static void make(struct place *p, int kind)
{
	switch (kind) {
	case 0:
		pthread_mutex_init(&p->mutex, NULL);
		break;
	case 1:
		pthread_rwlock_init(&p->rwlock, NULL);
		break;
	case 2:
		pthread_spin_init(&p->spin, 0);
		break;
	default:
		sem_init(&p->sem, 0, 1);
	}
}

static void destroy(struct place *p, int kind)
{
	switch (kind) {
	case 0:
		pthread_mutex_destroy(&p->mutex);
		break;
	case 1:
		pthread_rwlock_destroy(&p->rwlock);
		break;
	case 2:
		pthread_spin_destroy(&p->spin);
		break;
	default:
		sem_destroy(&p->sem);
	}
}

static void use(struct place *p, int kind)
{
	switch (kind) {
	case 0:
		pthread_mutex_lock(&p->mutex);
		mix(&p->data);
		pthread_mutex_unlock(&p->mutex);
		break;
	case 1:
		pthread_rwlock_wrlock(&p->rwlock);
		mix(&p->data);
		pthread_rwlock_unlock(&p->rwlock);
		break;
	case 2:
		pthread_spin_lock(&p->spin);
		mix(&p->data);
		pthread_spin_unlock(&p->spin);
		break;
	default:
		sem_wait(&p->sem);
		mix(&p->data);
		sem_post(&p->sem);
	}
}

static void use_shared(void)
{
	pthread_mutex_lock(&shared->mutex);
	mix(&shared->by_mutex);
	pthread_mutex_unlock(&shared->mutex);
	sem_wait(&shared->sem);
	mix(&shared->by_sem);
	sem_post(&shared->sem);
}

/* What one thread does while the others wait: new objects where others were. */
static void renew(int round)
{
	uint64_t data = heap->data;

	copies[round + 1] = copies[round];
	/* Every other time without a destroy: the bytes are another object's now. */
	if (round % 2)
		destroy(heap, round % 4);
	free(heap);
	heap = malloc(sizeof(*heap));
	memset(heap, 0, sizeof(*heap));
	heap->data = data;
	make(heap, (round + 1) % 4);
	destroy(on_stack, (round + 3) % 4);
	make(on_stack, (round + 4) % 4);
}

static void *work(void *arg)
{
	x = (uint64_t)(uintptr_t)arg * 1000003;
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < STEPS; i++) {
			use_fixed();
			use(&copies[round], 0);
			use(heap, round % 4);
			use(on_stack, (round + 3) % 4);
			use_shared();
		}
		pthread_barrier_wait(&meet);
		if ((uintptr_t)arg == 1)
			renew(round);
		pthread_barrier_wait(&meet);
	}
	return (void *)(uintptr_t)x;
}

/* Another process that uses what is shared, before the threads do; it runs again in a replay. */
static void child_first(void)
{
	pid_t child = fork();

	if (child == 0) {
		pthread_mutex_lock(&shared->mutex);
		shared->by_mutex = 77;
		shared->ready = 1;
		pthread_cond_signal(&shared->cond);
		pthread_mutex_unlock(&shared->mutex);
		_exit(0);
	}
	pthread_mutex_lock(&shared->mutex);
	while (!shared->ready)
		pthread_cond_wait(&shared->cond, &shared->mutex);
	pthread_mutex_unlock(&shared->mutex);
	waitpid(child, NULL, 0);
}

static void make_shared(void)
{
	pthread_mutexattr_t mattr;
	pthread_condattr_t cattr;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		exit(3);
	pthread_mutexattr_init(&mattr);
	pthread_mutexattr_setpshared(&mattr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->mutex, &mattr);
	pthread_condattr_init(&cattr);
	pthread_condattr_setpshared(&cattr, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&shared->cond, &cattr);
	sem_init(&shared->sem, 1, 1);
}

int main(void)
{
	struct place local = {.data = 1};
	pthread_t thread[THREADS];
	void *value;

	on_stack = &local;
	make(on_stack, 3);
	heap = calloc(1, sizeof(*heap));
	make(heap, 0);
	make(&copies[0], 0);
	make_shared();
	pthread_barrier_init(&meet, NULL, THREADS);
	child_first();
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &value);
		printf("thread %d %lx\n", i, (unsigned long)value);
	}
	printf("%lx %lx %lx\n", copies[ROUNDS].data, heap->data, on_stack->data);
	printf("%lx %lx\n", shared->by_mutex, shared->by_sem);
	for (int i = 0; i < 5; i++)
		printf("%lx\n", by_fixed[i]);
	return 0;
}
