/* SPDX-License-Identifier: Apache-2.0 */
/* The logs of a session, before they become part of the trace. */
#include "replay/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "trace/log.h"

static bool is_log(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && strcmp(name + n - 4, ".log") == 0;
}

/* Calls each(rankfd, name) for every log there. */
static int for_logs(int rankfd, int (*each)(int rankfd, const char *name))
{
	int copy = openat(rankfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *entry;
	int rc = 0;

	if (!dir)
		return -errno;
	while (!rc && (entry = readdir(dir))) {
		if (is_log(entry->d_name))
			rc = each(rankfd, entry->d_name);
	}
	closedir(dir);
	return rc;
}

static int drop(int rankfd, const char *name)
{
	return unlinkat(rankfd, name, 0) == 0 ? 0 : -errno;
}

/* The sentence part that the rank has left, or NULL. */
static char *refusal(int rankfd)
{
	int fd = rp_fd_open_file(rankfd, "refused");
	char text[256];
	ssize_t n;

	if (fd < 0)
		return NULL;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return rp_format("%s", text);
}

static int finish_rank(const struct replay_front *f, size_t i)
{
	char name[TRACE_RANK_NAME_BYTES];
	char *path, *why;
	int rankfd, rc;

	trace_dir_rank_name(f->run->rank[i].rank, name);
	path = rp_format("log/%s", name);
	rankfd = openat(f->session_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = rankfd < 0 ? -errno : 0;
	free(path);
	if (rc)
		return rc;
	why = refusal(rankfd);
	if (why)
		rp_say("rank %u cannot be replayed alone: it uses %s", f->run->rank[i].rank, why);
	rc = for_logs(rankfd, why ? drop : trace_stream_cut);
	free(why);
	close(rankfd);
	return rc;
}

int replay_log_finish(const struct replay_front *f)
{
	int rc = 0;

	for (size_t i = 0; i < f->ranks && !rc; i++)
		rc = finish_rank(f, i);
	if (!rc)
		return 0;
	rp_say("cannot finish the log: %s", strerror(-rc));
	return RP_EXIT_FAILURE;
}
