/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print-mix [THREADS]: threads that print to standard output and error, by stdio and past it, in an
 * order that is theirs. Whatever buffers stdio chooses, the replay prints the same.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES 60

static int failed;

static void put(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0)
		failed = 1;
}

static void *print(void *arg)
{
	int me = (int)(long)arg;
	char text[64];

	for (int i = 0; i < LINES; i++) {
		snprintf(text, sizeof(text), "%d %s %d\n", me,
			 (me + i) % 4 < 2 ? "writes" : "tells", i);
		switch ((me + i) % 4) {
		case 0:
			printf("%d prints %d %s\n", me, i, isatty(1) ? "here" : "there");
			break;
		case 1:
			put(1, text);
			break;
		case 2:
			fputs(text, stderr);
			break;
		case 3:
			put(2, text);
			break;
		}
		if (i == LINES / 2)
			fflush(stdout);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t thread[8];

	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, print, (void *)(long)(i + 1));
	print(NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return failed ? 3 : 0;
}
