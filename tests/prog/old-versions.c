/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls pthreads by the names that programs have which were built before libpthread became a part
 * of libc (2.34); with -DANCIENT also second names of mutexes and read-write locks, and the
 * condition variables of before 2.3.2, which are another implementation. Four threads pass a number
 * on; what is printed depends on their order.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include "mix.h"

#define OLD(name, version) __asm__(".symver " #name "," #name "@" version)

OLD(pthread_create, "GLIBC_2.2.5");
OLD(pthread_join, "GLIBC_2.2.5");
OLD(pthread_detach, "GLIBC_2.2.5");
OLD(pthread_mutex_timedlock, "GLIBC_2.2.5");
OLD(pthread_spin_lock, "GLIBC_2.2.5");
OLD(pthread_spin_unlock, "GLIBC_2.2.5");
OLD(pthread_barrier_init, "GLIBC_2.2.5");
OLD(pthread_barrier_wait, "GLIBC_2.2.5");
OLD(sem_init, "GLIBC_2.2.5");
OLD(sem_wait, "GLIBC_2.2.5");
OLD(sem_trywait, "GLIBC_2.2.5");
OLD(sem_post, "GLIBC_2.2.5");
#ifdef ANCIENT
#define SECOND(name) __asm__(".symver " #name ",__" #name "@GLIBC_2.2.5")
SECOND(pthread_mutex_lock);
SECOND(pthread_mutex_trylock);
SECOND(pthread_mutex_unlock);
SECOND(pthread_rwlock_rdlock);
SECOND(pthread_rwlock_wrlock);
SECOND(pthread_rwlock_unlock);
SECOND(pthread_once);
OLD(pthread_cond_wait, "GLIBC_2.2.5");
OLD(pthread_cond_timedwait, "GLIBC_2.2.5");
OLD(pthread_cond_signal, "GLIBC_2.2.5");
OLD(pthread_cond_broadcast, "GLIBC_2.2.5");
OLD(pthread_cond_init, "GLIBC_2.2.5");
OLD(pthread_cond_destroy, "GLIBC_2.2.5");
#else
OLD(pthread_mutex_trylock, "GLIBC_2.2.5");
OLD(pthread_rwlock_rdlock, "GLIBC_2.2.5");
OLD(pthread_rwlock_wrlock, "GLIBC_2.2.5");
OLD(pthread_rwlock_unlock, "GLIBC_2.2.5");
OLD(pthread_once, "GLIBC_2.2.5");
#endif

#define THREADS 4
#define STEPS 300

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, tried = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, gate;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t sem;
static uint64_t data[6];
static int queue, open_gate;

static void first(void)
{
	mix(&data[5]);
}

static void use_condition(void)
{
	struct timespec ts = soon(CLOCK_REALTIME);
	int rc = 0;

	pthread_mutex_lock(&lock);
	if (next() % 2) {
		queue++;
		pthread_cond_signal(&filled);
	}
	while (queue == 0 && rc == 0)
		rc = pthread_cond_timedwait(&filled, &lock, &ts);
	x += (uint64_t)rc;
	if (rc == 0)
		queue--;
	mix(&data[0]);
	pthread_mutex_unlock(&lock);
}

static void use_others(void)
{
	struct timespec ts = soon(CLOCK_REALTIME);
	int rc = next() % 2 ? pthread_mutex_trylock(&tried) : pthread_mutex_timedlock(&tried, &ts);

	x += (uint64_t)rc;
	if (rc == 0) {
		mix(&data[1]);
		pthread_mutex_unlock(&tried);
	}
	pthread_rwlock_wrlock(&rwlock);
	mix(&data[2]);
	pthread_rwlock_unlock(&rwlock);
	pthread_rwlock_rdlock(&rwlock);
	x ^= data[2];
	pthread_rwlock_unlock(&rwlock);
	pthread_spin_lock(&spin);
	mix(&data[3]);
	pthread_spin_unlock(&spin);
	rc = next() % 2 ? sem_trywait(&sem) : sem_wait(&sem);
	x += (uint64_t)rc;
	if (rc == 0) {
		mix(&data[4]);
		sem_post(&sem);
	}
}

static void *work(void *arg)
{
	x = (uint64_t)(uintptr_t)arg * 1000003;
	pthread_mutex_lock(&lock);
	while (!open_gate)
		pthread_cond_wait(&gate, &lock);
	pthread_mutex_unlock(&lock);
	pthread_once(&once, first);
	for (int i = 0; i < STEPS; i++) {
		use_condition();
		use_others();
		if (i % 50 == 0 && pthread_barrier_wait(&barrier) != 0)
			mix(&data[5]);
	}
	return (void *)(uintptr_t)x;
}

int main(void)
{
	pthread_t thread[THREADS];
	void *value;

	pthread_cond_init(&gate, NULL);
	pthread_spin_init(&spin, 0);
	pthread_barrier_init(&barrier, NULL, THREADS);
	sem_init(&sem, 0, 1);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)(i + 1));
	pthread_mutex_lock(&lock);
	open_gate = 1;
	pthread_cond_broadcast(&gate);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &value);
		printf("thread %d %lx\n", i, (unsigned long)value);
	}
	for (int i = 0; i < 6; i++)
		printf("%lx\n", data[i]);
	pthread_cond_destroy(&gate);
	return 0;
}
