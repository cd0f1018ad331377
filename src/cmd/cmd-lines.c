/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise lines: the images of a trace, from which a replay can begin; with --for, the recovery
 * line of a point: the image from which each rank would go on to it.
 */
#include "cmd/cmd.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "ckpt/image.h"
#include "cmd/races.h"
#include "cmd/show.h"
#include "replay/checkpoint.h"
#include "replay/from.h"
#include "replay/images.h"
#include "replay/live.h"
#include "replay/log.h"
#include "replay/ranks.h"

struct wanted {
	const char *point;
	unsigned format;
};

static const struct cmd_option options[] = {
	{.name = "for",
	 .value = "POSITION",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, point),
	 .help = "the recovery line of a point, named as for 'reprise replay --from'"},
	CMD_OPTION_FORMAT(struct wanted, format),
	CMD_OPTION_END,
};

static void show_text(const struct ckpt_image *image, uint32_t number, uint64_t event)
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
		       number, h->rank, event, (double)h->elapsed / 1e9, size,
		       (double)h->stopped / 1e6);
	}
	free(size);
}

static void show_head(unsigned rank, const struct replay_images_sum *sum, const char *end)
{
	char *images = cmd_show_size(sum->image_bytes), *logs = cmd_show_size(sum->log_bytes);

	printf("rank %u: %zu image%s, %s; log %s%s%s\n", rank, sum->images,
	       sum->images == 1 ? "" : "s", images, logs, end ? ", which ends before " : "",
	       end ? end : "");
	free(images);
	free(logs);
}

static json_t *make_json(const struct ckpt_image *image, uint32_t number, uint64_t event)
{
	const struct ckpt_head *h = image->head;

	if (image->damage)
		return json_pack("{s:I, s:o}", "image", (json_int_t)number, "damage",
				 cmd_show_json(image->damage));
	return json_pack("{s:I, s:I, s:f, s:I, s:f}", "image", (json_int_t)number, "event",
			 (json_int_t)event, "seconds", (double)h->elapsed / 1e9, "bytes",
			 (json_int_t)image->bytes, "stopped", (double)h->stopped / 1e9);
}

/* How far a point may lie behind the image before it, in seconds of the rank. */
struct bound {
	double before, longest;
};

static void widen_bound(struct bound *b, double at)
{
	if (b->before > 0 && at - b->before > b->longest)
		b->longest = at - b->before;
	b->before = at > 0 ? at : b->before;
}

/* How long the process stood still for its images. */
struct stops {
	double *second;
	size_t n;
};

static void note_stop(struct stops *s, const struct ckpt_image *image)
{
	if (image->damage)
		return;
	s->second = rp_realloc(s->second, s->n + 1, sizeof(*s->second));
	s->second[s->n++] = (double)image->head->stopped / 1e9;
}

static int compare_seconds(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void show_stops(struct stops *s)
{
	if (!s->n)
		return;
	qsort(s->second, s->n, sizeof(*s->second), compare_seconds);
	printf("  stopped for %.1f ms (median), at most %.1f ms\n", 1e3 * s->second[s->n / 2],
	       1e3 * s->second[s->n - 1]);
}

static double seconds_of(const struct ckpt_image *image)
{
	return image->damage ? 0 : (double)image->head->elapsed / 1e9;
}

static bool is_pruned(const struct trace_run *run)
{
	struct replay_live live;
	int rc = replay_live_read(run, &live);

	replay_live_free(&live);
	return rc != 0;
}

/* One rank's; NULL if it is text. */
static json_t *show_rank(const struct trace_run *run, size_t index, bool json)
{
	unsigned rank = run->rank[index].rank;
	char *dir = rp_format("%s/ckpt/rank-%04u", run->dir.path, rank);
	struct replay_images_sum sum = {0};
	struct bound bound = {0};
	struct stops stops = {0};
	json_t *list = json ? json_array() : NULL, *object;
	char *end = replay_log_end(run->dir.fd, rank);
	double length;
	size_t n;
	uint32_t *number = ckpt_image_list(dir, &n);

	replay_images_measure(&run->dir, rank, &sum);
	if (!json)
		show_head(rank, &sum, end);
	for (size_t i = 0; i < n; i++) {
		char *path = ckpt_image_path(dir, number[i]);
		struct ckpt_image image;
		uint64_t event;

		ckpt_image_open(&image, path);
		ckpt_image_check_pages(&image);
		event = image.damage ? 0 : replay_from_main(&image, run, &run->rank[index]);
		if (json)
			json_array_append_new(list, make_json(&image, number[i], event));
		else
			show_text(&image, number[i], event);
		widen_bound(&bound, seconds_of(&image));
		note_stop(&stops, &image);
		ckpt_image_close(&image);
		free(path);
	}
	free(number);
	free(dir);
	length = replay_images_length(&run->dir, rank);
	widen_bound(&bound, length);
	if (!json && bound.longest > 0)
		printf("  at most %.2f s from an image to the next, or to the end\n",
		       bound.longest);
	if (!json)
		show_stops(&stops);
	free(stops.second);
	object = json ? json_pack("{s:I, s:s, s:I, s:f, s:f, s:o}", "rank", (json_int_t)rank, "log",
				  is_pruned(run) ? "mrt" : "all", "log_bytes",
				  (json_int_t)sum.log_bytes, "longest", bound.longest, "length",
				  length, "images", list)
		      : NULL;
	if (object && end)
		json_object_set_new(object, "log_end", json_string(end));
	free(end);
	return object;
}

/* The rank's part of a recovery line. */
struct start {
	uint32_t image;
	uint64_t event; /* before which its main thread is */
	uint64_t place; /* and where it goes; 0: to its end, or not known */
	double most;    /* seconds from there to the point; 0: not known */
};

/* The time of the first image behind that one and behind the place, or of the end. */
static double time_behind(const struct trace_run *run, size_t index, const char *dir,
			  uint32_t image, uint64_t place)
{
	double at = 0;
	size_t n;
	uint32_t *number = ckpt_image_list(dir, &n);

	for (size_t i = 0; i < n && at <= 0; i++) {
		char *path = ckpt_image_path(dir, number[i]);
		struct ckpt_image next;

		if (number[i] > image) {
			ckpt_image_open(&next, path);
			if (!next.damage && replay_from_main(&next, run, &run->rank[index]) > place)
				at = seconds_of(&next);
			ckpt_image_close(&next);
		}
		free(path);
	}
	free(number);
	return at > 0 ? at : replay_images_length(&run->dir, run->rank[index].rank);
}

static struct start find_start(const struct replay_front *f, const struct replay_from *from,
			       size_t index)
{
	unsigned rank = f->run->rank[index].rank;
	char *dir = rp_format("%s/ckpt/rank-%04u", f->run->dir.path, rank);
	const char *places = from->halt.places ? from->halt.places[index] : NULL;
	struct ckpt_image image;
	struct start s = {0};
	double at;

	ckpt_image_open(&image, f->image[index]);
	s.image = image.head->number;
	s.event = replay_from_main(&image, f->run, &f->run->rank[index]);
	if (places && strncmp(places, "0 ", 2) == 0)
		s.place = strtoull(places + 2, NULL, 10);
	at = time_behind(f->run, index, dir, s.image, s.place ? s.place : UINT64_MAX);
	if (at > 0)
		s.most = at - seconds_of(&image);
	ckpt_image_close(&image);
	free(dir);
	return s;
}

static void show_start(unsigned rank, const struct start *s)
{
	printf("  rank %u: image %" PRIu32 ", before %u@%" PRIu64, rank, s->image, rank, s->event);
	if (s->place)
		printf(", then to %u@%" PRIu64, rank, s->place);
	if (s->most > 0)
		printf(", which is at most %.2f s of computing", s->most);
	putchar('\n');
}

static json_t *start_json(unsigned rank, const struct start *s)
{
	json_t *object = json_pack("{s:I, s:I, s:I}", "rank", (json_int_t)rank, "image",
				   (json_int_t)s->image, "event", (json_int_t)s->event);

	if (s->place)
		json_object_set_new(object, "place", json_integer((json_int_t)s->place));
	if (s->most > 0)
		json_object_set_new(object, "most", json_real(s->most));
	return object;
}

/* Those that can be restarted, if not all can be: "0-3"; else NULL. The caller frees. */
static char *logged_ranks(const struct trace_run *run)
{
	bool *logged = rp_alloc(run->ranks, sizeof(*logged));
	char *text = replay_ranks_logged(run, logged) ? NULL : replay_ranks_text(run, logged);

	free(logged);
	return text;
}

/* Where a replay --from would begin; the places are those of the causal cut. */
static int show_line(const struct trace_run *run, const char *point, bool json)
{
	struct replay_front f = {.run = run, .ranks = run->ranks};
	struct replay_from from = {0};
	json_t *list = json ? json_array() : NULL;
	char *position, *ranks;
	int code = cmd_races_resolve(run->dir.path, point, &position);

	if (code)
		return code;
	ranks = logged_ranks(run);
	from.position = position;
	from.ranks = ranks;
	code = replay_from_choose(&f, &from);
	if (!code && f.image && !json)
		printf("recovery line of %s\n", position);
	for (size_t i = 0; i < f.ranks && !code && f.image; i++) {
		struct start s;

		if (!f.image[i])
			continue;
		s = find_start(&f, &from, i);
		if (json)
			json_array_append_new(list, start_json(run->rank[i].rank, &s));
		else
			show_start(run->rank[i].rank, &s);
	}
	if (json && !code)
		cmd_show_json_line(list, JSON_INDENT(2));
	else if (json)
		json_decref(list);
	free(ranks);
	free(position);
	return code;
}

/* What a choice of images has to keep to. */
static void show_rule(const struct trace_run *run)
{
	char *which = replay_live_text(run), *group = replay_ranks_logged_text(run);

	if (is_pruned(run))
		printf("The log is one%s: the others are sent again, so %s are restarted "
		       "together, each from its last\nimage before the point or, where another "
		       "needs it, from the one before that: at most two intervals;\n",
		       which, *group ? "these ranks" : "all ranks");
	else if (*group)
		printf("The log is one%s: any choice of one image of each of them is a recovery "
		       "line, since all that they receive is logged;\n",
		       which);
	else
		puts("Any choice of one image of each rank is a recovery line, since all that "
		     "ranks receive is logged;");
	puts("'reprise lines --for 0@100' names that of a point.");
	free(group);
	free(which);
}

static void show_images(const struct trace_run *run, bool json)
{
	json_t *all = json_array();

	for (size_t i = 0; i < run->ranks; i++) {
		json_t *rank = show_rank(run, i, json);

		if (rank)
			json_array_append_new(all, rank);
	}
	if (json)
		cmd_show_json_line(all, JSON_INDENT(2));
	else
		json_decref(all);
	if (!json && run->ranks > 1)
		show_rule(run);
}

static int run(int argc, char **argv)
{
	struct wanted w = {0};
	struct cmd_operands operands;
	struct replay_checkpoints known;
	struct trace_run trace;
	int code = cmd_options_read(&cmd_lines, argc, argv, &w, &operands);

	if (!code)
		code = trace_run_open(&trace, operands.first);
	if (code)
		return code;
	if (!replay_checkpoints_read(&trace, &known)) {
		rp_say("%s has no images; 'reprise checkpoint' takes them", trace.dir.show);
		code = RP_EXIT_BAD_INPUT;
	} else if (w.point) {
		code = show_line(&trace, w.point, w.format == CMD_FORMAT_JSON);
	} else {
		show_images(&trace, w.format == CMD_FORMAT_JSON);
	}
	trace_run_close(&trace);
	return code;
}

const struct cmd_verb cmd_lines = {
	.name = "lines",
	.takes = CMD_TAKES_TRACE,
	.summary = "Lists the images from which a replay can begin",
	.about = "'reprise checkpoint' takes them; 'reprise replay --from' begins there. Damaged "
		 "ones are named. With --for it is told from which image each rank would go on "
		 "to that point, and how much it would compute at most.\n",
	.options = options,
	.notes = "Without TRACE it is the latest one.\n",
	.run = run,
};
