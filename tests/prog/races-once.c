/* SPDX-License-Identifier: Apache-2.0 */
/* What pthread_once and call_once have made is there for all who come later, and for those who
 * waited. */
#include <pthread.h>
#include <threads.h>

#define ROUNDS 8
#define THREADS 4

static pthread_once_t by_pthread[ROUNDS];
static once_flag by_c11[ROUNDS];
static int fine_pthread[ROUNDS], fine_c11[ROUNDS], round_;
static pthread_barrier_t all;

static void make_pthread(void)
{
	fine_pthread[round_] = 1;
}

static void make_c11(void)
{
	fine_c11[round_] = 1;
}

static void *work(void *arg)
{
	int *bad = arg;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&all);
		pthread_once(&by_pthread[i], make_pthread);
		*bad += !fine_pthread[i];
		call_once(&by_c11[i], make_c11);
		*bad += !fine_c11[i];
		if (pthread_barrier_wait(&all) == PTHREAD_BARRIER_SERIAL_THREAD)
			round_++;
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];
	int bad[THREADS] = {0}, sum = 0;

	pthread_barrier_init(&all, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, &bad[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		sum += bad[i];
	}
	return sum;
}
