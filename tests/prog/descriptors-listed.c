/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the descriptors of the process, as its directory in /proc has them, read in three ways. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void by_readdir(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	struct stat st;

	while ((e = readdir(d))) {
		if (e->d_name[0] != '.')
			printf("%s %s %d\n", path, e->d_name,
			       fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW));
	}
	closedir(d);
}

static void by_scandir(void)
{
	struct dirent **list;
	int n = scandir("/proc/self/fd", &list, NULL, alphasort);

	for (int i = 0; i < n; i++)
		printf("entry %s\n", list[i]->d_name);
}

static void by_getdents(void)
{
	char bytes[1024] __attribute__((aligned(8)));
	int fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
	ssize_t n;

	while ((n = getdents64(fd, bytes, sizeof(bytes))) > 0) {
		for (ssize_t at = 0; at < n;) {
			struct dirent64 *e = (struct dirent64 *)(bytes + at);

			printf("raw %s\n", e->d_name);
			at += e->d_reclen;
		}
	}
	close(fd);
}

static void *work(void *unused)
{
	by_readdir("/proc/self/fd");
	by_readdir("/proc/self/fdinfo");
	by_scandir();
	by_getdents();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argv;
	if (argc > 1) {
		pthread_create(&thread, NULL, work, NULL);
		pthread_join(thread, NULL);
	} else {
		work(NULL);
	}
	return 0;
}
