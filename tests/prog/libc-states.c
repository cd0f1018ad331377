/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads share what libc keeps for the process: the environment, the time zone, the string that
 * strtok takes apart, the list of functions that run at exit. What each of them finds there is in
 * its sum.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS 4
#define ROUNDS 4000
#define NAME "LIBC_STATES"

static unsigned long sums[THREADS];
static char sentence[THREADS][ROUNDS / 48 + 1][64];

static void ends(int status, void *arg)
{
	(void)status;
	printf("%ld\n", (long)arg);
}

static void make_sentences(long self)
{
	for (int k = 0; k < ROUNDS / 48 + 1; k++) {
		for (int i = 0; i < 63; i++)
			sentence[self][k][i] = i % 4 == 3 ? ' ' : (char)('a' + self * 4 + k % 4);
	}
}

static unsigned long look(long self, int i)
{
	const time_t noon = 12 * 3600;
	char value[32], *found = NULL;
	struct tm tm;

	snprintf(value, sizeof(value), i % 2 ? "%ld" : "A-%ld", self);
	switch (i % 6) {
	case 0:
		setenv("TZ", value, 1);
		return 0;
	case 1:
		setenv(NAME, value, 1);
		return 0;
	case 2:
		localtime_r(&noon, &tm);
		return (unsigned long)tm.tm_hour;
	case 3:
		found = getenv(NAME);
		break;
	default:
		found = strtok(i % 48 == 4 ? sentence[self][i / 48] : NULL, " ");
	}
	return found ? (unsigned long)found[0] : 1;
}

static void *work(void *arg)
{
	long self = (long)arg;

	for (int i = 0; i < ROUNDS; i++) {
		sums[self] = sums[self] * 31 + look(self, i);
		if (i % (ROUNDS / 4) == 0)
			on_exit(ends, (void *)(self * 10 + i * 4 / ROUNDS));
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];
	char first[] = "";

	setenv("TZ", "A-0", 1);
	setenv(NAME, "0", 1);
	strtok(first, " ");
	for (long i = 0; i < THREADS; i++)
		make_sentences(i);
	for (long i = 0; i < THREADS; i++) {
		if (pthread_create(&thread[i], NULL, work, (void *)i))
			abort();
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < THREADS; i++)
		printf("%lx\n", sums[i]);
	return 0;
}
