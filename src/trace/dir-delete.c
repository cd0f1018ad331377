/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a trace: who still uses it, and the links that would point to nothing. */
#include "trace/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* Unlinks PARENT/reprise-latest if it leads to the trace. */
static void unlink_latest(const char *parent, const char *path)
{
	char *link = rp_format("%s/" TRACE_DIR_LATEST, parent), *target = realpath(link, NULL);
	char at[2];

	if (target && !strcmp(target, path) && readlink(link, at, sizeof(at)) > 0)
		unlink(link);
	free(target);
	free(link);
}

int trace_dir_delete(struct trace_dir *dir)
{
	const char *parent = getenv("REPRISE_TRACE_DIR");
	char *copy = rp_strdup(dir->path);

	/* While the trace is there: afterwards nobody could tell where a link led to. */
	unlink_latest(dirname(copy), dir->path);
	unlink_latest(".", dir->path);
	if (parent && *parent)
		unlink_latest(parent, dir->path);
	free(copy);
	return trace_dir_remove(dir);
}

/* Does the environment of the process say so? It ends in a zero, as each variable does. */
static bool uses(const char *pid, const char *variable, size_t n)
{
	char *path = rp_format("/proc/%s/environ", pid), *bytes = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0, room = 0;
	ssize_t got = 1;
	bool found = false;

	free(path);
	while (fd >= 0 && got > 0) {
		if (length == room) {
			room = room ? 2 * room : 4096;
			bytes = rp_realloc(bytes, room, 1);
		}
		got = read(fd, bytes + length, room - length);
		length += got > 0 ? (size_t)got : 0;
	}
	for (const char *p = bytes, *end = bytes + length; p && p < end && !found;) {
		size_t word = strnlen(p, (size_t)(end - p));

		found = word == n && !memcmp(p, variable, n);
		p += word + 1;
	}
	free(bytes);
	if (fd >= 0)
		close(fd);
	return found;
}

int trace_dir_user(const struct trace_dir *dir)
{
	char *variable = rp_format("REPRISE_DIR=%s", dir->path);
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	int pid = 0;

	while (!pid && processes && (entry = readdir(processes))) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    uses(entry->d_name, variable, strlen(variable)))
			pid = atoi(entry->d_name);
	}
	if (processes)
		closedir(processes);
	free(variable);
	return pid;
}
