/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the clock three times, and once more where there is a file "more". */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	int n = pathconf("more", _PC_NAME_MAX) > 0 ? 4 : 3;
	struct timespec now;

	for (int i = 0; i < n; i++)
		clock_gettime(CLOCK_REALTIME, &now);
	printf("%ld\n", now.tv_nsec);
	return 0;
}
