/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what the world outside gave to every rank: all clocks, process numbers, random bytes by
 * every way to get them. Nothing here is the same in two runs.
 */
#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include "outcome.h"

static void bytes(const char *what, const unsigned char *p, size_t n)
{
	outcome("\n  %s ", what);
	for (size_t i = 0; i < n; i++)
		outcome("%02x", p[i]);
}

static void clocks(void)
{
	static const clockid_t ids[] = {CLOCK_REALTIME,           CLOCK_MONOTONIC,
					CLOCK_REALTIME_COARSE,    CLOCK_MONOTONIC_RAW,
					CLOCK_BOOTTIME,           CLOCK_MONOTONIC_COARSE,
					CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID};
	struct timespec t;
	struct timeval v;
	struct tms tms;
	struct rusage usage;
	time_t now;

	outcome("\n  Wtime %a", MPI_Wtime());
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		CHECK(clock_gettime(ids[i], &t) == 0);
		outcome("\n  clock %zu %lld.%09ld", i, (long long)t.tv_sec, t.tv_nsec);
	}
	CHECK(clock_gettime(9999, &t) == -1);
	CHECK(gettimeofday(&v, NULL) == 0);
	outcome("\n  gettimeofday %lld.%06ld", (long long)v.tv_sec, (long)v.tv_usec);
	CHECK(time(&now) == now || time(NULL) >= now);
	outcome("\n  time %lld", (long long)now);
	CHECK(timespec_get(&t, TIME_UTC) == TIME_UTC);
	outcome("\n  timespec_get %lld.%09ld", (long long)t.tv_sec, t.tv_nsec);
	outcome("\n  clock() %ld times %ld", (long)clock(), (long)times(&tms));
	CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
	outcome("\n  rusage %ld.%06ld", (long)usage.ru_utime.tv_sec, (long)usage.ru_utime.tv_usec);
	outcome("\n  Wtime %a", MPI_Wtime());
}

static void identity(void)
{
	outcome("\n  pid %d ppid %d", (int)getpid(), (int)getppid());
}

static void randomness(void)
{
	unsigned char b[16];
	FILE *file;
	int fd;

	CHECK(getrandom(b, sizeof(b), 0) == (ssize_t)sizeof(b));
	bytes("getrandom", b, sizeof(b));
	CHECK(getentropy(b, sizeof(b)) == 0);
	bytes("getentropy", b, sizeof(b));
	outcome("\n  arc4random %08x %u", arc4random(), arc4random_uniform(1000000));
	arc4random_buf(b, sizeof(b));
	bytes("arc4random_buf", b, sizeof(b));
	fd = open("/dev/urandom", O_RDONLY);
	CHECK(fd >= 0);
	CHECK(read(fd, b, sizeof(b)) == (ssize_t)sizeof(b));
	bytes("read urandom", b, sizeof(b));
	close(fd);
	file = fopen("/dev/urandom", "r");
	CHECK(file != NULL);
	CHECK(fread(b, 1, sizeof(b), file) == sizeof(b));
	bytes("fread urandom", b, sizeof(b));
	fclose(file);
	fd = open("/dev/random", O_RDONLY);
	CHECK(fd >= 0);
	CHECK(read(fd, b, sizeof(b)) == (ssize_t)sizeof(b));
	bytes("read random", b, sizeof(b));
	close(fd);
}

int main(int argc, char **argv)
{
	identity();
	MPI_Init(&argc, &argv);
	clocks();
	identity();
	randomness();
	outcome_print();
	MPI_Finalize();
	return 0;
}
