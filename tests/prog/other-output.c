/* SPDX-License-Identifier: Apache-2.0 */
/* Prints by each way of stdio; if the file exists, something else. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static char text[2];

static void by_list(FILE *f, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vfprintf(f, format, ap);
	va_end(ap);
}

static void *print(void *how)
{
	struct iovec parts[3] = {{"line ", 5}, {text, 1}, {"\n", 1}};
	char whole[8] = "line ";

	strcat(whole, text);
	switch (atoi(how)) {
	case 0:
		printf("line %s %d\n", text, 1);
		break;
	case 1:
		fprintf(stderr, "%s\n", text);
		break;
	case 2:
		by_list(stdout, "%s\n", text);
		break;
	case 3:
		puts(whole);
		break;
	case 4:
		fputs(whole, stdout);
		break;
	case 5:
		putc(text[0], stderr);
		putc('\n', stderr);
		break;
	case 6:
		putchar(text[0]);
		break;
	case 7:
		fwrite(whole, 1, 6, stdout);
		break;
	case 8:
		return (void *)(write(1, whole, 6) - 6);
	case 9:
		return (void *)(writev(2, parts, 3) - 7);
	}
	return NULL;
}

/* Replay knows nothing of this file. */
int main(int argc, char **argv)
{
	pthread_t thread;
	void *failed;

	strcpy(text, pathconf(argv[2], _PC_NAME_MAX) > 0 ? "b" : "a");
	pthread_create(&thread, NULL, print, argv[1]);
	pthread_join(thread, &failed);
	return argc != 3 || failed;
}
