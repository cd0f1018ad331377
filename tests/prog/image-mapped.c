/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each rank has a file mapped, MAP_SHARED and to be written, from `before` or `after` MPI_Init on.
 * What it writes there it reads from the file again, and prints.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES 8192

static char name[64];

static int *map_file(void)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	int *at = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, BYTES) == 0)
		at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

static int read_back(void)
{
	int fd = open(name, O_RDONLY), value = -1;

	if (fd < 0 || read(fd, &value, sizeof(value)) != (ssize_t)sizeof(value))
		value = -1;
	close(fd);
	return value;
}

int main(int argc, char **argv)
{
	int rank, ranks, token = 0, before = argc > 1 && !strcmp(argv[1], "before");
	int *at = NULL;

	snprintf(name, sizeof(name), "mapped.%d", (int)getpid());
	if (before)
		at = map_file();
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!before)
		at = map_file();
	for (int i = 0; at && i < 10; i++) {
		MPI_Sendrecv_replace(&token, 1, MPI_INT, (rank + 1) % ranks, 0,
				     (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD,
				     MPI_STATUS_IGNORE);
		*at = token += i + rank;
		printf("rank %d %d %d\n", rank, i, read_back());
		fflush(stdout);
	}
	unlink(name);
	MPI_Finalize();
	return !at;
}
