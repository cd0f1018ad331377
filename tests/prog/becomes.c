/* SPDX-License-Identifier: Apache-2.0 */
/* becomes PROGRAM: asks for the time, twice, and becomes another program. */
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_REALTIME, &now);
	return argc > 1 ? execv(argv[1], argv + 1) : 1;
}
