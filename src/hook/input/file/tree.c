/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of libc that read directories by themselves, where no wrapper can stand. scandir is
 * built anew from our functions, and glob can be given them. Every step of a walk (nftw) is
 * recorded, and replay makes the steps without a walk. What fts_read finds is compared with the
 * recording.
 */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "hook/common/real.h"
#include "hook/input/descriptor/file.h"
#include "hook/input/file/dir.h"
#include "hook/input/value/input.h"
#include "hook/session/unseen.h"

#define SITE __builtin_return_address(0)
#define FIRST_ROOM 10

typedef int filter_function(const struct dirent *e);
typedef int order_function(const struct dirent **a, const struct dirent **b);

struct list {
	struct dirent **entries;
	size_t n, room;
};

static bool add(struct list *list, const struct dirent *e)
{
	size_t wanted = list->room ? 2 * list->room : FIRST_ROOM;
	struct dirent **bigger, *copy;

	if (list->n == list->room) {
		bigger = realloc(list->entries, wanted * sizeof(*bigger));
		if (!bigger)
			return false;
		list->entries = bigger;
		list->room = wanted;
	}
	copy = malloc(e->d_reclen);
	if (!copy)
		return false;
	memcpy(copy, e, e->d_reclen);
	list->entries[list->n++] = copy;
	return true;
}

static void drop(struct list *list)
{
	int error = errno;

	while (list->n)
		free(list->entries[--list->n]);
	free(list->entries);
	errno = error;
}

static int scan(DIR *d, struct dirent ***entries, filter_function *filter, order_function *order,
		const void *site)
{
	struct list list = {0};
	struct dirent *e;

	if (!d)
		return -1;
	errno = 0;
	while ((e = hook_dir_read(d, site))) {
		if ((!filter || filter(e)) && !add(&list, e))
			break;
		errno = 0;
	}
	if (errno) {
		drop(&list);
		hook_dir_close(d, site);
		return -1;
	}
	hook_dir_close(d, site);
	if (order && list.n)
		qsort(list.entries, list.n, sizeof(*list.entries),
		      (int (*)(const void *, const void *))order);
	*entries = list.entries;
	return (int)list.n;
}

HOOK_EXPORT int scandir(const char *restrict path, struct dirent ***restrict entries,
			filter_function *filter, order_function *order)
{
	int error = errno, n;

	n = scan(hook_dir_open(path, SITE), entries, filter, order, SITE);
	errno = n < 0 ? errno : error;
	return n;
}

static DIR *open_beside(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_NONBLOCK | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !d)
		close(fd);
	return d;
}

HOOK_EXPORT int scandirat(int dir, const char *restrict path, struct dirent ***restrict entries,
			  filter_function *filter, order_function *order)
{
	int error = errno, n;

	n = scan(open_beside(dir, path), entries, filter, order, SITE);
	errno = n < 0 ? errno : error;
	return n;
}

HOOK_EXPORT int scandir64(const char *restrict path, struct dirent64 ***restrict entries,
			  int (*filter)(const struct dirent64 *),
			  int (*order)(const struct dirent64 **, const struct dirent64 **))
	__attribute__((alias("scandir")));
HOOK_EXPORT int scandirat64(int dir, const char *restrict path, struct dirent64 ***restrict entries,
			    int (*filter)(const struct dirent64 *),
			    int (*order)(const struct dirent64 **, const struct dirent64 **))
	__attribute__((alias("scandirat")));

static void *glob_open(const char *path)
{
	return hook_dir_open(path, NULL);
}

static struct dirent *glob_read(void *d)
{
	return hook_dir_read(d, NULL);
}

static void glob_close(void *d)
{
	hook_dir_close(d, NULL);
}

HOOK_EXPORT int glob(const char *restrict pattern, int flags,
		     int (*failed)(const char *path, int error), glob_t *restrict found)
{
	int rc;

	if (flags & GLOB_ALTDIRFUNC || !hook_io_is_programs(SITE))
		return REAL(glob)(pattern, flags, failed, found);
	found->gl_opendir = glob_open;
	found->gl_readdir = glob_read;
	found->gl_closedir = glob_close;
	found->gl_stat = stat;
	found->gl_lstat = lstat;
	rc = REAL(glob)(pattern, flags | GLOB_ALTDIRFUNC, failed, found);
	found->gl_flags &= ~GLOB_ALTDIRFUNC;
	return rc;
}

_Static_assert(sizeof(glob_t) == sizeof(glob64_t), "one glob is the other");
HOOK_EXPORT int glob64(const char *restrict pattern, int flags, int (*failed)(const char *, int),
		       glob64_t *restrict found) __attribute__((alias("glob")));

/* A step of a walk, or its end. */
struct step {
	struct stat st;
	struct FTW place;
	int kind;
	int ended, result, error;
	char path[PATH_MAX];
};

#define STEP_HEAD offsetof(struct step, path)

struct walk {
	__nftw_func_t call;
	__ftw_func_t plain; /* of ftw; NULL */
	struct walk *outer;
};

static __thread struct walk *walking;

static ssize_t fetch_step(void *ctx, void *buffer, size_t size)
{
	const struct step *step = ctx;
	size_t n = STEP_HEAD + strlen(step->path) + 1;

	(void)size;
	memcpy(buffer, step, n);
	return (ssize_t)n;
}

/* When recording the one that was made; in replay the recorded one takes its place. */
static void tell(struct step *step)
{
	struct step told;
	ssize_t n = hook_io_told("nftw", NULL, fetch_step, step, &told, sizeof(told));

	if (n < (ssize_t)STEP_HEAD)
		hook_failed(hook_thread_self(), "the recorded inputs make no sense");
	memcpy(step, &told, (size_t)n);
	step->path[sizeof(step->path) - 1] = '\0';
}

static int call(const struct walk *walk, struct step *step)
{
	return walk->plain ? walk->plain(step->path, &step->st, step->kind)
			   : walk->call(step->path, &step->st, step->kind, &step->place);
}

/* libc is at work around this, the program inside. */
static int walked(const char *path, const struct stat *st, int kind, struct FTW *place)
{
	struct walk *walk = walking;
	struct step step = {.kind = kind};
	int rc;

	if (st && kind != FTW_NS)
		step.st = *st;
	if (place)
		step.place = *place;
	strncpy(step.path, path, sizeof(step.path) - 1);
	hook_depth--;
	tell(&step);
	walking = walk->outer;
	rc = call(walk, &step);
	walking = walk;
	hook_depth++;
	return rc;
}

static int walked_plain(const char *path, const struct stat *st, int kind)
{
	return walked(path, st, kind, NULL);
}

static void walk_anew(const char *path, int descriptors, int flags, struct walk *walk,
		      struct step *end)
{
	walk->outer = walking;
	walking = walk;
	hook_depth++;
	end->result = walk->plain ? REAL(ftw)(path, walked_plain, descriptors)
				  : REAL(nftw)(path, walked, descriptors, flags);
	end->error = errno;
	hook_depth--;
	walking = walk->outer;
	end->ended = 1;
	tell(end);
}

static void walk_again(struct walk *walk, struct step *step)
{
	for (;;) {
		tell(step);
		if (step->ended)
			return;
		step->result = call(walk, step);
	}
}

static int walk(const char *path, int descriptors, int flags, struct walk walk)
{
	struct step step = {0};

	if (hook_process.mode == HOOK_REPLAY && !hook_self->passive)
		walk_again(&walk, &step);
	else
		walk_anew(path, descriptors, flags, &walk, &step);
	if (step.result < 0)
		errno = step.error;
	return step.result;
}

HOOK_EXPORT int nftw(const char *path, __nftw_func_t function, int descriptors, int flags)
{
	static struct hook_unseen elsewhere = {.key = "nftw-chdir",
					       .what = "directories walked by nftw with FTW_CHDIR"};

	if (!hook_io_is_programs(SITE))
		return REAL(nftw)(path, function, descriptors, flags);
	if (flags & FTW_CHDIR) {
		hook_unseen(&elsewhere);
		return REAL(nftw)(path, function, descriptors, flags);
	}
	return walk(path, descriptors, flags, (struct walk){.call = function});
}

HOOK_EXPORT int ftw(const char *path, __ftw_func_t function, int descriptors)
{
	if (!hook_io_is_programs(SITE))
		return REAL(ftw)(path, function, descriptors);
	return walk(path, descriptors, 0, (struct walk){.plain = function});
}

HOOK_EXPORT int nftw64(const char *path, __nftw64_func_t function, int descriptors, int flags)
	__attribute__((alias("nftw")));
HOOK_EXPORT int ftw64(const char *path, __ftw64_func_t function, int descriptors)
	__attribute__((alias("ftw")));

/* Its state is not there if the program does not want it. */
static struct stat *state_of(const FTS *f, const FTSENT *e)
{
	return e && !(f->fts_options & FTS_NOSTAT) ? e->fts_statp : NULL;
}

static struct step step_of(const FTS *f, const FTSENT *e)
{
	struct step step = {.ended = !e, .error = errno};

	if (e) {
		step.kind = e->fts_info;
		step.st = state_of(f, e) ? *state_of(f, e) : step.st;
		strncpy(step.path, e->fts_path, sizeof(step.path) - 1);
	}
	return step;
}

/* What the program gets of it is libc's own: it cannot be given back, only compared. */
HOOK_EXPORT FTSENT *fts_read(FTS *f)
{
	FTSENT *e = REAL(fts_read)(f);
	struct step step, told;
	int error = errno;

	if (!hook_io_is_programs(SITE))
		return e;
	step = told = step_of(f, e);
	tell(&told);
	if (told.ended != step.ended || strcmp(told.path, step.path) != 0)
		hook_diverged(hook_thread_self(), "fts_read",
			      told.ended ? "the end of the directory" : told.path,
			      step.ended ? "the end of the directory" : step.path);
	if (state_of(f, e))
		*state_of(f, e) = told.st;
	errno = error;
	return e;
}

_Static_assert(sizeof(FTSENT) == sizeof(FTSENT64), "one fts_read is the other");
HOOK_EXPORT FTSENT64 *fts64_read(FTS64 *f) __attribute__((alias("fts_read")));
