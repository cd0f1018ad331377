/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps sums in vector registers over accesses to many pages. Aborts if a sum is another one in a
 * thread. */
#include <immintrin.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGES 3000

static double *memory;

static double sum(void)
{
	__m256d a = _mm256_set_pd(1, 2, 3, 4), b = _mm256_set_pd(5, 6, 7, 8);
	double d[4];

	for (int i = 0; i < PAGES; i++) {
		double x = memory[512 * i];

		a = _mm256_add_pd(a, _mm256_mul_pd(b, _mm256_set1_pd(x)));
		b = _mm256_add_pd(b, _mm256_set1_pd(x));
	}
	_mm256_storeu_pd(d, _mm256_add_pd(a, b));
	return d[0] + 2 * d[1] + 3 * d[2] + 5 * d[3];
}

static double of_thread;

static void *work(void *p)
{
	of_thread = sum();
	return p;
}

int main(void)
{
	double expected;
	pthread_t a;

	memory = calloc(PAGES * 512, sizeof(double));
	for (int i = 0; i < PAGES; i++)
		memory[512 * i] = i % 3;
	expected = sum(); /* nobody looks before there are threads */
	pthread_create(&a, 0, work, 0);
	pthread_join(a, 0);
	if (of_thread != expected || sum() != expected)
		abort();
	return 0;
}
