/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread whose memory changes in all ways but plain writes, and that prints a hash of all of it
 * each time: image-memory FILE STEPS. It is moved (mremap, realloc), given back (MADV_DONTNEED),
 * filled by the kernel (pread) and comes from a file. FILE has at least BYTES. Exit status 3.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul
#define PAGES 64ul
#define BYTES (PAGES * PAGE)

static unsigned long hash(const void *memory, size_t bytes)
{
	const unsigned long *word = memory;
	unsigned long h = 7;

	for (size_t i = 0; i < bytes / sizeof(*word); i++)
		h = (h ^ word[i]) * 0x9e3779b97f4a7c15ul;
	return h;
}

static char *map(int fd)
{
	char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
		       fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE, fd, 0);

	if (p == MAP_FAILED)
		exit(1);
	return p;
}

static char *move(char *from, char *to)
{
	char *p = mremap(from, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, to);

	if (p != to)
		exit(1);
	return p;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	int steps = argc > 2 ? atoi(argv[2]) : 20;
	char *old = map(-1), *given = map(-1), *file = map(fd), *place[2] = {map(-1), map(-1)};
	char *moved = place[0], *grown = NULL;
	size_t bytes = 0;

	memset(old, 1, BYTES);
	memset(given, 1, BYTES);
	memset(file, 1, BYTES);
	memset(moved, 1, BYTES);
	for (int i = 0; i < steps; i++) {
		unsigned long page = (unsigned long)i % PAGES, to = bytes + BYTES;

		printf("%d\n", i);
		fflush(stdout);
		moved = move(moved, place[(i + 1) % 2]);
		moved[page * PAGE]++;
		grown = realloc(grown, to);
		if (!grown)
			exit(1);
		memset(grown + bytes, i, to - bytes);
		grown[page * PAGE]++;
		bytes = to;
		printf("%d\n", i); /* each is a place for an image */
		fflush(stdout);
		moved[(page + 1) * PAGE % BYTES]++;
		if (madvise(given + page * PAGE, PAGE, MADV_DONTNEED) != 0 ||
		    madvise(file + page * PAGE, 2 * PAGE, MADV_DONTNEED) != 0 ||
		    pread(fd, old + page * PAGE, 100, i) != 100)
			exit(1);
		file[(page + 1) * PAGE % BYTES]++;
		printf("%d\n", i);
		fflush(stdout);
	}
	printf("%016lx %016lx %016lx %016lx %016lx\n", hash(old, BYTES), hash(given, BYTES),
	       hash(file, BYTES), hash(moved, BYTES), hash(grown, bytes));
	return 3;
}
