/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranks write into S/ckpt, where they find the image they began with; what they have taken is
 * moved to the trace when all have come to their recorded ends. Images are moved in their order:
 * whoever is interrupted leaves a chain that is whole.
 */
#include "replay/images.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "ckpt/image.h"
#include "replay/alone.h"
#include "replay/checkpoint.h"
#include "replay/from.h"
#include "replay/log.h"
#include "replay/pass.h"
#include "replay/prune.h"

#define LENGTH "length" /* of a rank: nanoseconds from its begin to its end */

/* For tests: images may be wanted faster than they can be written, and where kernels are older. */
static bool is_fault(const char *name)
{
	const char *fault = getenv("REPRISE_FAULT");

	return fault && strcmp(fault, name) == 0;
}

/*
 * Images may fill the disk to its last byte, and a rank that cannot say its last word would be
 * waited for: it finds room where it writes it.
 */
static void leave_room(const struct replay_front *f)
{
	for (size_t i = 0; i < f->ranks; i++) {
		char *name = rp_format(REPLAY_WORD "%04u", f->run->rank[i].rank);
		int fd = openat(f->session_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		if (fd >= 0 && fallocate(fd, 0, 0, REPLAY_WORD_BYTES) != 0)
			unlinkat(f->session_fd, name, 0);
		if (fd >= 0)
			close(fd);
		free(name);
	}
}

/* The bytes for the images of each rank that has any. */
static uint64_t budget_of_each(const struct replay_front *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->ranks; i++)
		n += (!f->group || f->group[i]) && replay_alone_is_in(f, i);
	return f->budget && n ? f->budget / n + 1 : UINT64_MAX;
}

int replay_images_ask(const struct replay_front *f)
{
	uint64_t budget = budget_of_each(f);
	/* Images have what logs leave of it. */
	uint64_t logs = f->budget && !f->alone ? budget : 0;
	bool tests = is_fault("images"), apart = is_fault("apart");
	char *text =
		rp_format("every=%" PRIu64 "\npatient=%d\nbudget=%" PRIu64 "\nlog=%" PRIu64
			  "\nkeep=%u\npagemap=%d\nkcmp=%d\nlate=%d\nverify=%d\napart=%d\n",
			  (uint64_t)(f->every * 1e9),
			  tests || apart || is_fault("patient") || is_fault("pagemap") || f->prune,
			  budget, logs, f->keep, is_fault("pagemap"), is_fault("kcmp"),
			  is_fault("late"), tests, apart);
	int rc = replay_pass_write(f->session_fd, "checkpoint", text);

	leave_room(f);
	free(text);
	return rc;
}

static char *place_of(const struct replay_front *f, size_t rank, const char *name)
{
	return rp_format("ckpt/rank-%04u/%s", f->run->rank[rank].rank, name);
}

static int link_first(const struct replay_front *f, size_t rank)
{
	char *name = place_of(f, rank, strrchr(f->image[rank], '/') + 1);
	int rc = linkat(AT_FDCWD, f->image[rank], f->session_fd, name, 0) == 0 ? 0 : -errno;

	free(name);
	return rc;
}

void replay_images_say_refused(const struct replay_front *f)
{
	for (size_t i = 0; i < f->ranks; i++) {
		char *path = rp_format("ckpt/rank-%04u/refused", f->run->rank[i].rank);
		char *text = replay_pass_read(f->session_fd, path);

		if (text && *text)
			rp_say("rank %u: images are missing: %s", f->run->rank[i].rank, text);
		free(text);
		free(path);
	}
}

static uint64_t bytes_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static uint64_t bytes_below(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	uint64_t bytes = 0;

	while (dir && (entry = readdir(dir))) {
		char *inner = rp_format("%s/%s", path, entry->d_name);

		if (entry->d_name[0] != '.')
			bytes += bytes_of(inner);
		free(inner);
	}
	if (dir)
		closedir(dir);
	return bytes;
}

/* What the log has of the rank's share. */
static int note_spent(const struct replay_front *f, size_t rank)
{
	char *log = rp_format("%s/log/rank-%04u", f->run->dir.path, f->run->rank[rank].rank);
	char *text = rp_format("%" PRIu64, bytes_below(log)), *name = place_of(f, rank, "spent");
	int rc = replay_pass_write(f->session_fd, name, text);

	free(name);
	free(text);
	free(log);
	return rc;
}

static int prepare(const struct replay_front *f)
{
	int rc = replay_images_ask(f);

	if (!rc)
		rc = replay_pass_directories(f, "ckpt", f->group);
	for (size_t i = 0; i < f->ranks && !rc; i++) {
		if (!replay_alone_is_in(f, i))
			continue;
		rc = link_first(f, i);
		if (!rc)
			rc = note_spent(f, i);
	}
	if (!rc && f->prune)
		rc = replay_prune_place(f->prune, f);
	return rc;
}

/* Does that with all images below the directory, the lowest first; 0 or -errno. */
static int for_images(const struct replay_front *f, size_t rank, const char *where,
		      int (*what)(const struct replay_front *f, const char *name))
{
	char *dir = rp_format("%s/ckpt/rank-%04u", where, f->run->rank[rank].rank);
	size_t n;
	uint32_t *list = ckpt_image_list(dir, &n);
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		char *number = rp_format("%" PRIu32 CKPT_SUFFIX, list[i]);
		char *name = place_of(f, rank, number);

		if (strcmp(number, strrchr(f->image[rank], '/') + 1) != 0)
			rc = what(f, name);
		free(name);
		free(number);
	}
	free(list);
	free(dir);
	return rc;
}

static int remove_image(const struct replay_front *f, const char *name)
{
	return unlinkat(f->run->dir.fd, name, 0) == 0 ? 0 : -errno;
}

static int move_image(const struct replay_front *f, const char *name)
{
	return renameat(f->session_fd, name, f->run->dir.fd, name) == 0 ? 0 : -errno;
}

/* Whoever was interrupted may have left some. */
static int move_images(const struct replay_front *f, size_t rank)
{
	int rc = for_images(f, rank, f->run->dir.path, remove_image);
	char *length = place_of(f, rank, LENGTH);

	if (!rc)
		rc = for_images(f, rank, f->session, move_image);
	if (!rc && move_image(f, length) == -ENOENT)
		rc = 0; /* it was ended before it could say */
	free(length);
	return rc;
}

static int keep(const struct replay_front *f, uint64_t started)
{
	int rc = 0, code = 0;

	(void)started;
	replay_images_say_refused(f);
	for (size_t i = 0; i < f->ranks && !rc; i++) {
		if (replay_alone_is_in(f, i))
			rc = move_images(f, i);
	}
	if (!rc &&
	    renameat(f->session_fd, REPLAY_CHECKPOINT_CHANGED, f->run->dir.fd,
		     REPLAY_CHECKPOINT_CHANGED) != 0 &&
	    errno != ENOENT)
		rc = -errno;
	if (!rc && f->prune)
		code = replay_prune_log(f->prune, f);
	if (!rc && !code)
		rc = replay_pass_write(f->run->dir.fd, REPLAY_IMAGES_DONE, "");
	return rc ? replay_pass_cannot(f, rc) : code;
}

static const struct replay_pass pass = {
	.verb = "checkpoint",
	.doing = "taking images of",
	.noun = "run of ranks alone",
	.exact = true,
	.prepare = prepare,
	.keep = keep,
};

void replay_images_measure(const struct trace_dir *dir, unsigned rank,
			   struct replay_images_sum *sum)
{
	char *images = rp_format("%s/ckpt/rank-%04u", dir->path, rank);
	char *log = rp_format("%s/log/rank-%04u", dir->path, rank);
	size_t n;
	uint32_t *list = ckpt_image_list(images, &n);

	sum->images += n;
	for (size_t i = 0; i < n; i++) {
		char *path = ckpt_image_path(images, list[i]);

		sum->image_bytes += bytes_of(path);
		free(path);
	}
	sum->log_bytes += bytes_below(log);
	free(list);
	free(log);
	free(images);
}

void replay_images_measure_all(const struct trace_dir *dir, struct replay_images_sum *sum)
{
	struct trace_ranks ranks;

	if (trace_dir_ranks(dir, &ranks))
		return;
	for (size_t i = 0; i < ranks.n; i++)
		replay_images_measure(dir, ranks.rank[i], sum);
	trace_ranks_free(&ranks);
}

double replay_images_length(const struct trace_dir *dir, unsigned rank)
{
	char *name = rp_format("ckpt/rank-%04u/" LENGTH, rank);
	char *text = replay_pass_read(dir->fd, name);
	double seconds = text ? (double)strtoull(text, NULL, 10) / 1e9 : 0;

	free(text);
	free(name);
	return seconds;
}

int replay_images_take(const struct replay_front *whole)
{
	struct replay_front f = {
		.run = whole->run,
		.ranks = whole->ranks,
		.force = whole->force,
		.or_force = whole->or_force,
		.patience = whole->patience,
		.every = whole->every,
		.budget = whole->budget,
		.keep = whole->keep,
		.group = whole->group,
		.prune = whole->prune,
		.alone = true,
	};
	size_t in = 0, wanted = 0;
	int code = 0;

	f.image = rp_alloc(f.ranks, sizeof(*f.image));
	for (size_t i = 0; i < f.ranks; i++) {
		char *refused, *end;

		if (f.group && !f.group[i])
			continue;
		refused = replay_log_refusal(&f, i);
		end = replay_log_end(f.run->dir.fd, f.run->rank[i].rank);
		if (!refused && !end)
			f.image[i] = replay_from_first(&f, i);
		free(end);
		free(refused);
		in += f.image[i] != NULL;
		wanted++;
	}
	if (in < wanted && f.prune) {
		rp_say("not all ranks can be restarted: all that ranks receive stays in the log");
		f.prune = NULL;
	}
	if (in)
		code = replay_pass_run(&f, &pass);
	for (size_t i = 0; i < f.ranks; i++)
		free(f.image[i]);
	free(f.image);
	return code;
}
