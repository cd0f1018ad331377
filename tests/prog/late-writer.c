/* SPDX-License-Identifier: Apache-2.0 */
/* late-writer FILE: reads the clock so often that its inputs fill a file, then writes. */
#include <stdio.h>
#include <time.h>

int main(int argc, char **argv)
{
	struct timespec ts;
	FILE *file;

	for (int i = 0; i < 200000; i++)
		clock_gettime(CLOCK_REALTIME, &ts);
	file = fopen(argc > 1 ? argv[1] : "result", "w");
	if (!file)
		return 1;
	fputs("alive\n", file);
	return fclose(file) != 0;
}
