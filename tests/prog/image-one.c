/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread that changes its heap, its variables and a file as it goes, and prints a hash of all
 * of it: image-one STEPS MEGABYTES [FILE]. Reads a line of standard input now and then. Exit
 * status 3.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned long table[1 << 16];
static __thread unsigned long hash = 7;

static void mix(unsigned long x)
{
	hash = (hash ^ x) * 0x9e3779b97f4a7c15ul;
	hash ^= hash >> 29;
}

static unsigned long sum(const unsigned long *p, size_t n)
{
	unsigned long h = 0;

	for (size_t i = 0; i < n; i++)
		h = h * 31 + p[i];
	return h;
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 100;
	size_t words = ((argc > 2 ? (size_t)atol(argv[2]) : 1) << 20) / sizeof(long);
	unsigned long *big = malloc(words * sizeof(*big));
	FILE *file = argc > 3 ? fopen(argv[3], "w+") : NULL;
	char *list[64] = {0}, line[64] = "";

	for (size_t i = 0; i < words; i++)
		big[i] = i * 0x9e3779b97f4a7c15ul;
	for (int i = 0; i < steps; i++) {
		char **block;

		for (unsigned long k = 0; k < 100000; k++) {
			mix(k);
			table[hash & 65535] += hash;
		}
		block = &list[hash & 63];
		free(*block);
		*block = malloc(hash % 5000 + 16);
		memset(*block, (int)hash, 16);
		big[hash % words]++;
		if (i % 10 == 0 && fgets(line, sizeof(line), stdin))
			mix((unsigned long)atol(line));
		if (file && fseek(file, (long)(hash % 4096), SEEK_SET) == 0)
			fprintf(file, "%016lx", hash);
		printf("%d %016lx %p %016lx\n", i, hash, (void *)*block, sum(table, 1 << 16));
		if (i % 8 == 0)
			fflush(stdout);
		if (i % 16 == 0)
			fprintf(stderr, "at %d\n", i);
	}
	if (file) {
		int c;

		rewind(file);
		while ((c = getc(file)) != EOF)
			mix((unsigned long)c);
		fclose(file);
	}
	printf("all: %016lx %016lx %d\n", hash, sum(big, words), errno);
	return 3;
}
