/* SPDX-License-Identifier: Apache-2.0 */
/* reprise lines: the images of a trace, from which a replay can begin. */
#include "cmd/cmd.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "ckpt/image.h"
#include "cmd/show.h"
#include "replay/checkpoint.h"
#include "replay/images.h"

struct wanted {
	unsigned format;
};

static const struct cmd_option options[] = {
	CMD_OPTION_FORMAT(struct wanted, format),
	CMD_OPTION_END,
};

static void show_text(const struct ckpt_image *image, uint32_t number)
{
	const struct ckpt_head *h = image->head;
	char *size = cmd_show_size(image->bytes), *text;

	if (image->damage) {
		text = cmd_show_text(image->damage);
		printf("  image %" PRIu32 " %s\n", number, text);
		free(text);
	} else {
		printf("  image %" PRIu32 ": before %" PRIu32 "@%" PRIu64 ", after %.2f s, %s, "
		       "stopped for %.1f ms\n",
		       number, h->rank, h->event, (double)h->elapsed / 1e9, size,
		       (double)h->stopped / 1e6);
	}
	free(size);
}

static void show_head(unsigned rank, const struct replay_images_sum *sum)
{
	char *images = cmd_show_size(sum->image_bytes), *logs = cmd_show_size(sum->log_bytes);

	printf("rank %u: %zu image%s, %s; log %s\n", rank, sum->images, sum->images == 1 ? "" : "s",
	       images, logs);
	free(images);
	free(logs);
}

static json_t *make_json(const struct ckpt_image *image, uint32_t number)
{
	const struct ckpt_head *h = image->head;

	if (image->damage)
		return json_pack("{s:I, s:o}", "image", (json_int_t)number, "damage",
				 cmd_show_json(image->damage));
	return json_pack("{s:I, s:I, s:f, s:I, s:f}", "image", (json_int_t)number, "event",
			 (json_int_t)h->event, "seconds", (double)h->elapsed / 1e9, "bytes",
			 (json_int_t)image->bytes, "stopped", (double)h->stopped / 1e9);
}

/* How far a point may lie behind the image before it, in seconds of the rank; the last one counts
   to the end of the run, which nobody has measured alone. */
struct bound {
	double before, longest;
};

static void widen_bound(struct bound *b, const struct ckpt_image *image)
{
	double at = image->damage ? b->before : (double)image->head->elapsed / 1e9;

	if (b->before > 0 && at - b->before > b->longest)
		b->longest = at - b->before;
	b->before = at;
}

/* One rank's; NULL if it is text. */
static json_t *show_rank(const struct trace_run *run, size_t index, bool json)
{
	unsigned rank = run->rank[index].rank;
	char *dir = rp_format("%s/ckpt/rank-%04u", run->dir.path, rank);
	struct replay_images_sum sum = {0};
	struct bound bound = {0};
	json_t *list = json ? json_array() : NULL;
	size_t n;
	uint32_t *number = ckpt_image_list(dir, &n);

	replay_images_measure(run, index, &sum);
	if (!json)
		show_head(rank, &sum);
	for (size_t i = 0; i < n; i++) {
		char *path = ckpt_image_path(dir, number[i]);
		struct ckpt_image image;

		ckpt_image_open(&image, path);
		ckpt_image_check_pages(&image);
		if (json)
			json_array_append_new(list, make_json(&image, number[i]));
		else
			show_text(&image, number[i]);
		widen_bound(&bound, &image);
		ckpt_image_close(&image);
		free(path);
	}
	free(number);
	free(dir);
	if (!json && bound.longest > 0)
		printf("  at most %.2f s from an image to the next\n", bound.longest);
	return json ? json_pack("{s:I, s:I, s:f, s:o}", "rank", (json_int_t)rank, "log_bytes",
				(json_int_t)sum.log_bytes, "longest", bound.longest, "images", list)
		    : NULL;
}

static int run(int argc, char **argv)
{
	struct wanted w = {0};
	struct cmd_operands operands;
	struct replay_checkpoints known;
	struct trace_run trace;
	json_t *all;
	int code = cmd_options_read(&cmd_lines, argc, argv, &w, &operands);

	if (!code)
		code = trace_run_open(&trace, operands.first);
	if (code)
		return code;
	if (!replay_checkpoints_read(&trace, &known)) {
		rp_say("%s has no images; 'reprise checkpoint' takes them", trace.dir.show);
		trace_run_close(&trace);
		return RP_EXIT_BAD_INPUT;
	}
	all = json_array();
	for (size_t i = 0; i < trace.ranks; i++) {
		json_t *rank = show_rank(&trace, i, w.format == CMD_FORMAT_JSON);

		if (rank)
			json_array_append_new(all, rank);
	}
	if (w.format == CMD_FORMAT_JSON)
		cmd_show_json_line(all, JSON_INDENT(2));
	else
		json_decref(all);
	trace_run_close(&trace);
	return 0;
}

const struct cmd_verb cmd_lines = {
	.name = "lines",
	.takes = CMD_TAKES_TRACE,
	.summary = "Lists the images from which a replay can begin",
	.about = "'reprise checkpoint' takes them; 'reprise replay --from' begins there. Damaged "
		 "ones are named.\n",
	.options = options,
	.notes = "Without TRACE it is the latest one.\n",
	.run = run,
};
