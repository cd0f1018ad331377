/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what the system tells of files that the program has just made, by every call, and the
 * names it chooses for temporary ones, which stay. With "threads" a file is awaited that another
 * thread renames to its place.
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static void write_to(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f || fprintf(f, "text\n") < 0 || fclose(f) != 0)
		err(1, "%s", path);
}

static void show(const char *how, const struct stat *st)
{
	printf("%s: inode %lu, %ld bytes, %ld.%09ld\n", how, (unsigned long)st->st_ino,
	       (long)st->st_size, (long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
}

static void show_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	struct statx more;

	if (fd < 0 || stat(path, &st) != 0)
		err(1, "%s", path);
	show("stat", &st);
	if (lstat(path, &st) == 0)
		show("lstat", &st);
	if (fstat(fd, &st) == 0)
		show("fstat", &st);
	if (fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		show("fstatat", &st);
	if (statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &more) == 0)
		printf("statx: %ld.%09u\n", (long)more.stx_ctime.tv_sec, more.stx_ctime.tv_nsec);
	printf("nothing: %d\n", stat("not-there", &st));
	close(fd);
}

static void show_temporary(void)
{
	char file[] = "file-XXXXXX", other[] = "file-XXXXXX.c", directory[] = "directory-XXXXXX";
	int fd = mkstemp(file), more = mkostemps(other, 2, O_CLOEXEC);

	if (fd < 0 || more < 0 || !mkdtemp(directory) || write(fd, "text\n", 5) != 5)
		err(1, "temporary files");
	printf("%s %s %s\n", file, other, directory);
	if (lseek(fd, 0, SEEK_END) != 5)
		errx(1, "%s was not empty", file);
	close(fd);
	close(more);
}

static void *rename_it(void *unused)
{
	usleep(20000);
	write_to("draft");
	if (rename("draft", "final") != 0)
		err(1, "rename");
	return unused;
}

static void await_it(void)
{
	pthread_t thread;
	struct stat st;
	int looks = 0, fd;

	unlink("final");
	pthread_create(&thread, NULL, rename_it, NULL);
	for (; stat("final", &st) != 0; looks++)
		usleep(1000);
	fd = open("final", O_RDONLY);
	if (fd < 0)
		err(1, "final");
	close(fd);
	printf("there after %d looks, %ld\n", looks, (long)st.st_mtim.tv_nsec);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	struct utsname name;

	if (argc > 1 && !strcmp(argv[1], "threads")) {
		await_it();
		return 0;
	}
	write_to("made");
	show_file("made");
	show_temporary();
	uname(&name);
	printf("%s, %ld processors\n", name.nodename, sysconf(_SC_NPROCESSORS_ONLN));
	return 0;
}
