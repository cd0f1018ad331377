/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each rank that ends well leaves a file "ok". A rank that finds as many of them as there are ranks
 * removes the directory. Two may find that at once: both remove, and ignore what is gone already.
 * Runs at exit of the process, where the C library may be used.
 */
#include "hook/session/discard.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hook/common/hook.h"

static bool all_ok(int dirfd)
{
	char name[32];

	for (int rank = 0; rank < hook_process.world; rank++) {
		snprintf(name, sizeof(name), "rank-%04d/ok", rank);
		if (faccessat(dirfd, name, F_OK, 0) != 0)
			return false;
	}
	return true;
}

/* A trace has files in directories in a directory, and nothing deeper. */
static void empty(int dirfd, int levels)
{
	int copy = dup(dirfd);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *entry;

	if (!dir) {
		if (copy >= 0)
			close(copy);
		return;
	}
	while ((entry = readdir(dir))) {
		int fd;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(dirfd, entry->d_name, 0) == 0 || levels == 0)
			continue;
		fd = openat(dirfd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		empty(fd, levels - 1);
		close(fd);
		unlinkat(dirfd, entry->d_name, AT_REMOVEDIR);
	}
	closedir(dir);
}

static void remove_link(void)
{
	char link[1100], target[1024];
	const char *name = strrchr(hook_process.dir, '/');
	ssize_t n;

	if (!name)
		return;
	snprintf(link, sizeof(link), "%.*s/reprise-latest", (int)(name - hook_process.dir),
		 hook_process.dir);
	n = readlink(link, target, sizeof(target) - 1);
	if (n <= 0)
		return;
	target[n] = 0;
	if (strcmp(target, name + 1) == 0 || strcmp(target, hook_process.dir) == 0)
		unlink(link);
}

void hook_discard(void)
{
	int ok = openat(hook_process.rank_fd, "ok", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	int dirfd = open(hook_process.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (ok >= 0)
		close(ok);
	if (dirfd < 0)
		return;
	if (ok >= 0 && all_ok(dirfd)) {
		remove_link();
		empty(dirfd, 1);
		rmdir(hook_process.dir);
	}
	close(dirfd);
}
