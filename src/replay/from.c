/* SPDX-License-Identifier: Apache-2.0 */
/* An image that is damaged, or of no use here, is named, and the one before it taken. */
#include "replay/from.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "ckpt/image.h"
#include "replay/checkpoint.h"

static int bad_position(const char *text)
{
	rp_say("'%s' is no position: it is RANK@EVENT as in 0@1042, 'end' or 'crash'", text);
	return RP_EXIT_BAD_INPUT;
}

static int crash_position(const struct replay_front *f, uint64_t *event)
{
	*event = UINT64_MAX;
	if (f->run->meta.ended == TRACE_ENDED_SIGNAL)
		return 0;
	rp_say("%s did not crash; 'reprise info' says how it ended", f->run->dir.show);
	return RP_EXIT_BAD_INPUT;
}

static int read_position(const struct replay_front *f, const char *text, uint64_t *event)
{
	unsigned long rank;
	char *end;

	*event = UINT64_MAX;
	if (strcmp(text, "end") == 0)
		return 0;
	if (strcmp(text, "crash") == 0)
		return crash_position(f, event);
	errno = 0;
	rank = strtoul(text, &end, 10);
	if (end == text || *end != '@' || errno || *text == '-')
		return bad_position(text);
	text = end + 1;
	*event = strtoull(text, &end, 10);
	if (end == text || *end || errno || *text == '-' || !*event)
		return bad_position(text);
	if (rank >= f->ranks) {
		rp_say("%s has no rank %lu", f->run->dir.show, rank);
		return RP_EXIT_BAD_INPUT;
	}
	return 0;
}

/* True if it is to be taken. */
static bool is_of_use(const char *path, uint64_t event)
{
	struct ckpt_image image;
	bool use;

	ckpt_image_open(&image, path);
	use = !image.damage && image.head->event <= event;
	if (use) {
		ckpt_image_check_place(&image);
		ckpt_image_check_pages(&image);
	}
	if (image.damage)
		rp_say("%s %s; an earlier one is taken", path, image.damage);
	use = use && !image.damage;
	ckpt_image_close(&image);
	return use;
}

static char *last_before(const struct replay_front *f, uint64_t event)
{
	char *dir = rp_format("%s/ckpt/rank-%04u", f->run->dir.path, f->run->rank[0].rank);
	char *found = NULL;
	size_t n;
	uint32_t *list = ckpt_image_list(dir, &n);

	for (size_t i = n; i > 0 && !found; i--) {
		found = ckpt_image_path(dir, list[i - 1]);
		if (is_of_use(found, event))
			break;
		free(found);
		found = NULL;
	}
	free(list);
	free(dir);
	return found;
}

int replay_from_choose(struct replay_front *f, const char *position)
{
	const char *mpi = f->run->rank[0].start.mpi;
	struct replay_checkpoints known;
	uint64_t event;
	int code = read_position(f, position, &event);

	if (!code && (strcmp(mpi, "openmpi") == 0 || strcmp(mpi, "mpich") == 0)) {
		rp_say("a run of MPI cannot begin in the middle yet: --from is for programs "
		       "without it");
		code = RP_EXIT_BAD_INPUT;
	}
	if (code)
		return code;
	if (!replay_checkpoints_read(f->run, &known)) {
		struct replay_checkpoint how = {.force = f->force};

		code = replay_checkpoint(f->run->dir.path, &how);
	}
	if (code)
		return code;
	f->image = last_before(f, event);
	if (!f->image)
		rp_say("there is no image before %s: the replay begins at the start", position);
	return 0;
}
