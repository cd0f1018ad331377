/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place of an exploration holds one trace per alternative, 0001 and so on. A trace is made
 * under a name with a dot and gets its own name when it is complete. So a number means that it is
 * whole. A dot means that a killed exploration left it, because we hold the lock now.
 */
#include "replay/explore.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "launch/front.h"

static int cannot(const char *what, const char *path, int rc)
{
	rp_say("cannot %s %s: %s", what, path, strerror(-rc));
	return RP_EXIT_FAILURE;
}

static void remove_tree(const char *path)
{
	struct trace_dir dir = {.path = (char *)path};
	int rc;

	dir.fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir.fd < 0)
		return;
	rc = trace_dir_remove(&dir);
	if (rc)
		cannot("remove", path, rc);
	close(dir.fd);
}

static bool is_temporary(const char *name)
{
	return name[0] == '.' &&
	       (strcmp(name, REPLAY_EXPLORE_BASE) == 0 || strcmp(name, REPLAY_EXPLORE_WHOLE) == 0 ||
		(name[1] && strspn(name + 1, "0123456789") == strlen(name + 1)));
}

/* Removes what was left behind, and finds the highest number. */
static void sweep(struct replay_explore *x)
{
	DIR *dir = opendir(x->path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const char *name = entry->d_name;
		unsigned long n = strtoul(name, NULL, 10);

		if (is_temporary(name)) {
			char *path = rp_format("%s/%s", x->path, name);

			remove_tree(path);
			free(path);
		} else if (strspn(name, "0123456789") == strlen(name) && n < 1000000 &&
			   n > x->number) {
			x->number = (unsigned)n;
		}
	}
	if (dir)
		closedir(dir);
}

static int open_place(struct replay_explore *x)
{
	char *name = x->place ? rp_strdup(x->place) : rp_format("%s/explore", x->run->dir.path);
	int code = 0;

	if (mkdir(name, 0700) != 0 && errno != EEXIST) {
		rp_say("cannot make %s: %s; name another place with -o", name, strerror(errno));
		code = RP_EXIT_BAD_INPUT;
		goto free_name;
	}
	x->path = realpath(name, NULL);
	x->fd = x->path ? open(x->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (x->fd < 0) {
		code = cannot("open", name, -errno);
	} else if (flock(x->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
		rp_say("another exploration works in %s: wait for it, or name another place with "
		       "-o",
		       name);
		code = RP_EXIT_BAD_INPUT;
	} else if (faccessat(x->fd, ".", W_OK, 0) != 0) {
		rp_say("cannot write to %s: %s; name another place with -o", name, strerror(errno));
		code = RP_EXIT_BAD_INPUT;
	}
free_name:
	free(name);
	return code;
}

/* A run that an exploration made, and that ended by itself, has its output in its trace. */
static bool has_output(const struct trace_run *run, const char *path)
{
	return run->meta.origin && run->meta.ended == TRACE_ENDED_EXIT &&
	       access(path, R_OK | X_OK) == 0;
}

/* Otherwise the output of a run by rank is not in its trace, and a replay finds it. */
static int replay_base(struct replay_explore *x)
{
	struct replay_front f = {
		.run = x->run,
		.ranks = x->run->ranks,
		.patience = 30,
		.force = x->force,
	};
	int code = replay_check(&f);

	if (code)
		return code;
	x->base = rp_format("%s/" REPLAY_EXPLORE_OUTPUT, x->run->dir.path);
	if (has_output(x->run, x->base))
		return 0;
	free(x->base);
	x->base = f.output = rp_format("%s/" REPLAY_EXPLORE_BASE, x->path);
	if (mkdir(f.output, 0700) != 0)
		return cannot("make", f.output, -errno);
	code = replay_run(&f);
	if (launch_front_signal())
		return 128 + launch_front_signal();
	if (code != RP_EXIT_DIVERGED && code != RP_EXIT_FAILURE && code != RP_EXIT_BAD_INPUT)
		return 0;
	rp_say("the recorded run itself does not replay: nothing can be explored");
	return code;
}

int replay_explore_enter(struct replay_explore *x)
{
	int code = open_place(x);

	if (!code)
		sweep(x);
	return code;
}

int replay_explore_open(struct replay_explore *x)
{
	int code = x->path ? 0 : replay_explore_enter(x);

	return code ? code : replay_base(x);
}

static void remove_in(const struct replay_explore *x, const char *name)
{
	char *path = rp_format("%s/%s", x->path, name);

	remove_tree(path);
	free(path);
}

void replay_explore_close(struct replay_explore *x)
{
	if (x->fd >= 0) {
		remove_in(x, REPLAY_EXPLORE_BASE);
		remove_in(x, REPLAY_EXPLORE_WHOLE);
	}
	if (x->path && rmdir(x->path) != 0)
		errno = 0;
	if (x->fd >= 0)
		close(x->fd);
	free(x->base);
	free(x->path);
}

static int copy_file(int from, int to, const char *name)
{
	int in = rp_fd_open_file(from, name), out, rc = 0;
	char chunk[65536];
	ssize_t n = 0;

	if (in < 0)
		return errno == ENOENT ? 0 : -errno;
	out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0)
		rc = -errno;
	while (!rc && (n = read(in, chunk, sizeof(chunk))) > 0) {
		if (write(out, chunk, (size_t)n) != n)
			rc = errno ? -errno : -ENOSPC;
	}
	if (n < 0)
		rc = -errno;
	close(in);
	if (out >= 0)
		close(out);
	return rc;
}

/* A rank starts as it did: same words, place, environment and standard input. */
static int copy_start(const struct trace_run *run, const struct trace_dir *dir, unsigned rank)
{
	char name[TRACE_RANK_NAME_BYTES];
	int from, to = trace_dir_claim_rank(dir, rank), rc;

	if (to < 0)
		return to;
	trace_dir_rank_name(rank, name);
	from = openat(run->dir.fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = from < 0 ? -errno : copy_file(from, to, "start.json");
	if (!rc)
		rc = copy_file(from, to, "stdin");
	if (from >= 0)
		close(from);
	close(to);
	return rc;
}

/* Borrows from the recorded run's; nothing of it is to be freed. */
static struct trace_meta meta_of(const struct replay_explore *x, char *start, const char *what)
{
	struct trace_meta meta = x->run->meta;
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(start, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
	meta.start = start;
	meta.version = REPRISE_VERSION;
	meta.noisy = false;
	meta.tracing = TRACE_MODE_ORDER;
	meta.ended = TRACE_ENDED_UNKNOWN;
	meta.seconds = 0;
	meta.origin = (char *)what;
	return meta;
}

static int prepare(const struct replay_explore *x, const struct trace_dir *dir,
		   const struct trace_meta *meta, const struct replay_cut *cut,
		   const struct replay_force *force)
{
	int rc = trace_meta_write(dir, meta);

	for (size_t i = 0; i < x->run->ranks && !rc; i++)
		rc = copy_start(x->run, dir, x->run->rank[i].rank);
	if (!rc)
		rc = replay_explore_prelude_write(x->run, dir, cut, force);
	if (!rc && mkdirat(dir->fd, REPLAY_EXPLORE_OUTPUT, 0700) != 0)
		rc = -errno;
	return rc;
}

/* Runs the job in the prepared directory. */
static int run_explored(const struct replay_explore *x, const struct trace_dir *dir,
			struct replay_finding *finding, struct launch_ended *ended, bool *whole)
{
	struct trace_run run = *x->run;
	struct replay_front f = {
		.run = &run,
		.ranks = run.ranks,
		.force = x->force,
		.explore = true,
		.output = rp_format("%s/" REPLAY_EXPLORE_OUTPUT, dir->path),
	};
	pid_t pid;
	int code;

	run.dir = *dir;
	code = replay_session_open(&f, dir->path);
	if (code)
		goto free_output;
	code = replay_start(&f, &pid);
	if (!code)
		*whole = replay_explore_watch(x, &f, pid, finding, ended);
	replay_session_close(&f);
	if (!code && launch_front_signal())
		code = 128 + launch_front_signal();
free_output:
	free(f.output);
	return code;
}

/* The job has ended: how does what it recorded differ? */
static int conclude(const struct replay_explore *x, const struct trace_dir *dir,
		    struct trace_meta *meta, const struct launch_ended *ended, bool whole,
		    struct replay_finding *finding)
{
	struct trace_run now;
	int rc;

	meta->ended = ended->signaled ? TRACE_ENDED_SIGNAL : TRACE_ENDED_EXIT;
	meta->status = ended->status;
	meta->seconds = ended->seconds;
	rc = trace_meta_write(dir, meta);
	if (rc)
		return cannot("write meta.json in", dir->path, rc);
	if (!whole)
		return 0;
	rc = trace_run_open(&now, dir->path);
	if (rc)
		return rc;
	replay_explore_compare(x, &now, finding);
	trace_run_close(&now);
	return 0;
}

/* Under its own name from here on. */
static int publish(struct replay_explore *x, const struct trace_dir *dir, char **path)
{
	*path = rp_format("%s/%04u", x->path, x->number);
	if (rename(dir->path, *path) == 0)
		return 0;
	return cannot("rename to", *path, -errno);
}

static int explore_in(struct replay_explore *x, const struct trace_dir *dir,
		      const struct replay_cut *cut, const struct replay_force *force,
		      const char *what, struct replay_finding *finding)
{
	struct launch_ended ended = {0};
	struct trace_meta meta;
	bool whole = false;
	char start[32];
	int code, rc;

	meta = meta_of(x, start, what);
	rc = prepare(x, dir, &meta, cut, force);
	if (rc)
		return cannot("prepare", dir->path, rc);
	code = run_explored(x, dir, finding, &ended, &whole);
	if (code)
		return code;
	finding->seconds = ended.seconds;
	replay_explore_prelude_remove(dir);
	code = conclude(x, dir, &meta, &ended, whole, finding);
	if (!code && finding->change != REPLAY_UNTOLD)
		code = publish(x, dir, &finding->trace);
	return code;
}

int replay_explore_one(struct replay_explore *x, const struct replay_cut *cut,
		       const struct replay_force *force, const char *what,
		       struct replay_finding *finding)
{
	struct trace_dir dir;
	char *path;
	int code, rc;

	*finding = (struct replay_finding){0};
	x->number++;
	/* As long as the final name: environments of the same length make the same addresses. */
	path = rp_format("%s/.%03u", x->path, x->number);
	rc = mkdir(path, 0700) == 0 ? trace_dir_enter(&dir, path) : -errno;
	if (rc) {
		code = cannot("make", path, rc);
	} else {
		code = explore_in(x, &dir, cut, force, what, finding);
		trace_dir_close(&dir);
		remove_tree(path);
	}
	if (code || !finding->trace)
		x->number--;
	free(path);
	return code;
}
