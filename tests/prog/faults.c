/* SPDX-License-Identifier: Apache-2.0 */
/* Handles signals that it gives cause for, and one that it sends to itself; prints how many came.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static sigjmp_buf back;
static volatile int *volatile nowhere;
static volatile sig_atomic_t got, told;

static void fault(int sig)
{
	got++;
	siglongjmp(back, sig);
}

static void tell(int sig)
{
	told += sig == SIGUSR1;
}

int main(void)
{
	struct sigaction action = {.sa_handler = fault};

	sigaction(SIGSEGV, &action, NULL);
	signal(SIGUSR1, tell);
	for (int i = 0; i < 3; i++) {
		raise(SIGUSR1);
		if (sigsetjmp(back, 1) == 0)
			*nowhere = 1;
		printf("got %d, told %d\n", (int)got, (int)told); /* line: told */
	}
	return 0;
}
