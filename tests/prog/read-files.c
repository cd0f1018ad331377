/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what is in files: WAY FILE WAY FILE …; by open, openat, read-write (open), fopen, freopen,
 * mmap, thread (open, in a thread), many (open, 20,000 times). "own" writes the file first and
 * reads it twice; "pid" writes its process id there before.
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void show(const char *way, int fd)
{
	char text[64] = "";
	struct stat st;

	if (fd < 0) {
		printf("%s: none\n", way);
		return;
	}
	if (fstat(fd, &st) != 0 || read(fd, text, sizeof(text) - 1) < 0)
		err(1, "%s", way);
	text[strcspn(text, "\n")] = 0;
	printf("%s: %s, %ld bytes\n", way, text, (long)st.st_size);
	close(fd);
}

static void show_file(const char *way, FILE *f)
{
	char text[64] = "";

	if (!f || !fgets(text, sizeof(text), f))
		printf("%s: none\n", way);
	else
		printf("%s: %s", way, text);
	if (f)
		fclose(f);
}

static void show_mapped(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	char *p;

	if (fd < 0 || fstat(fd, &st) != 0)
		err(1, "%s", path);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		err(1, "mmap");
	printf("mmap: %.*s", (int)st.st_size, p);
	munmap(p, (size_t)st.st_size);
	close(fd);
}

static void *in_thread(void *path)
{
	show("thread", open(path, O_RDONLY));
	return NULL;
}

static void write_own(const char *path, long number)
{
	FILE *f = fopen(path, "w");

	if (!f || fprintf(f, "own %ld\n", number) < 0 || fclose(f) != 0)
		err(1, "%s", path);
}

static void read_by(const char *way, const char *path)
{
	pthread_t thread;

	if (!strcmp(way, "open")) {
		show(way, open(path, O_RDONLY));
	} else if (!strcmp(way, "openat")) {
		show(way, openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
	} else if (!strcmp(way, "read-write")) {
		show(way, open(path, O_RDWR | O_CREAT, 0600));
	} else if (!strcmp(way, "fopen")) {
		show_file(way, fopen(path, "r"));
	} else if (!strcmp(way, "freopen")) {
		show_file(way, freopen(path, "r", stdin));
	} else if (!strcmp(way, "mmap")) {
		show_mapped(path);
	} else if (!strcmp(way, "many")) {
		for (int i = 0; i < 20000; i++)
			close(open(path, O_RDONLY));
		show(way, open(path, O_RDONLY));
	} else if (!strcmp(way, "own")) {
		write_own(path, 1);
		show(way, open(path, O_RDONLY));
		write_own(path, 22);
		show(way, open(path, O_RDONLY));
	} else if (!strcmp(way, "pid")) {
		write_own(path, getpid());
		show(way, open(path, O_RDONLY));
	} else if (!strcmp(way, "thread")) {
		pthread_create(&thread, NULL, in_thread, (void *)path);
		pthread_join(thread, NULL);
	} else {
		errx(1, "no way %s", way);
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i += 2)
		read_by(argv[i], argv[i + 1]);
	return 0;
}
