/* SPDX-License-Identifier: Apache-2.0 */
/* An image that is damaged, or of no use here, is named, and the one before it taken. */
#include "replay/from.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "ckpt/image.h"
#include "replay/checkpoint.h"
#include "replay/live.h"
#include "replay/log.h"
#include "replay/pass.h"
#include "replay/ranks.h"

/* What an image must not be behind of. */
struct limit {
	uint64_t event;     /* of the main thread */
	uint32_t number;    /* of the image; 0: any */
	const char *places; /* of all threads: lines "thread event …"; or NULL */
	const struct trace_run_rank *rank;
	enum replay_halt_unit unit;
	bool *refused; /* the program has changed: no image is of use */
};

static bool is_before(const struct ckpt_image *image, const struct limit *limit)
{
	const char *p = limit->places;

	if (image->head->event > limit->event)
		return false;
	for (; p && *p; p += strcspn(p, "\n"), p += *p == '\n') {
		size_t n = strcspn(p, " \n");

		if (replay_from_event(image, limit->rank, limit->unit, p, n) >
		    strtoull(p + n, NULL, 10))
			return false;
	}
	return true;
}

static bool is_of_use(const char *path, const struct limit *limit)
{
	struct ckpt_image image;
	bool use;

	ckpt_image_open(&image, path);
	use = !image.damage && is_before(&image, limit);
	if (use) {
		ckpt_image_check_place(&image);
		ckpt_image_check_pages(&image);
	}
	if (image.changed) {
		if (!__atomic_exchange_n(limit->refused, true, __ATOMIC_RELAXED))
			rp_say("%s has changed since images were taken: none of them can be "
			       "restored; 'reprise checkpoint --again' takes them anew",
			       image.changed);
	} else if (image.damage) {
		rp_say("%s %s; an earlier one is taken", path, image.damage);
	}
	use = use && !image.damage;
	ckpt_image_close(&image);
	return use;
}

static char *last_before(const struct replay_front *f, size_t rank, const struct limit *limit)
{
	char *dir = rp_format("%s/ckpt/rank-%04u", f->run->dir.path, f->run->rank[rank].rank);
	char *found = NULL;
	size_t n;
	uint32_t *list = ckpt_image_list(dir, &n);

	for (size_t i = n; i > 0 && !found; i--) {
		if (__atomic_load_n(limit->refused, __ATOMIC_RELAXED))
			break;
		if (limit->number && list[i - 1] > limit->number)
			continue;
		found = ckpt_image_path(dir, list[i - 1]);
		if (is_of_use(found, limit))
			break;
		free(found);
		found = NULL;
	}
	free(list);
	free(dir);
	return found;
}

/* What the rank has left in its directory of images; the caller frees, or NULL. */
static char *word_of(const struct replay_front *f, size_t rank, const char *name)
{
	char *path = rp_format("ckpt/rank-%04u/%s", f->run->rank[rank].rank, name);
	char *text = replay_pass_read(f->run->dir.fd, path);

	free(path);
	if (text && *text)
		return text;
	free(text);
	return NULL;
}

char *replay_from_first(const struct replay_front *f, size_t rank)
{
	char *number = word_of(f, rank, "init"), *dir, *path;
	struct ckpt_image image;

	if (!number)
		return NULL;
	dir = rp_format("%s/ckpt/rank-%04u", f->run->dir.path, f->run->rank[rank].rank);
	path = ckpt_image_path(dir, (uint32_t)strtoul(number, NULL, 10));
	ckpt_image_open(&image, path);
	ckpt_image_check_place(&image);
	ckpt_image_check_pages(&image);
	if (image.damage) {
		rp_say("%s %s; 'reprise checkpoint --again' makes it anew", path, image.damage);
		free(path);
		path = NULL;
	}
	ckpt_image_close(&image);
	free(number);
	free(dir);
	return path;
}

bool replay_from_last(const struct replay_front *f, size_t rank, uint64_t event,
		      struct replay_from_image *found)
{
	bool refused = false;
	struct limit limit = {.event = event, .refused = &refused};
	char *path = last_before(f, rank, &limit), *number;
	struct ckpt_image image;

	if (!path)
		return false;
	ckpt_image_open(&image, path);
	*found = (struct replay_from_image){.path = path};
	number = word_of(f, rank, "init");
	if (!image.damage) {
		found->event = image.head->event;
		found->resume = image.head->resume;
		found->elapsed = (double)image.head->elapsed / 1e9;
		found->first = number && strtoul(number, NULL, 10) == image.head->number;
	} else {
		free(path);
		found->path = NULL;
	}
	ckpt_image_close(&image);
	free(number);
	return found->path != NULL;
}

/* Why the rank cannot be restored; the caller frees. */
static char *reason_of(const struct replay_front *f, size_t rank)
{
	char *why = replay_log_refusal(f, rank), *text;

	if (why) {
		text = rp_format("it uses %s", why);
	} else {
		why = word_of(f, rank, "refused");
		text = rp_format("there is no image of it%s%s", why ? ": " : "", why ? why : "");
	}
	free(why);
	return text;
}

static int say_none(const struct replay_front *f, size_t rank)
{
	char *why = reason_of(f, rank);

	rp_say("rank %u cannot be replayed alone: %s", f->run->rank[rank].rank, why);
	free(why);
	return RP_EXIT_BAD_INPUT;
}

bool replay_from_is_mpi(const struct trace_run *run)
{
	const char *mpi = run->rank[0].start.mpi;

	return strcmp(mpi, "openmpi") == 0 || strcmp(mpi, "mpich") == 0;
}

/* What is wanted is all the same had, only later. */
static void go_to_start(struct replay_front *f)
{
	free(f->image);
	f->image = NULL;
	f->alone = f->live = false;
}

static int begin_at_start(struct replay_front *f, const char *position, const char *why)
{
	rp_say("there is no image before %s%s: the replay begins at the start", position, why);
	go_to_start(f);
	return 0;
}

static int make_checkpoints(const struct replay_front *f, bool only_logs)
{
	struct replay_checkpoint how = {.force = f->force, .only_logs = only_logs};
	struct replay_checkpoints known;

	/* Somebody may have wanted no more than the logs. */
	if (replay_checkpoints_read(f->run, &known) &&
	    (known.middle || only_logs || !replay_from_is_mpi(f->run)))
		return 0;
	return replay_checkpoint(f->run->dir.path, &how);
}

static int choose_plain(struct replay_front *f, struct replay_from *from)
{
	struct limit limit = {.event = UINT64_MAX,
			      .rank = &f->run->rank[0],
			      .unit = replay_halt_unit(f->run),
			      .refused = &from->refused};
	int code;

	if (from->only || from->ranks) {
		rp_say("%s is a run without MPI: --only and --ranks are for runs with MPI",
		       f->run->dir.show);
		return RP_EXIT_BAD_INPUT;
	}
	code = replay_halt_read(&from->halt, from->position);
	if (!code)
		code = replay_halt_plan(&from->halt, f->run);
	if (!code)
		code = make_checkpoints(f, false);
	if (code)
		return code;
	if (from->stop)
		f->halt = &from->halt;
	f->image = rp_alloc(f->ranks, sizeof(*f->image));
	limit.places = from->halt.places[0];
	if (from->halt.kind != REPLAY_TO_START)
		f->image[0] = last_before(f, 0, &limit);
	if (from->refused)
		return RP_EXIT_BAD_INPUT;
	return f->image[0] ? 0 : begin_at_start(f, from->position, "");
}

static char *choose_image(const struct replay_front *f, struct replay_from *from, size_t rank,
			  uint32_t number)
{
	struct limit limit = {.event = UINT64_MAX,
			      .number = number,
			      .rank = &f->run->rank[rank],
			      .refused = &from->refused};
	char *why = replay_log_refusal(f, rank);
	bool refused = why != NULL;

	free(why);
	if (refused || from->halt.kind == REPLAY_TO_START)
		return NULL;
	if (!from->position)
		return replay_from_first(f, rank);
	limit.places = from->halt.places[rank];
	return last_before(f, rank, &limit);
}

/* Where MPI_Init returned: if there is an image that was looked at, what is wrong with it was said.
 */
static int say_no_first(const struct replay_front *f, size_t rank)
{
	char *number = word_of(f, rank, "init"), *refused = replay_log_refusal(f, rank);
	bool said = number && !refused;

	free(number);
	free(refused);
	return said ? RP_EXIT_BAD_INPUT : say_none(f, rank);
}

/* To read all pages of an image takes its time: so as many ranks at once as there are processors.
 */
struct choice {
	struct replay_front *f;
	struct replay_from *from;
	const bool *chosen;
	size_t next; /* rank */
};

static void *choose_next(void *choice)
{
	struct choice *c = choice;
	size_t i;

	while ((i = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED)) < c->f->ranks) {
		if (c->chosen[i])
			c->f->image[i] = choose_image(c->f, c->from, i, 0);
	}
	return NULL;
}

static void choose_each(struct replay_front *f, struct replay_from *from, const bool chosen[])
{
	struct choice choice = {f, from, chosen, 0};
	size_t n = 0, wanted = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t *other;

	wanted = wanted < f->ranks ? wanted : f->ranks;
	other = rp_alloc(wanted, sizeof(*other));
	while (n + 1 < wanted && pthread_create(&other[n], NULL, choose_next, &choice) == 0)
		n++;
	choose_next(&choice);
	while (n)
		pthread_join(other[--n], NULL);
	free(other);
}

/* All of those that are wanted, or none. */
static int choose_images(struct replay_front *f, struct replay_from *from, const bool chosen[],
			 bool all)
{
	char *why, *words;

	f->alone = true;
	f->image = rp_alloc(f->ranks, sizeof(*f->image));
	choose_each(f, from, chosen);
	for (size_t i = 0; i < f->ranks; i++) {
		if (!chosen[i] || f->image[i])
			continue;
		if (from->refused)
			return RP_EXIT_BAD_INPUT;
		if (!from->position)
			return say_no_first(f, i);
		if (!all)
			return say_none(f, i);
		why = reason_of(f, i);
		words = rp_format(" (rank %u: %s)", f->run->rank[i].rank, why);
		begin_at_start(f, from->position, words);
		free(words);
		free(why);
		return 0;
	}
	return 0;
}

/* Of ranks that are restarted together, each may have to begin earlier for the others. */
struct line {
	struct replay_front *f;
	struct replay_from *from;
};

static uint32_t number_of(const char *image)
{
	return image ? (uint32_t)strtoul(strrchr(image, '/') + 1, NULL, 10) : 0;
}

static uint32_t go_back(void *context, size_t rank, uint32_t most)
{
	const struct line *line = context;
	struct replay_front *f = line->f;

	free(f->image[rank]);
	f->image[rank] = most ? choose_image(f, line->from, rank, most) : NULL;
	return number_of(f->image[rank]);
}

static int keep_to_line(struct replay_front *f, struct replay_from *from, bool all,
			const struct replay_live *live)
{
	uint32_t *number = rp_alloc(f->ranks, sizeof(*number));
	struct line line = {f, from};
	int code = 0;

	for (size_t i = 0; i < f->ranks; i++)
		number[i] = number_of(f->image[i]);
	f->live = replay_live_settle(live, f->ranks, number, go_back, &line);
	if (from->refused || (!f->live && !all))
		code = RP_EXIT_BAD_INPUT;
	if (!f->live && !all && !from->refused)
		rp_say("there are no images from which these ranks could go on together; 'reprise "
		       "checkpoint --again' takes them anew");
	else if (!f->live && !from->refused)
		code = begin_at_start(f, from->position ? from->position : "there",
				      " from which all ranks could go on");
	free(number);
	return code;
}

static int read_ranks(const struct replay_front *f, const struct replay_from *from, bool chosen[],
		      bool *all)
{
	const char *text = from->only ? from->only : from->ranks;
	int code = 0;

	*all = true;
	if (text && from->only && strspn(text, "0123456789") != strlen(text)) {
		rp_say("'%s' is no rank", text);
		return RP_EXIT_BAD_INPUT;
	}
	if (text)
		code = replay_ranks_read(f->run, text, chosen);
	for (size_t i = 0; i < f->ranks && !code; i++) {
		if (!text)
			chosen[i] = true;
		*all = *all && chosen[i];
	}
	return code;
}

static int choose_mpi(struct replay_front *f, struct replay_from *from)
{
	bool *chosen = rp_alloc(f->ranks, sizeof(*chosen)), all;
	struct replay_live live = {0};
	int code = read_ranks(f, from, chosen, &all);

	if (!code && f->command) {
		rp_say("--from and --only take no command: they start ranks without a launcher");
		code = RP_EXIT_BAD_INPUT;
	}
	if (!code && from->position)
		code = replay_halt_read(&from->halt, from->position);
	else
		from->halt.kind = REPLAY_TO_END;
	if (!code && from->position)
		code = replay_halt_plan(&from->halt, f->run);
	if (!code)
		code = make_checkpoints(f, !from->position);
	if (!code)
		code = replay_from_look_at_log(f, chosen, &live);
	if (!code)
		code = choose_images(f, from, chosen, all);
	if (!code && f->image && live.all.messages)
		code = keep_to_line(f, from, all, &live);
	if (!code && from->stop)
		f->halt = &from->halt;
	replay_live_free(&live);
	free(chosen);
	return code;
}

int replay_from_alone(struct replay_front *f, size_t rank)
{
	struct replay_from from = {.halt.kind = REPLAY_TO_END};
	bool *chosen = rp_alloc(f->ranks, sizeof(*chosen));
	struct replay_live live = {0};
	int code = make_checkpoints(f, true);

	chosen[rank] = true;
	if (!code)
		code = replay_from_look_at_log(f, chosen, &live);
	if (!code && live.all.messages > live.logged.messages) {
		rp_say("the log of %s does not have all messages; 'reprise checkpoint --log=all' "
		       "logs everything",
		       f->run->dir.show);
		code = RP_EXIT_BAD_INPUT;
	}
	replay_live_free(&live);
	if (!code)
		code = replay_log_check_end(f, rank, NULL);
	if (!code)
		code = choose_images(f, &from, chosen, false);
	free(chosen);
	return code;
}

int replay_from_choose(struct replay_front *f, struct replay_from *from)
{
	int code;

	if (from->stop && !from->position) {
		rp_say("--stop needs --from, which says where");
		return RP_EXIT_BAD_INPUT;
	}
	if (from->only && from->ranks) {
		rp_say("--only is one rank, --ranks are several: give one of the two");
		return RP_EXIT_BAD_INPUT;
	}
	code = replay_from_is_mpi(f->run) ? choose_mpi(f, from) : choose_plain(f, from);
	if (!code && f->image && faccessat(f->run->dir.fd, REPLAY_CHECKPOINT_CHANGED, F_OK, 0) == 0)
		rp_say("a file that the program reads had changed when the checkpoints were made; "
		       "'reprise checkpoint --again' makes them anew");
	return code;
}

bool replay_from_otherwise(struct replay_front *f, const struct replay_from *from)
{
	if (f->unserved != RP_EXIT_BAD_INPUT || (f->halt && f->halt->arrived))
		return false;
	for (size_t i = 0; i < f->ranks; i++) {
		if (from->position && f->image[i])
			continue;
		rp_say("only all ranks together can be replayed without that log: 'reprise replay' "
		       "does so, from the start");
		return false;
	}
	rp_say("%s is reached without that log: the replay begins at the start", from->position);
	go_to_start(f);
	f->unserved = 0;
	return true;
}
