/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbolic link to the newest trace. It is never absent while it is changed, and never follows
 * what another user has put there.
 */
#include "trace/dir-latest.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

const char *trace_dir_default_parent(void)
{
	const char *parent = getenv("REPRISE_TRACE_DIR");

	return parent && *parent ? parent : ".";
}

static char *dir_name(const char *path)
{
	char *copy = rp_strdup(path);
	char *dir = rp_strdup(dirname(copy));

	free(copy);
	return dir;
}

/* What the symbolic link holds, or NULL with errno. */
static char *link_target(const char *link)
{
	char target[PATH_MAX];
	ssize_t n = readlink(link, target, sizeof(target) - 1);

	if (n < 0)
		return NULL;
	target[n] = '\0';
	return rp_strdup(target);
}

/* 0 or -errno. The link is never absent in between. */
static int set_link(const char *link, const char *target)
{
	char *parent = dir_name(link);
	char *temp = rp_format("%s/." TRACE_DIR_LATEST "-%ld", parent, (long)getpid());
	int rc = 0;

	if (symlink(target, temp) != 0) {
		rc = -errno;
	} else if (rename(temp, link) != 0) {
		rc = -errno;
		unlink(temp);
	}
	free(parent);
	free(temp);
	return rc;
}

/* How a link in `parent` names the trace: relative if it is below, so that both can be moved. */
static char *target_from(const char *parent, const char *path)
{
	char *real = realpath(parent, NULL);
	size_t n = real ? strlen(real) : 0;
	bool below = n > 1 && !strncmp(path, real, n) && path[n] == '/';

	free(real);
	return rp_strdup(below ? path + n + 1 : path);
}

void trace_dir_point_latest(struct trace_dir *dir)
{
	char *link = rp_format("%s/" TRACE_DIR_LATEST, trace_dir_default_parent());
	char *target = target_from(trace_dir_default_parent(), dir->path);
	struct stat st;
	bool exists = lstat(link, &st) == 0;
	int rc = 0;

	dir->before = link_target(link);
	if (exists && !dir->before)
		rp_say("%s is not a symbolic link: left as it is", link);
	else
		rc = set_link(link, target);
	if (rc && exists)
		rp_say("cannot update %s: %s", link, strerror(-rc));
	if (rc || (exists && !dir->before))
		free(link);
	else
		dir->link = link;
	free(target);
}

void trace_dir_unpoint_latest(const struct trace_dir *dir)
{
	char *parent = dir_name(dir->link), *target = target_from(parent, dir->path);
	char *now = link_target(dir->link);
	char *old = NULL;

	if (dir->before)
		old = dir->before[0] == '/' ? rp_strdup(dir->before)
					    : rp_format("%s/%s", parent, dir->before);
	if (now && !strcmp(now, target) &&
	    (!old || access(old, F_OK) != 0 || set_link(dir->link, dir->before) != 0))
		unlink(dir->link);
	free(parent);
	free(target);
	free(now);
	free(old);
}

/* "<parent>/<what the link names>", so that words about the trace name it for good. */
static char *latest_target(const char *link, const char *parent)
{
	char *target = link_target(link), *found;

	if (!target)
		return errno == EINVAL ? rp_strdup(link) : NULL;
	if (target[0] == '/')
		return target;
	found = rp_format("%s/%s", parent, target);
	free(target);
	return found;
}

/* In a directory that others can write to, the link or its target may belong to somebody else. */
static bool is_own(const char *path, bool follow)
{
	struct stat st;

	return (follow ? stat(path, &st) : lstat(path, &st)) != 0 || st.st_uid == geteuid();
}

char *trace_dir_find_latest(bool *foreign)
{
	const char *parent[2] = {trace_dir_default_parent(), "."};
	char *found = NULL;

	for (int i = 0; i < 2 && !found; i++) {
		char *link = rp_format("%s/" TRACE_DIR_LATEST, parent[i]);

		found = latest_target(link, parent[i]);
		if (found && (!is_own(link, false) || !is_own(found, true))) {
			rp_say("%s, or the trace it points to, belongs to another user: name the "
			       "trace you want",
			       link);
			*foreign = true;
		}
		free(link);
	}
	return found;
}
