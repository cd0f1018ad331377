/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what is in a directory by every function that reads one, where links lead, where it is and
 * on which processor. Pointers to entries are printed, too: they lie where they lay.
 */
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void by_readdir(void)
{
	DIR *d = opendir("directory"), *other = opendir("directory");
	struct dirent *e, *first = readdir(other);

	if (!d || !other)
		err(1, "directory");
	while ((e = readdir(d)))
		printf("%p: %lu %s %d, at %ld\n", (void *)e, (unsigned long)e->d_ino, e->d_name,
		       e->d_type, telldir(d));
	printf("the other: %s\n", first->d_name);
	rewinddir(d);
	e = readdir(d);
	printf("again: %s\n", e->d_name);
	closedir(d);
	closedir(other);
	printf("none: %d\n", opendir("no-directory") != NULL);
}

static int is_shown(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static void by_scandir(void)
{
	struct dirent **entries;
	int n = scandir("directory", &entries, is_shown, alphasort);

	for (int i = 0; i < n; i++) {
		printf("%p: scandir %s\n", (void *)entries[i], entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

static void by_glob(void)
{
	glob_t found;

	if (glob("directory/*", GLOB_MARK | GLOB_NOSORT, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		printf("glob %s\n", found.gl_pathv[i]);
	globfree(&found);
}

static int step(const char *path, const struct stat *st, int kind, struct FTW *place)
{
	printf("nftw %s: inode %lu, %d, level %d, name %s\n", path, (unsigned long)st->st_ino, kind,
	       place->level, path + place->base);
	return 0;
}

static int plain_step(const char *path, const struct stat *st, int kind)
{
	printf("ftw %s: %ld bytes, %d\n", path, (long)st->st_size, kind);
	return strstr(path, "link") != NULL;
}

static void by_fts(void)
{
	char *paths[] = {"directory", NULL};
	FTS *f = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *e;

	while (f && (e = fts_read(f)))
		printf("fts %s: %ld.%09ld\n", e->fts_path, (long)e->fts_statp->st_mtim.tv_sec,
		       e->fts_statp->st_mtim.tv_nsec);
	fts_close(f);
}

static void by_descriptor(void)
{
	int fd = open("directory", O_RDONLY | O_DIRECTORY);
	char bytes[1024], path[100] = "";

	printf("getdents64: %zd bytes\n", getdents64(fd, bytes, sizeof(bytes)));
	close(fd);
	printf("link: %zd bytes, ", readlink("directory/link", path, sizeof(path) - 1));
	printf("%s; no link: %zd\n", path, readlink("directory", path, sizeof(path)));
}

static void places(void)
{
	char path[PATH_MAX], *one = getcwd(NULL, 0),
			     *other = realpath("directory/../directory", NULL);

	printf("%s %s %s\n", getcwd(path, sizeof(path)), one, other);
	free(one);
	free(other);
	for (int i = 0; i < 5; i++) {
		printf("processor %d\n", sched_getcpu());
		usleep(1000);
	}
}

static void *all(void *unused)
{
	by_readdir();
	by_scandir();
	by_glob();
	nftw("directory", step, 5, FTW_PHYS);
	ftw("directory", plain_step, 5);
	by_descriptor();
	places();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "fts") == 0)
			by_fts();
	}
	if (argc > 1 && strcmp(argv[1], "thread") == 0) {
		pthread_create(&thread, NULL, all, NULL);
		pthread_join(thread, NULL);
	} else {
		all(NULL);
	}
	return 0;
}
