/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making and finding trace directories. mkdir decides who owns a name, so two recorders never
 * share a directory and nothing is ever overwritten. Ranks without a front recognise the
 * directory of their own launch by the file `job`, which is linked into place whole.
 */
#include "trace/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "trace/dir-latest.h"

#define JOB_FILE "job"
#define JOB_KEY_BYTES 4096
#define JOB_WAIT_MS 10000
#define JOB_POLL_MS 10
#define PROGRAM_NAME_MAX 80

/* The last component without trailing slashes, in memory of its own. */
static char *base_name(const char *path)
{
	char *copy = rp_strdup(path);
	char *base = rp_strdup(basename(copy));

	free(copy);
	return base;
}

static char *auto_name(const char *program, unsigned n)
{
	char *base = base_name(program);
	char *name;

	for (char *p = base; *p; p++) {
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-",
			    *p))
			*p = '_';
	}
	name = rp_format("%s/reprise-%.*s-%u", trace_dir_default_parent(), PROGRAM_NAME_MAX, base,
			 n);
	free(base);
	return name;
}

int trace_dir_enter(struct trace_dir *dir, const char *path)
{
	int err;

	*dir = (struct trace_dir){.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	if (dir->fd < 0)
		return -errno;
	dir->path = realpath(path, NULL);
	if (!dir->path) {
		err = -errno;
		close(dir->fd);
		return err;
	}
	dir->show = rp_strdup(path);
	return 0;
}

void trace_dir_close(struct trace_dir *dir)
{
	free(dir->path);
	free(dir->show);
	free(dir->link);
	free(dir->before);
	if (dir->fd >= 0)
		close(dir->fd);
	*dir = (struct trace_dir){.fd = -1};
}

static int cannot_make(const char *path, int err)
{
	if (err == EEXIST) {
		rp_say("%s exists; choose another name with -o, or remove it", path);
		return RP_EXIT_BAD_INPUT;
	}
	rp_say("cannot make the trace directory %s: %s; name another place with -o", path,
	       strerror(err));
	return RP_EXIT_FAILURE;
}

/* 0, EEXIST or another errno. */
static int make(struct trace_dir *dir, const char *path)
{
	int rc;

	if (mkdir(path, 0700) != 0)
		return errno;
	rc = trace_dir_enter(dir, path);
	if (!rc && strlen(dir->path) > TRACE_DIR_LONGEST) {
		trace_dir_close(dir);
		rc = -ENAMETOOLONG;
	}
	if (rc)
		rmdir(path);
	return -rc;
}

/* As the user named it, without slashes at the end. */
static char *tidy(const char *wanted)
{
	size_t n = strlen(wanted);

	while (n > 1 && wanted[n - 1] == '/')
		n--;
	return rp_format("%.*s", (int)n, wanted);
}

int trace_dir_create(struct trace_dir *dir, const char *wanted, const char *program)
{
	for (unsigned n = 1;; n++) {
		char *path = wanted ? tidy(wanted) : auto_name(program, n);
		int err = make(dir, path);

		if (err == 0) {
			trace_dir_point_latest(dir);
			free(path);
			return 0;
		}
		if (err != EEXIST || wanted || n == UINT_MAX) {
			int code = cannot_make(path, err);

			free(path);
			return code;
		}
		free(path);
	}
}

/* Whole or not there: readers see no half-written key. */
static int publish_key(const struct trace_dir *dir, const char *key)
{
	char *temp = rp_format(".job-%ld", (long)getpid());
	size_t n = strlen(key);
	int fd = openat(dir->fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int err = 0;

	if (fd < 0)
		err = errno;
	else if (write(fd, key, n) != (ssize_t)n)
		err = errno ? errno : ENOSPC;
	else if (linkat(dir->fd, temp, dir->fd, JOB_FILE, 0) != 0)
		err = errno;
	if (fd >= 0) {
		close(fd);
		unlinkat(dir->fd, temp, 0);
	}
	free(temp);
	return err;
}

static bool read_key(const struct trace_dir *dir, char key[JOB_KEY_BYTES])
{
	int fd = openat(dir->fd, JOB_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, key, JOB_KEY_BYTES - 1);
	close(fd);
	if (n < 0)
		return false;
	key[n] = '\0';
	return true;
}

/* A rank that makes a directory for a launch writes into it at once. */
static bool is_old(const struct trace_dir *dir)
{
	struct stat st;

	return fstat(dir->fd, &st) == 0 && time(NULL) - st.st_mtime > JOB_WAIT_MS / 1000;
}

/* The maker writes `job` before meta.json, so a directory with the latter alone has a front. */
static bool has_my_key(const struct trace_dir *dir, const char *mine)
{
	const struct timespec pause = {.tv_nsec = JOB_POLL_MS * 1000000L};
	char key[JOB_KEY_BYTES];

	for (int ms = 0; ms < JOB_WAIT_MS; ms += JOB_POLL_MS) {
		bool complete = faccessat(dir->fd, "meta.json", F_OK, 0) == 0;

		if (read_key(dir, key))
			return !strcmp(key, mine);
		if (complete || is_old(dir))
			return false;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* 0 if the directory is this launch's and the rank is free in it; EEXIST; or another errno. */
static int try_join(struct trace_dir *dir, const char *path, const char *key, unsigned rank)
{
	int rc = trace_dir_enter(dir, path);

	if (rc)
		return -rc;
	if (!has_my_key(dir, key)) {
		trace_dir_close(dir);
		return EEXIST;
	}
	rc = trace_dir_claim_rank(dir, rank);
	if (rc >= 0) {
		close(rc);
		return 0;
	}
	trace_dir_close(dir);
	return -rc;
}

static int make_for_key(struct trace_dir *dir, const char *path, const char *key, unsigned rank)
{
	int err = make(dir, path);
	int fd;

	if (err)
		return err;
	err = publish_key(dir, key);
	if (!err) {
		fd = trace_dir_claim_rank(dir, rank);
		if (fd >= 0) {
			close(fd);
			return 0;
		}
		err = -fd;
	}
	trace_dir_close(dir);
	return err;
}

/* 0, EEXIST if the directory is not for us, or another errno. */
static int make_or_join(struct trace_dir *dir, const char *path, const char *key, unsigned rank,
			bool *first)
{
	int err = make_for_key(dir, path, key, rank);

	*first = err == 0;
	if (err != EEXIST)
		return err;
	err = try_join(dir, path, key, rank);
	/* Removed between the two steps: as good as never there. */
	return err == ENOENT ? EEXIST : err;
}

int trace_dir_join(struct trace_dir *dir, const char *wanted, const char *program, const char *key,
		   unsigned rank, bool *first)
{
	for (unsigned n = 1;; n++) {
		char *path = wanted ? tidy(wanted) : auto_name(program, n);
		int err = make_or_join(dir, path, key, rank, first);
		int code = 0;

		if (*first)
			trace_dir_point_latest(dir);
		if (err && (err != EEXIST || wanted || n == UINT_MAX))
			code = cannot_make(path, err);
		free(path);
		if (!err || code)
			return code;
	}
}

int trace_dir_claim_rank(const struct trace_dir *dir, unsigned rank)
{
	char name[TRACE_RANK_NAME_BYTES];
	int fd;

	trace_dir_rank_name(rank, name);
	if (mkdirat(dir->fd, name, 0700) != 0)
		return -errno;
	fd = openat(dir->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int trace_dir_open(struct trace_dir *dir, const char *path)
{
	bool foreign = false;
	char *found = path ? rp_strdup(path) : trace_dir_find_latest(&foreign);
	int rc;

	*dir = (struct trace_dir){.fd = -1};
	if (foreign) {
		free(found);
		return RP_EXIT_BAD_INPUT;
	}
	if (!found) {
		rp_say("there is no trace here; record one with 'reprise record COMMAND', or name "
		       "its directory");
		return RP_EXIT_BAD_INPUT;
	}
	rc = trace_dir_enter(dir, found);
	if (rc == -ENOENT && !path)
		rp_say(TRACE_DIR_LATEST
		       " points to %s, which is gone; 'reprise ls' lists the traces here",
		       found);
	else if (rc == -ENOTDIR)
		rp_say("%s is not a trace: a trace is a directory", found);
	else if (rc == -ENOENT)
		rp_say("there is no trace %s; 'reprise ls' lists the traces here", found);
	else if (rc)
		rp_say("cannot open the trace %s: %s", found, strerror(-rc));
	else if (faccessat(dir->fd, "meta.json", F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
		rp_say("%s is not a trace: it has no meta.json; 'reprise ls' lists the traces here",
		       found);
		trace_dir_close(dir);
		rc = -ENOENT;
	}
	free(found);
	return rc ? RP_EXIT_BAD_INPUT : 0;
}

static int remove_entry(int fd, const char *name);

/* Takes the descriptor. Links are removed, never followed. */
static int remove_entries(int fd)
{
	DIR *entries = fdopendir(fd);
	struct dirent *entry;
	int rc = 0;

	if (!entries) {
		rc = -errno;
		close(fd);
		return rc;
	}
	while (!rc && (entry = readdir(entries))) {
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			rc = remove_entry(fd, entry->d_name);
	}
	closedir(entries);
	return rc;
}

static int remove_entry(int fd, const char *name)
{
	int sub, rc;

	if (unlinkat(fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR)
		return -errno;
	sub = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (sub < 0)
		return -errno;
	rc = remove_entries(sub);
	if (rc)
		return rc;
	return unlinkat(fd, name, AT_REMOVEDIR) == 0 ? 0 : -errno;
}

int trace_dir_remove_part(struct trace_dir *dir, const char *name)
{
	return remove_entry(dir->fd, name);
}

int trace_dir_remove(struct trace_dir *dir)
{
	struct stat ours, there;
	int fd, rc;

	if (fstat(dir->fd, &ours) != 0 || lstat(dir->path, &there) != 0)
		return -errno;
	if (ours.st_dev != there.st_dev || ours.st_ino != there.st_ino)
		return -ESTALE;
	fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = remove_entries(fd);
	if (!rc && rmdir(dir->path) != 0)
		rc = -errno;
	if (!rc && dir->link)
		trace_dir_unpoint_latest(dir);
	return rc;
}
