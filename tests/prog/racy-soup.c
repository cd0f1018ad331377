/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads with a planted data race, for what a replay must not do in silence: end otherwise.
 * Arguments: a seed, which chooses the race and the way in which its result leaves the process, and
 * optionally the name of a race. A file that is written is named racy.dat.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { THREADS = 4, CELLS = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t line;
static volatile long cells[CELLS];
static volatile double sums[CELLS];
static volatile long next, ready, largest;
static long rounds;
static int way;
static char held[64];

static uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 31) * 0x7fb5d329728ea185ull;
	x = (x ^ x >> 27) * 0x81dadef4bc2dd44dull;
	return x ^ x >> 33;
}

static void at_exit(void)
{
	fputs(held, stdout);
}

/* One line leaves the process. */
static void print(const char *text)
{
	size_t n = strlen(text);
	struct iovec parts[2] = {{(void *)text, n / 2}, {(void *)(text + n / 2), n - n / 2}};
	FILE *file;

	switch (way) {
	case 0:
		printf("%s", text);
		break;
	case 1:
		fprintf(stderr, "%s", text);
		break;
	case 2:
		if (write(1, text, n) != (ssize_t)n)
			exit(3);
		break;
	case 3:
		dprintf(2, "%s", text);
		break;
	case 4:
		flockfile(stdout);
		for (size_t i = 0; i < n; i++)
			putc_unlocked(text[i], stdout);
		funlockfile(stdout);
		break;
	case 5:
		if (writev(1, parts, 2) != (ssize_t)n)
			exit(3);
		break;
	case 6:
		file = fopen("racy.dat", "a");
		if (!file || fputs(text, file) < 0 || fclose(file) != 0)
			exit(3);
		break;
	default:
		strncpy(held, text, sizeof(held) - 1);
	}
}

static void print_number(const char *name, long value)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %ld\n", name, value);
	print(text);
}

static void count(long id)
{
	for (long i = 0; i < rounds; i++) {
		cells[0]++;
		if (i % 64 == id) {
			pthread_mutex_lock(&lock);
			cells[1]++;
			pthread_mutex_unlock(&lock);
		}
	}
}

static void add_up(long id)
{
	for (long i = 0; i < rounds; i++)
		sums[i % CELLS] += 1.0 / (double)(i * THREADS + id + 1);
}

/* Looks at the next job without the lock that it then takes. */
static void take_jobs(long id)
{
	while (next < rounds) {
		long job = next;

		pthread_mutex_lock(&lock);
		cells[job % CELLS] = cells[job % CELLS] * 5 + id;
		next = job + 1;
		pthread_mutex_unlock(&lock);
	}
}

/* A barrier is missing between reading the neighbours and writing the own cell. */
static void relax(long id)
{
	for (long i = 0; i < rounds / 100 + 1; i++) {
		for (long k = id * CELLS / THREADS; k < (id + 1) * CELLS / THREADS; k++)
			cells[k] = cells[(k + 1) % CELLS] + cells[(k + CELLS - 1) % CELLS] + k + i;
		if (i % 8 == 0)
			pthread_barrier_wait(&line);
	}
}

static void find_largest(long id)
{
	for (long i = 0; i < rounds; i++) {
		long value = (long)(mixed((uint64_t)(i * THREADS + id)) & 0xffff) + i;

		if (value > largest)
			largest = value;
		cells[id] += largest & 7;
	}
}

/* Which lock is taken depends on the race. */
static void choose_lock(long id)
{
	for (long i = 0; i < rounds; i++) {
		pthread_mutex_t *m = (++cells[0] & 255) < 250 ? &lock : &other;

		if (i % 16)
			continue;
		pthread_mutex_lock(m);
		cells[2] = cells[2] * 3 + id;
		pthread_mutex_unlock(m);
	}
}

static void tell(long id)
{
	for (long i = 0; i < rounds / 50 + 1; i++) {
		cells[0]++;
		if (i % 32 == 0) {
			pthread_mutex_lock(&lock);
			if (way != 7)
				print_number("saw", cells[0] * 10 + id);
			pthread_mutex_unlock(&lock);
		}
	}
}

/* Stays until the process ends. */
static void stay(long id)
{
	count(id);
	if (id == 0)
		return;
	pthread_mutex_lock(&lock);
	if (way != 7)
		print_number("stays after", cells[0]);
	ready++;
	for (;;)
		pthread_cond_wait(&never, &lock);
}

static const struct race {
	const char *name;
	void (*run)(long id);
} races[] = {
	{"count", count},          {"add-up", add_up},    {"jobs", take_jobs}, {"relax", relax},
	{"largest", find_largest}, {"lock", choose_lock}, {"tell", tell},      {"stay", stay},
};

static const struct race *race;

static void *run(void *arg)
{
	race->run((long)(intptr_t)arg);
	return NULL;
}

static void wait_for_those_that_stay(void)
{
	long n = 0;

	while (n < THREADS - 1) {
		pthread_mutex_lock(&lock);
		n = ready;
		pthread_mutex_unlock(&lock);
		usleep(200);
	}
}

static void print_all(void)
{
	uint64_t hash = 0, bits;
	double sum = 0;

	for (int i = 0; i < CELLS; i++) {
		hash = mixed(hash + (uint64_t)cells[i]);
		sum += sums[i];
	}
	memcpy(&bits, &sum, sizeof(bits));
	print_number("result", (long)((hash ^ mixed(bits) ^ (uint64_t)largest) >> 1));
}

int main(int argc, char **argv)
{
	const size_t kinds = sizeof(races) / sizeof(races[0]);
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	pthread_t threads[THREADS];

	race = &races[mixed(seed) % kinds];
	for (size_t i = 0; i < kinds && argc > 2; i++) {
		if (strcmp(races[i].name, argv[2]) == 0)
			race = &races[i];
	}
	way = (int)(mixed(seed + 1) % 8);
	rounds = 2000 + (long)(mixed(seed + 2) % 30000);
	remove("racy.dat");
	atexit(at_exit);
	pthread_barrier_init(&line, NULL, THREADS);
	for (intptr_t i = 1; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, run, (void *)i))
			return 2;
	}
	run(NULL);
	if (race->run == stay)
		wait_for_those_that_stay();
	for (int i = 1; i < THREADS && race->run != stay; i++)
		pthread_join(threads[i], NULL);
	print_all();
	return (int)(cells[0] & 1);
}
