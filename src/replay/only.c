/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank, which image, and is that of any use here. */
#include "replay/only.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "ckpt/image.h"
#include "replay/checkpoint.h"

static int read_rank(struct replay_front *f, const char *text)
{
	unsigned long rank;
	char *end;

	errno = 0;
	rank = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno) {
		rp_say("'%s' is no rank", text);
		return RP_EXIT_BAD_INPUT;
	}
	for (size_t i = 0; i < f->ranks; i++) {
		if (f->run->rank[i].rank == rank) {
			f->one = i;
			return 0;
		}
	}
	rp_say("%s has no rank %lu", f->run->dir.show, rank);
	return RP_EXIT_BAD_INPUT;
}

/* What the rank has left in its directory of images; the caller frees, or NULL. */
static char *word_of(const struct replay_front *f, const char *name)
{
	char *path = rp_format("ckpt/rank-%04u/%s", f->run->rank[f->one].rank, name);
	int fd = rp_fd_open_file(f->run->dir.fd, path);
	char text[256];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	free(path);
	text[n > 0 ? n : 0] = 0;
	return n > 0 ? rp_strdup(text) : NULL;
}

static int say_none(const struct replay_front *f)
{
	char *why = word_of(f, "refused");

	rp_say("rank %u cannot be replayed alone: there is no image of it%s%s",
	       f->run->rank[f->one].rank, why ? ": " : "", why ? why : "");
	free(why);
	return RP_EXIT_BAD_INPUT;
}

static int find_image(struct replay_front *f)
{
	char *number = word_of(f, "init"), *dir;
	struct ckpt_image image;
	int code = 0;

	if (!number)
		return say_none(f);
	dir = rp_format("%s/ckpt/rank-%04u", f->run->dir.path, f->run->rank[f->one].rank);
	f->image = ckpt_image_path(dir, (uint32_t)strtoul(number, NULL, 10));
	ckpt_image_open(&image, f->image);
	ckpt_image_check_place(&image);
	ckpt_image_check_pages(&image);
	if (image.damage) {
		rp_say("%s %s; 'reprise checkpoint --again' makes it anew", f->image, image.damage);
		code = RP_EXIT_BAD_INPUT;
	}
	ckpt_image_close(&image);
	free(number);
	free(dir);
	return code;
}

int replay_only_choose(struct replay_front *f, const char *rank)
{
	struct replay_checkpoint how = {.force = f->force};
	struct replay_checkpoints known;
	int code = read_rank(f, rank);

	if (!code && f->command) {
		rp_say("a rank alone is not started by a command");
		code = RP_EXIT_BAD_INPUT;
	}
	f->only = true;
	if (!code && !replay_checkpoints_read(f->run, &known))
		code = replay_checkpoint(f->run->dir.path, &how);
	return code ? code : find_image(f);
}
