/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -ldl */
/* The program, and with LIBRARY defined the library that it opens. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef LIBRARY
char *exchange(char *text);

char *exchange(char *text)
{
	struct timespec now;
	char *answer = malloc(64);

	free(text);
	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(answer, 64, "freed, at %ld", now.tv_nsec);
	return answer;
}
#else
int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND) : NULL;
	char *(*exchange)(char *) = library ? (char *(*)(char *))dlsym(library, "exchange") : NULL;
	char *answer = exchange ? exchange(strdup("text")) : NULL;

	if (!answer)
		return 1;
	puts(answer);
	free(answer);
	return 0;
}
#endif
