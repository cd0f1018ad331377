/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fopenmp */
/*
 * gomp-signal: the first thread waits in a barrier of a region that can be cancelled; the second
 * comes there only when the handler of a signal, which it then sends to the first, has run.
 */
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile sig_atomic_t stop;
static pthread_t first;
static long first_id;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

/* As it does in the barrier, and nowhere else. */
static int sleeps(long id)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/stat", id);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(file);
	return state == 'S';
}

int main(void)
{
	int never = getpid() < 0;

	first = pthread_self();
	first_id = syscall(SYS_gettid);
	signal(SIGUSR1, on_signal);
#pragma omp parallel num_threads(2)
	{
#pragma omp cancel parallel if (never)
		if (omp_get_thread_num() == 1) {
			while (!sleeps(first_id))
				sched_yield();
			pthread_kill(first, SIGUSR1);
			while (!stop)
				sched_yield();
		}
#pragma omp barrier
	}
	printf("through\n");
	return 0;
}
