/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync-soup SEED [THREADS [STEPS]]: threads that make random operations on random objects of every
 * kind. What a thread does next depends on what it saw, so any other order makes another run. All
 * shared data are protected: the order of the operations decides everything that is printed.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OBJECTS 5
#define MOST 64
#define ROOM 3

static int threads, steps;
static pthread_mutex_t mutex[OBJECTS], recursive, checking, queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static pthread_cond_t gate = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock[OBJECTS];
static pthread_spinlock_t spin[OBJECTS];
static pthread_barrier_t barrier;
static pthread_once_t once[OBJECTS];
static sem_t sem[OBJECTS];
static uint64_t by_mutex[OBJECTS], by_rwlock[OBJECTS], by_spin[OBJECTS], by_sem[OBJECTS];
static uint64_t by_recursive, by_checking, by_barrier, by_once[OBJECTS];
static uint64_t queue[ROOM];
static unsigned queue_head, queue_tail, gate_count, gate_round;

static __thread uint64_t x, *out;

static void mix(uint64_t *value)
{
	*value = (*value ^ x) * 0x9e3779b97f4a7c15ull + 1;
	x ^= *value >> 29;
}

static uint64_t next(void)
{
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x * 0x2545f4914f6cdd1dull >> 20;
}

static void busy(void)
{
	volatile uint64_t n = next() % 300;

	while (n)
		n--;
}

static struct timespec soon(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += (long)(next() % 300000);
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_sec++;
		ts.tv_nsec -= 1000000000;
	}
	return ts;
}

static void use_mutex(unsigned i)
{
	struct timespec ts;
	int rc = 0;

	switch (next() % 4) {
	case 0:
		rc = pthread_mutex_trylock(&mutex[i]);
		break;
	case 1:
		ts = soon();
		rc = pthread_mutex_timedlock(&mutex[i], &ts);
		break;
	default:
		pthread_mutex_lock(&mutex[i]);
	}
	if (rc) {
		x = x * 3 + (uint64_t)rc;
		return;
	}
	mix(&by_mutex[i]);
	if (i + 1 < OBJECTS && next() % 4 == 0) {
		pthread_mutex_lock(&mutex[i + 1]);
		mix(&by_mutex[i + 1]);
		pthread_mutex_unlock(&mutex[i + 1]);
	}
	busy();
	pthread_mutex_unlock(&mutex[i]);
}

static void use_kinds(void)
{
	pthread_mutex_lock(&recursive);
	mix(&by_recursive);
	if (pthread_mutex_trylock(&recursive) == 0) {
		mix(&by_recursive);
		pthread_mutex_unlock(&recursive);
	}
	mix(&by_recursive);
	pthread_mutex_unlock(&recursive);
	pthread_mutex_lock(&checking);
	if (pthread_mutex_lock(&checking) == EDEADLK)
		mix(&by_checking);
	pthread_mutex_unlock(&checking);
}

static void use_rwlock(unsigned i)
{
	uint64_t how = next() % 6;
	int rc = 0;

	if (how == 0)
		rc = pthread_rwlock_trywrlock(&rwlock[i]);
	else if (how == 1)
		rc = pthread_rwlock_tryrdlock(&rwlock[i]);
	else if (how == 2)
		pthread_rwlock_wrlock(&rwlock[i]);
	else
		pthread_rwlock_rdlock(&rwlock[i]);
	if (rc) {
		x += (uint64_t)rc;
		return;
	}
	if (how == 0 || how == 2)
		mix(&by_rwlock[i]);
	else
		x ^= by_rwlock[i];
	busy();
	pthread_rwlock_unlock(&rwlock[i]);
}

static void use_semaphore(unsigned i)
{
	struct timespec ts;
	int rc = 0;

	switch (next() % 4) {
	case 0:
		rc = sem_trywait(&sem[i]);
		break;
	case 1:
		ts = soon();
		rc = sem_timedwait(&sem[i], &ts);
		break;
	default:
		sem_wait(&sem[i]);
	}
	if (rc) {
		x += (uint64_t)errno;
		return;
	}
	mix(&by_sem[i]);
	busy();
	sem_post(&sem[i]);
}

static void use_spin(unsigned i)
{
	if (next() % 3 == 0) {
		if (pthread_spin_trylock(&spin[i])) {
			x++;
			return;
		}
	} else {
		pthread_spin_lock(&spin[i]);
	}
	mix(&by_spin[i]);
	pthread_spin_unlock(&spin[i]);
}

/* Puts or gets, and gives up after a while. */
static void use_queue(void)
{
	struct timespec until = soon();
	int put = next() % 2, rc = 0;

	pthread_mutex_lock(&queue_lock);
	while (!rc && (put ? queue_tail - queue_head == ROOM : queue_tail == queue_head))
		rc = pthread_cond_timedwait(put ? &emptied : &filled, &queue_lock, &until);
	if (rc) {
		x += (uint64_t)rc;
	} else if (put) {
		queue[queue_tail++ % ROOM] = x;
		pthread_cond_signal(&filled);
	} else {
		x ^= queue[queue_head++ % ROOM];
		pthread_cond_signal(&emptied);
	}
	pthread_mutex_unlock(&queue_lock);
}

static void run_once(void)
{
	uint64_t *value = out;

	mix(value);
	use_mutex(0);
}

static void use_once(unsigned i)
{
	out = &by_once[i];
	pthread_once(&once[i], run_once);
	x ^= by_once[i];
}

static void step(void)
{
	unsigned i = (unsigned)(next() % OBJECTS);

	switch (next() % 12) {
	case 0:
	case 1:
	case 2:
		use_mutex(i);
		break;
	case 3:
		use_kinds();
		break;
	case 4:
	case 5:
		use_rwlock(i);
		break;
	case 6:
	case 7:
		use_semaphore(i);
		break;
	case 8:
		use_spin(i);
		break;
	case 9:
		use_queue();
		break;
	case 10:
		use_once(i);
		break;
	default:
		if (next() % 16 == 0)
			printf("%llx\n", (unsigned long long)x);
	}
}

static void *child(void *arg)
{
	x = (uint64_t)(uintptr_t)arg | 1;
	for (int i = 0; i < 5; i++)
		step();
	return (void *)(uintptr_t)(x >> 16);
}

/* All threads meet, by a barrier and by a condition. */
static void meet(void)
{
	unsigned round;
	pthread_t thread;
	void *value;

	if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
		mix(&by_barrier);
	pthread_mutex_lock(&gate_lock);
	round = gate_round;
	if (++gate_count == (unsigned)threads) {
		gate_count = 0;
		gate_round++;
		mix(&by_barrier);
		pthread_cond_broadcast(&gate);
	}
	while (round == gate_round)
		pthread_cond_wait(&gate, &gate_lock);
	x ^= by_barrier;
	pthread_mutex_unlock(&gate_lock);
	if (pthread_create(&thread, NULL, child, (void *)(uintptr_t)x) == 0) {
		pthread_join(thread, &value);
		x ^= (uint64_t)(uintptr_t)value;
	}
}

static pthread_key_t key;

static void destroy(void *arg)
{
	x = (uint64_t)(uintptr_t)arg | 1;
	pthread_mutex_lock(&mutex[1]);
	mix(&by_mutex[1]);
	pthread_mutex_unlock(&mutex[1]);
}

static void *thread_main(void *arg)
{
	x = (uint64_t)(uintptr_t)arg;
	pthread_setspecific(key, arg);
	for (int i = 0; i < steps; i++) {
		step();
		if (i % 50 == 49)
			meet();
	}
	return (void *)(uintptr_t)x;
}

static void init(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&recursive, &attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&checking, &attr);
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	pthread_key_create(&key, destroy);
	for (int i = 0; i < OBJECTS; i++) {
		once[i] = PTHREAD_ONCE_INIT;
		pthread_mutex_init(&mutex[i], NULL);
		pthread_rwlock_init(&rwlock[i], NULL);
		pthread_spin_init(&spin[i], 0);
		sem_init(&sem[i], 0, 1);
	}
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	pthread_t thread[MOST];
	void *value;

	threads = argc > 2 ? atoi(argv[2]) : 4;
	steps = argc > 3 ? atoi(argv[3]) : 100;
	if (threads < 1 || threads > MOST)
		return 2;
	init();
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, thread_main,
			       (void *)(uintptr_t)(seed * 1000003 + (uint64_t)i + 1));
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i], &value);
		printf("thread %d %lx\n", i, (unsigned long)value);
	}
	for (int i = 0; i < OBJECTS; i++)
		printf("%d %lx %lx %lx %lx %lx\n", i, by_mutex[i], by_rwlock[i], by_spin[i],
		       by_sem[i], by_once[i]);
	printf("%lx %lx %lx\n", by_recursive, by_checking, by_barrier);
	return 0;
}
