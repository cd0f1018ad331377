/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fopenmp */
/*
 * gomp-signal: the first thread waits in a barrier of a region that can be cancelled; the second
 * comes there only when the handler of a signal, which it then sends to the first, has run.
 */
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t stop;
static pthread_t first;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

int main(void)
{
	int never = getpid() < 0;

	first = pthread_self();
	signal(SIGUSR1, on_signal);
#pragma omp parallel num_threads(2)
	{
#pragma omp cancel parallel if (never)
		if (omp_get_thread_num() == 1) {
			usleep(200000);
			pthread_kill(first, SIGUSR1);
			while (!stop)
				usleep(1000);
		}
#pragma omp barrier
	}
	printf("through\n");
	return 0;
}
