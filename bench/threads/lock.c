/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mutex that nobody else wants, taken and given back, while the program has a second thread, and
 * with a third argument a handler of signals, too.
 */
#include <signal.h>

#include "team.h"

static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
static long pairs;

static void work(int id)
{
	if (id)
		return;
	for (long i = 0; i < pairs; i++) {
		pthread_mutex_lock(&alone);
		pthread_mutex_unlock(&alone);
	}
	team_count = pairs;
}

static void ignore(int sig)
{
	(void)sig;
}

int main(int argc, char **argv)
{
	if (argc > 3)
		signal(SIGUSR1, ignore);
	pairs = team_arguments(argc, argv, 10000000);
	team_run(work);
	return 0;
}
