/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that open files to write again and again, under other names, too, and read what they wrote:
 * image-writes STEPS ROUNDS. Prints a hash over what was read as it goes.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned long hash = 7;
static int rank;

static void mix(unsigned long x)
{
	hash = (hash ^ x) * 0x9e3779b97f4a7c15ul;
	hash ^= hash >> 29;
}

static const char *named(const char *what)
{
	static char name[2][64];
	static int turn;

	turn = !turn;
	snprintf(name[turn], sizeof(name[0]), "%s.%d", what, rank);
	return name[turn];
}

static void put(const char *path, const char *mode)
{
	FILE *f = fopen(path, mode);

	if (!f)
		exit(1);
	fprintf(f, "%016lx\n", hash);
	fclose(f);
}

static void get(const char *path)
{
	char line[64] = "";
	FILE *f = fopen(path, "r");

	if (!f)
		exit(2);
	while (fgets(line, sizeof(line), f))
		mix(strtoul(line, NULL, 16) + 1);
	fclose(f);
}

/* Written at a place, and the rest of it stays. */
static void patch(const char *path, int step)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	long word = 0;

	if (fd < 0 || pwrite(fd, &hash, sizeof(hash), step % 5 * 8) != sizeof(hash) ||
	    pread(fd, &word, sizeof(word), step % 5 * 8) != sizeof(word))
		exit(3);
	mix((unsigned long)word + 1);
	close(fd);
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 20, rounds = argc > 2 ? atoi(argv[2]) : 10, size;
	unsigned long other = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int step = 0; step < steps; step++) {
		for (unsigned long k = 0; k < 100000ul * (unsigned long)rounds; k++)
			mix(k);
		MPI_Sendrecv(&hash, 1, MPI_UNSIGNED_LONG, (rank + 1) % size, 1, &other, 1,
			     MPI_UNSIGNED_LONG, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
		mix(other);
		put(named("appended"), "a");
		put(named("written"), "w");
		get(named("written"));
		put(named("part"), "w");
		if (rename(named("part"), named("whole")) != 0)
			exit(4);
		get(named("whole"));
		put(named("gone"), "w");
		unlink(named("gone"));
		patch(named("patched"), step);
		printf("rank %d step %d: %016lx\n", rank, step, hash);
		fflush(stdout);
	}
	unlink(named("patched"));
	MPI_Finalize();
	return 0;
}
