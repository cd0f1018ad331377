/* SPDX-License-Identifier: Apache-2.0 */
/* Reads lines from a named pipe, of which nothing is recorded: told-once PIPE LINES. */
#include <stdio.h>
#include <stdlib.h>

static volatile int lines;

__attribute__((noinline)) static void take_line(void)
{
	lines++;
}

int main(int argc, char **argv)
{
	FILE *f = argc > 2 ? fopen(argv[1], "r") : NULL;
	char line[64];

	if (!f)
		return 1;
	setvbuf(f, NULL, _IONBF, 0);
	for (int i = 0; i < atoi(argv[2]) && fgets(line, sizeof(line), f); i++)
		take_line();
	printf("%d lines\n", lines);
	return 0;
}
