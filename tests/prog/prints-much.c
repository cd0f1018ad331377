/* SPDX-License-Identifier: Apache-2.0 */
/* Prints so many numbered lines. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int lines = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 1; i <= lines; i++)
		printf("line %06d\n", i);
	return 0;
}
