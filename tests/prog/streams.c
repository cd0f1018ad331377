/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that use the same streams by every function of stdio and no lock of their own: they write
 * to standard output and error, a line a call, and share the lines of a file. Who got which line is
 * printed at the end; the order of the others is that of the calls.
 */
#include <err.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "streams.h"

#ifdef OLD_SCANF
/* As programs of before C99 call it. */
int old_fscanf(FILE *f, const char *format, ...) __asm__("fscanf");
#define fscanf old_fscanf
#endif

static char got[THREADS][STEPS * 16];

static void with_list(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
}

static void put(int id, int i)
{
	FILE *f = next() % 2 ? stdout : stderr;
	char line[40];

	snprintf(line, sizeof(line), "%d %d\n", id, i);
	switch (next() % 11) {
	case 0:
		printf("%s", line);
		break;
	case 1:
		fprintf(f, "f %s", line);
		break;
	case 2:
		fputs(line, f);
		break;
	case 3:
		fwrite(line, 1, strlen(line), f);
		break;
	case 4:
		line[strlen(line) - 1] = '\0';
		puts(line);
		break;
	case 5:
		with_list("v %s", line);
		break;
	case 6:
		putchar('a' + id);
		putc('e' + id, f);
		fputc('i' + id, f);
		break;
	case 7:
		fflush(f);
		break;
	case 8:
		errno = ENOENT;
		perror("perror");
		warnx("x %d %d", id, i);
		break;
	case 9:
		putw(0x0a303030 + id, f);
		break;
	default:
		flockfile(stdout);
		printf("locked ");
		putchar_unlocked('0' + id);
		printf(" %s", line);
		funlockfile(stdout);
	}
}

/* Lines are 7 bytes: whatever is read, the next one finds the beginning of a line. */
static void get(int id)
{
	char line[16] = "", *allocated = NULL;
	size_t room = 0;
	fpos_t position;

	switch (next() % 6) {
	case 0:
		if (!fgets(line, sizeof(line), shared))
			return;
		break;
	case 1:
		if (getline(&allocated, &room, shared) > 0)
			snprintf(line, sizeof(line), "%s", allocated);
		free(allocated);
		break;
	case 2:
		if (fread(line, 7, 1, shared) != 1)
			return;
		break;
	case 3:
		if (fscanf(shared, "%6s ", line) != 1)
			return;
		break;
	case 4:
		snprintf(line, sizeof(line), "at %ld ", (long)ftello(shared) / 7);
		break;
	default:
		if (fgetpos(shared, &position) == 0)
			snprintf(line, sizeof(line), "pos %d ", (int)(position.__pos / 7));
	}
	line[strcspn(line, "\n")] = ' ';
	strcat(got[id], line);
}

int main(void)
{
	shared = tmpfile();
	if (!shared)
		return 2;
	for (int i = 0; i < 2 * THREADS * STEPS; i++)
		fprintf(shared, "l%05d\n", i);
	run_threads();
	for (int i = 0; i < THREADS; i++)
		printf("\ngot %d %s\n", i, got[i]);
	fclose(shared);
	return 0;
}
