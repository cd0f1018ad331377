/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has files open while images are taken, and tells on standard error what becomes of them: input
 * (one that is read), twice (by two descriptors with one position), output (standard output is
 * one), both (one that is written and read), place (it stands in another directory).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void work(void)
{
	unsigned long hash = 7;
	struct timespec ts;

	for (int i = 0; i < 100; i++) {
		for (unsigned long k = 0; k < 500000; k++)
			hash = (hash ^ k) * 0x9e3779b97f4a7c15ul;
		clock_gettime(CLOCK_MONOTONIC, &ts);
	}
	fprintf(stderr, "%016lx\n", hash);
}

static void put(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		exit(1);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	char text[64] = "";
	int fd = -1, second = -1;

	if (!strcmp(what, "input")) {
		fd = open("input", O_RDONLY);
	} else if (!strcmp(what, "twice")) {
		fd = dup(open("input", O_RDONLY));
		if (read(fd - 1, text, 3) != 3)
			return 1;
	} else if (!strcmp(what, "output")) {
		fd = open("output", O_WRONLY | O_CREAT | O_TRUNC, 0600);
		dup2(fd, 1);
		put(1, "before ");
	} else if (!strcmp(what, "both")) {
		fd = open("both", O_RDONLY | O_CREAT, 0600);
		second = open("both", O_WRONLY | O_TRUNC);
		put(second, "before ");
	} else if (!strcmp(what, "place")) {
		mkdir("place", 0700);
		fd = chdir("place");
	}
	if (fd < 0)
		return 1;
	work();
	if (!strcmp(what, "twice") && read(fd - 1, text, 3) != 3)
		return 1;
	if (second >= 0)
		put(second, "after");
	if (!strcmp(what, "output")) {
		put(fd, "after");
		fprintf(stderr, "at %ld\n", (long)lseek(1, 0, SEEK_CUR));
	} else if (read(fd, text, sizeof(text) - 1) >= 0) {
		fprintf(stderr, "read '%s'\n", text);
	}
	return 0;
}
