/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that use the same streams by every function of stdio and no lock of their own: they write
 * to standard output and error, a line a call, and share the lines of a file. Who got which line is
 * printed at the end; the order of the others is that of the calls.
 */
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef OLD_SCANF
/* As programs of before C99 call it. */
int old_fscanf(FILE *f, const char *format, ...) __asm__("fscanf");
#define fscanf old_fscanf
#endif

#define THREADS 4
#define STEPS 60

static FILE *shared;
static pthread_barrier_t start;

struct worker {
	int id;
	uint64_t x;
	char got[STEPS * 16];
};

static uint64_t next(struct worker *w)
{
	w->x ^= w->x << 13;
	w->x ^= w->x >> 7;
	w->x ^= w->x << 17;
	return w->x * 0x2545f4914f6cdd1dull >> 20;
}

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

static void put(struct worker *w, int i)
{
	FILE *f = next(w) % 2 ? stdout : stderr;
	char line[40];

	snprintf(line, sizeof(line), "%d %d\n", w->id, i);
	switch (next(w) % 11) {
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
		putchar('a' + w->id);
		putc('e' + w->id, f);
		fputc('i' + w->id, f);
		break;
	case 7:
		fflush(f);
		break;
	case 8:
		errno = ENOENT;
		perror("perror");
		warnx("x %d %d", w->id, i);
		break;
	case 9:
		putw(0x0a303030 + w->id, f);
		break;
	default:
		flockfile(stdout);
		printf("locked ");
		putchar_unlocked('0' + w->id);
		printf(" %s", line);
		funlockfile(stdout);
	}
}

/* Lines are 7 bytes: whatever is read, the next one finds the beginning of a line. */
static void get(struct worker *w)
{
	char line[16] = "", *allocated = NULL;
	size_t room = 0;
	fpos_t position;

	switch (next(w) % 6) {
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
	strcat(w->got, line);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	pthread_barrier_wait(&start);
	for (int i = 0; i < STEPS; i++) {
		put(w, i);
		get(w);
	}
	return NULL;
}

int main(void)
{
	static struct worker workers[THREADS];
	pthread_t thread[THREADS];

	shared = tmpfile();
	if (!shared)
		return 2;
	for (int i = 0; i < 2 * THREADS * STEPS; i++)
		fprintf(shared, "l%05d\n", i);
	rewind(shared);
	pthread_barrier_init(&start, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		workers[i].id = i;
		workers[i].x = 1000003ull * (uint64_t)(i + 1);
		pthread_create(&thread[i], NULL, work, &workers[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < THREADS; i++)
		printf("\ngot %d %s\n", i, workers[i].got);
	fclose(shared);
	return 0;
}
