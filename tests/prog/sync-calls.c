/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync-calls KIND: four threads use objects of one kind by every call there is for them. What a
 * thread has seen decides what it does next; what is shared is protected by the object under test
 * alone, so that the lines at the end depend on the order, on which tries failed and which waits
 * ran out of time.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mix.h"

#define THREADS 4
#define STEPS 400
#define KINDS 8

static pthread_mutex_t mutex[KINDS];
static pthread_rwlock_t rwlock[2];
static pthread_cond_t cond[2];
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static pthread_once_t once[STEPS];
static pthread_key_t key;
static sem_t unnamed[2], *sem[4];
static uint64_t data[KINDS];
static int left, owners_dead;

static clockid_t some_clock(void)
{
	return next() % 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
}

static void seen(int rc)
{
	x = x * 3 + (uint64_t)rc;
}

/* --- mutexes: normal, recursive, errorcheck, adaptive, robust, of two protocols, shared */

static void make_mutex(pthread_mutex_t *m, int kind)
{
	static const int type[KINDS] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
					PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type[kind]);
	if (kind == 4)
		pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	if (kind == 5)
		pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	if (kind == 6)
		pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT);
	if (kind == 7)
		pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(m, &attr);
	pthread_mutexattr_destroy(&attr);
}

static int lock_somehow(pthread_mutex_t *m, uint64_t how)
{
	clockid_t clock = some_clock();
	struct timespec ts;

	switch (how) {
	case 0:
		return pthread_mutex_trylock(m);
	case 1:
		ts = soon(CLOCK_REALTIME);
		return pthread_mutex_timedlock(m, &ts);
	case 2:
		ts = soon(clock);
		return pthread_mutex_clocklock(m, clock, &ts);
	default:
		return pthread_mutex_lock(m);
	}
}

/* A ceiling needs a right, and an inherited priority no other clock: there a plain lock will do. */
static uint64_t way_to_lock(unsigned kind)
{
	return kind == 5 || kind == 6 ? 3 * (next() % 2) : next() % 4;
}

static void use_mutex(int step)
{
	unsigned kind = (unsigned)(next() % KINDS);
	pthread_mutex_t *m = &mutex[kind];
	int rc = lock_somehow(m, way_to_lock(kind));

	(void)step;
	seen(rc);
	if (rc == EOWNERDEAD) {
		pthread_mutex_consistent(m);
		owners_dead++;
	} else if (rc) {
		return;
	}
	mix(&data[kind]);
	if (kind == 1 || kind == 2) {
		rc = lock_somehow(m, next() % 4);
		seen(rc);
		mix(&data[kind]);
		if (!rc)
			pthread_mutex_unlock(m);
	}
	pthread_mutex_unlock(m);
}

/* --- read-write locks, of which one prefers writers */

static void use_rwlock(int step)
{
	unsigned i = (unsigned)(next() % 2);
	uint64_t how = next() % 8;
	clockid_t clock = some_clock();
	struct timespec ts = soon(how < 4 ? CLOCK_REALTIME : clock);
	int rc = how == 0   ? pthread_rwlock_trywrlock(&rwlock[i])
		 : how == 1 ? pthread_rwlock_tryrdlock(&rwlock[i])
		 : how == 2 ? pthread_rwlock_timedwrlock(&rwlock[i], &ts)
		 : how == 3 ? pthread_rwlock_timedrdlock(&rwlock[i], &ts)
		 : how == 4 ? pthread_rwlock_clockwrlock(&rwlock[i], clock, &ts)
		 : how == 5 ? pthread_rwlock_clockrdlock(&rwlock[i], clock, &ts)
		 : how == 6 ? pthread_rwlock_wrlock(&rwlock[i])
			    : pthread_rwlock_rdlock(&rwlock[i]);

	(void)step;
	seen(rc);
	if (rc)
		return;
	if (how % 2 == 0)
		mix(&data[i]);
	else
		x ^= data[i];
	pthread_rwlock_unlock(&rwlock[i]);
}

/* --- conditions: whoever is woken takes the number; one has a clock of its own */

static void use_cond(int step)
{
	unsigned i = (unsigned)(next() % 2);
	clockid_t clock = i ? CLOCK_MONOTONIC : CLOCK_REALTIME;
	struct timespec ts = soon(clock);
	int rc = 0;

	pthread_mutex_lock(&mutex[0]);
	switch (step == STEPS - 1 ? 4 : next() % 6) {
	case 0:
		pthread_cond_signal(&cond[i]);
		mix(&data[0]);
		break;
	case 1:
		rc = pthread_cond_timedwait(&cond[i], &mutex[0], &ts);
		break;
	case 2:
		clock = some_clock();
		ts = soon(clock);
		rc = pthread_cond_clockwait(&cond[i], &mutex[0], clock, &ts);
		break;
	case 3:
		/* not the last one that could wake the others */
		if (left > 1) {
			left--;
			pthread_cond_wait(&cond[i], &mutex[0]);
			left++;
		}
		break;
	case 4:
		left -= step == STEPS - 1;
		pthread_cond_broadcast(&cond[0]);
		pthread_cond_broadcast(&cond[1]);
	}
	seen(rc);
	mix(&data[0]);
	pthread_mutex_unlock(&mutex[0]);
}

/* --- semaphores: two unnamed, two named; one of each as a lock, one for two at a time */

static void use_sem(int step)
{
	unsigned i = (unsigned)(next() % 4);
	clockid_t clock = some_clock();
	struct timespec ts;
	int rc, value;

	(void)step;
	switch (next() % 5) {
	case 0:
		rc = sem_trywait(sem[i]);
		break;
	case 1:
		ts = soon(CLOCK_REALTIME);
		rc = sem_timedwait(sem[i], &ts);
		break;
	case 2:
		ts = soon(clock);
		rc = sem_clockwait(sem[i], clock, &ts);
		break;
	default:
		rc = sem_wait(sem[i]);
	}
	seen(rc ? errno : 0);
	if (rc)
		return;
	if (i % 2 == 0)
		mix(&data[i]);
	sem_getvalue(sem[i], &value);
	seen(value);
	sem_post(sem[i]);
}

/* --- spin locks, barriers, once */

static void use_spin(int step)
{
	int rc = step % 3 == 0 ? pthread_spin_trylock(&spin) : pthread_spin_lock(&spin);

	seen(rc);
	if (rc)
		return;
	mix(&data[0]);
	pthread_spin_unlock(&spin);
}

static void use_barrier(int step)
{
	for (volatile uint64_t busy = next() % 5000; busy; busy--)
		;
	if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
		mix(&data[step % 2]);
	pthread_barrier_wait(&barrier);
	x ^= data[step % 2];
}

static void run_once(void)
{
	mix(&data[0]);
}

static void use_once(int step)
{
	for (volatile uint64_t busy = next() % 2000; busy; busy--)
		;
	pthread_once(&once[step], run_once);
	x ^= data[0] * (step == STEPS - 1);
}

/* --- threads: joined in every way, detached, ended by pthread_exit, with destructors */

static void destroy(void *arg)
{
	uint64_t rounds = (uint64_t)(uintptr_t)arg;

	pthread_mutex_lock(&mutex[0]);
	mix(&data[0]);
	pthread_mutex_unlock(&mutex[0]);
	if (rounds > 1) {
		pthread_setspecific(key, (void *)(uintptr_t)(rounds - 1));
		return;
	}
	pthread_mutex_lock(&mutex[1]);
	left--;
	pthread_mutex_unlock(&mutex[1]);
}

static void clean(void *arg)
{
	pthread_mutex_lock(&mutex[1]);
	mix(arg);
	pthread_mutex_unlock(&mutex[1]);
}

static void *child(void *arg)
{
	x = (uint64_t)(uintptr_t)arg | 1;
	pthread_setspecific(key, (void *)3);
	pthread_cleanup_push(clean, &data[1]);
	for (volatile uint64_t busy = next() % 30000; busy; busy--)
		;
	if (x % 2)
		pthread_exit((void *)(uintptr_t)(x >> 8));
	pthread_cleanup_pop(1);
	return (void *)(uintptr_t)(x >> 9);
}

static void join_somehow(pthread_t thread)
{
	clockid_t clock = some_clock();
	uint64_t how = next() % 4;
	struct timespec ts;
	void *value = NULL;
	int rc;

	do {
		ts = soon(how == 1 ? CLOCK_REALTIME : clock);
		rc = how == 0   ? pthread_tryjoin_np(thread, &value)
		     : how == 1 ? pthread_timedjoin_np(thread, &value, &ts)
		     : how == 2 ? pthread_clockjoin_np(thread, &value, clock, &ts)
				: pthread_join(thread, &value);
		seen(rc);
		if (rc == EBUSY)
			usleep(50);
	} while (rc == EBUSY || rc == ETIMEDOUT);
	seen((int)(uintptr_t)value);
}

static void use_threads(int step)
{
	pthread_attr_t attr;
	pthread_t thread;
	uint64_t how;

	if (step >= 20)
		return;
	pthread_attr_init(&attr);
	how = next() % 4;
	if (how == 0)
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_mutex_lock(&mutex[1]);
	left++;
	pthread_mutex_unlock(&mutex[1]);
	if (pthread_create(&thread, &attr, child, (void *)(uintptr_t)next()) != 0)
		exit(3);
	if (how == 1)
		pthread_detach(thread);
	else if (how > 1)
		join_somehow(thread);
	pthread_attr_destroy(&attr);
}

static const struct {
	const char *name;
	void (*use)(int step);
} kinds[] = {{"mutex", use_mutex}, {"rwlock", use_rwlock},  {"cond", use_cond},
	     {"sem", use_sem},     {"spin", use_spin},      {"barrier", use_barrier},
	     {"once", use_once},   {"threads", use_threads}};

static void (*use)(int step);

static void *work(void *arg)
{
	x = (uint64_t)(uintptr_t)arg * 1000003;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < STEPS; i++) {
		use(i);
		/* with what it has: another one finds that the owner is dead */
		if (use == use_mutex && (uintptr_t)arg == THREADS && i == STEPS / 2) {
			pthread_mutex_lock(&mutex[4]);
			break;
		}
	}
	return (void *)(uintptr_t)x;
}

static void init(void)
{
	pthread_rwlockattr_t rwattr;
	pthread_condattr_t cattr;
	char name[2][40];

	for (int i = 0; i < KINDS; i++)
		make_mutex(&mutex[i], i);
	pthread_rwlock_init(&rwlock[0], NULL);
	pthread_rwlockattr_init(&rwattr);
	pthread_rwlockattr_setkind_np(&rwattr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&rwlock[1], &rwattr);
	pthread_cond_init(&cond[0], NULL);
	pthread_condattr_init(&cattr);
	pthread_condattr_setclock(&cattr, CLOCK_MONOTONIC);
	pthread_cond_init(&cond[1], &cattr);
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	pthread_barrier_init(&barrier, NULL, THREADS);
	pthread_key_create(&key, destroy);
	left = THREADS;
	for (unsigned i = 0; i < 2; i++) {
		sem_init(&unnamed[i], 0, 1 + i);
		sem[i] = &unnamed[i];
		snprintf(name[i], sizeof(name[i]), "/reprise-calls-%d-%u", (int)getpid(), i);
		sem[2 + i] = sem_open(name[i], O_CREAT | O_EXCL, 0600, 1 + i);
		if (sem[2 + i] == SEM_FAILED || sem_open(name[i], 0) != sem[2 + i])
			exit(4);
		sem_unlink(name[i]);
	}
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	int running = 1;
	void *value;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (argc > 1 && strcmp(argv[1], kinds[i].name) == 0)
			use = kinds[i].use;
	}
	if (!use)
		return 2;
	init();
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &value);
		printf("thread %d %lx\n", i, (unsigned long)value);
	}
	while (use == use_threads && running) {
		pthread_mutex_lock(&mutex[1]);
		running = left > THREADS;
		mix(&data[1]);
		pthread_mutex_unlock(&mutex[1]);
		usleep(100);
	}
	owners_dead += pthread_mutex_lock(&mutex[4]) == EOWNERDEAD;
	printf("dead owners %d\n", owners_dead);
	for (int i = 0; i < KINDS; i++)
		printf("%d %lx\n", i, data[i]);
	return 0;
}
