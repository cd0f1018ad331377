/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads take N spin locks, most of them both; who came first at each is what it prints. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct cell {
	pthread_spinlock_t lock;
	int first;
};

static struct cell *cells;
static int n;

static void *body(void *arg)
{
	for (int i = 0; i < n; i++) {
		struct cell *c = &cells[arg == (void *)1 ? i : n - 1 - i];

		pthread_spin_lock(&c->lock);
		if (!c->first)
			c->first = (int)(long)arg;
		pthread_spin_unlock(&c->lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long sum = 0;
	pthread_t thread[2];

	n = argc > 1 ? atoi(argv[1]) : 1000;
	cells = calloc((size_t)n, sizeof(*cells));
	for (int i = 0; i < n; i++)
		pthread_spin_init(&cells[i].lock, PTHREAD_PROCESS_PRIVATE);
	for (long i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, body, (void *)(i + 1));
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < n; i++)
		sum = sum * 31 + (unsigned long)cells[i].first;
	printf("%lx\n", sum);
	for (int i = 0; i < n; i++)
		pthread_spin_destroy(&cells[i].lock);
	return 0;
}
