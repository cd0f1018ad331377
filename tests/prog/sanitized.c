/* SPDX-License-Identifier: Apache-2.0 */
/* sanitized [race|freed|leak]: threads that synchronise in every way, rightly, and print in which
   order they came; then the defect that is asked for, for a sanitizer to find. Built by its test.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS 4
#define ROUNDS 100

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int turn, came, under_rwlock, under_spin, under_semaphore, by_once, cells[THREADS], racy;
static char order[THREADS * ROUNDS + 1];
static const char *defect;

static void init(void)
{
	by_once = 42;
}

static void come(int id)
{
	pthread_mutex_lock(&mutex);
	order[came++] = (char)('a' + id);
	pthread_mutex_unlock(&mutex);
	pthread_rwlock_wrlock(&rwlock);
	under_rwlock++;
	pthread_rwlock_unlock(&rwlock);
	pthread_spin_lock(&spin);
	under_spin++;
	pthread_spin_unlock(&spin);
	sem_wait(&semaphore);
	under_semaphore++;
	sem_post(&semaphore);
}

static void take_turns(int id)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 30;
	pthread_mutex_lock(&mutex);
	while (turn != id) {
		if (id % 2)
			pthread_cond_wait(&cond, &mutex);
		else
			pthread_cond_timedwait(&cond, &mutex, &until);
	}
	turn++;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
}

static void *work(void *arg)
{
	int id = (int)(long)arg;
	char *text = malloc(100);

	for (int i = 0; i < ROUNDS; i++)
		come(id);
	pthread_once(&once, init);
	if (by_once != 42)
		abort();
	cells[id] = 1;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS; i++) {
		if (!cells[i])
			abort();
	}
	take_turns(id);
	if (strcmp(defect, "race") == 0)
		racy++;
	if (strcmp(defect, "freed") == 0 && id == 2) {
		free(text);
		*(volatile char *)text = 1;
	}
	if (strcmp(defect, "leak") != 0)
		free(text);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	defect = argc > 1 ? argv[1] : "";
	pthread_spin_init(&spin, 0);
	pthread_barrier_init(&barrier, NULL, THREADS);
	sem_init(&semaphore, 0, 1);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts(order);
	printf("%d %d %d %d\n", came, under_rwlock, under_spin, under_semaphore);
	return came == under_rwlock && came == under_spin && came == under_semaphore ? 0 : 3;
}
