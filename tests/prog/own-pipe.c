/* SPDX-License-Identifier: Apache-2.0 */
/* Writes numbers to a pipe and reads them again: own-pipe ROUNDS. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int seen;

__attribute__((noinline)) static void between(int round)
{
	seen = round;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1, wrong = 0, fd[2], value;

	if (pipe(fd) != 0)
		return 1;
	for (int round = 0; round < rounds; round++) {
		if (write(fd[1], &round, sizeof(round)) != sizeof(round))
			return 2;
		between(round);
		if (read(fd[0], &value, sizeof(value)) != sizeof(value))
			return 3;
		wrong += value != round;
	}
	printf("%d rounds, %d wrong\n", rounds, wrong);
	return 0;
}
