/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that writes files and reads them again: rewrites ROUNDS. A number that it counts up in
 * a file, one that it passes on by rename, one that is made anew, one that is cut, and one that it
 * keeps open; each must be what was written last. A temporary file is left.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int wrong;
static int open_one;
static char large[2 << 20];

static int get(const char *path)
{
	FILE *f = fopen(path, "r");
	int value = -1;

	if (f && fscanf(f, "%d", &value) != 1)
		value = -2;
	if (f)
		fclose(f);
	return value;
}

static void put(const char *path, int value)
{
	FILE *f = fopen(path, "w");

	if (!f)
		exit(1);
	fprintf(f, "%d\n", value);
	fclose(f);
}

static void make(const char *path, int value)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);

	if (fd < 0 || write(fd, &value, sizeof(value)) != sizeof(value))
		exit(2);
	close(fd);
}

static void check(int value, int wanted)
{
	if (value != wanted) {
		wrong++;
		printf("WRONG: %d, not %d\n", value, wanted);
	}
}

__attribute__((noinline)) static void one_round(int round)
{
	int value = -1;

	check(get("counted"), round);
	put("counted", round + 1);
	put("part", round);
	check(rename("part", "passed"), 0);
	check(get("passed"), round);
	put("cut", 123456);
	check(truncate("cut", 3), 0);
	check(get("cut"), 123);
	make("made", round);
	check(access("made", F_OK), 0);
	unlink("made");
	if (pread(open_one, &value, sizeof(value), 0) != sizeof(value))
		exit(3);
	check(value, round);
	value = round + 1;
	if (pwrite(open_one, &value, sizeof(value), 0) != sizeof(value))
		exit(4);
}

/* More than is kept of a file: only added to, or written over. */
static void more(const char *how, int round)
{
	int fd = open("large", O_RDWR | O_CREAT | (round ? 0 : O_TRUNC), 0600);
	bool adds = strcmp(how, "adds") == 0;

	if (adds)
		check((int)lseek(fd, 0, SEEK_END), round * (int)sizeof(large));
	if ((adds || !round) && write(fd, large, sizeof(large)) != sizeof(large))
		exit(5);
	if (!adds && pwrite(fd, &round, sizeof(round), 0) != sizeof(round))
		exit(6);
	close(fd);
}

static void leave_temporary(void)
{
	char name[] = "temp-XXXXXX";
	int fd = mkstemp(name);

	if (fd < 0 || write(fd, name, sizeof(name)) != sizeof(name))
		exit(7);
	close(fd);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10, zero = 0;

	leave_temporary();
	put("counted", 0);
	unlink("passed");
	open_one = open("open", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (open_one < 0 || write(open_one, &zero, sizeof(zero)) != sizeof(zero))
		return 1;
	for (int round = 0; round < rounds; round++) {
		one_round(round);
		if (argc > 2)
			more(argv[2], round);
	}
	printf("%d rounds, %d wrong\n", rounds, wrong);
	return wrong != 0;
}
