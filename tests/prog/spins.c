/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads wait for each other by turns, without calling anything. */
#include <pthread.h>
#include <stdio.h>

static volatile int flag[2];

static void *other(void *arg)
{
	for (int i = 0; i < 3; i++) {
		while (flag[0] <= i)
			;
		puts("other");
		flag[1]++;
	}
	return arg;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, other, NULL);
	for (int i = 0; i < 3; i++) {
		puts("main");
		flag[0]++;
		while (flag[1] <= i)
			;
	}
	pthread_join(thread, NULL);
	return 0;
}
