/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that wait for each other by the futex system call. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 60

static atomic_int word, turn;
static char log_of[3 * ROUNDS + 1];
static atomic_int logged, late;

/* 0 free, 1 held, 2 held and wanted */
static void lock(void)
{
	int seen = 0;

	if (atomic_compare_exchange_strong(&word, &seen, 1))
		return;
	while (atomic_exchange(&word, 2))
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void unlock(void)
{
	if (atomic_exchange(&word, 0) == 2)
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *work(void *arg)
{
	const struct timespec moment = {0, 100000000};

	for (int i = 0; i < ROUNDS; i++) {
		lock();
		log_of[atomic_fetch_add(&logged, 1)] = (char)('a' + (long)arg);
		/* Nobody wakes this one: the lock is held for as long as it lasts. */
		if (i == 8 * (int)(long)arg &&
		    syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, 0, &moment, NULL, 0) < 0 &&
		    errno == ETIMEDOUT)
			atomic_fetch_add(&late, 1);
		unlock();
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[3];

	for (long i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	printf("%s %d\n", log_of, atomic_load(&late));
	return atomic_load(&late) == 0;
}
