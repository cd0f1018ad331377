/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which messages are sent again. An image is taken between two calls, or inside of one that has not
 * been answered yet: its place is that call, and what is sent or received by it is logged. Nor does
 * a rank that was restored look once more at the record that it had read ahead.
 */
#include "replay/prune.h"

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
#include "graph/logging.h"
#include "graph/quiet.h"
#include "replay/evaluate.h"
#include "replay/live.h"
#include "replay/log.h"
#include "replay/pass.h"
#include "replay/prune-inner.h"

#define PERIODS 2      /* in an interval: so far a checkpoint may be moved to where it is quiet */
#define PLACE_BYTES 22 /* of a line, at most */

static int say_whole(unsigned rank, const char *why)
{
	rp_say("rank %u %s: all that ranks receive stays in the log, as with --log=all", rank, why);
	return 0;
}

/* Events that send two messages to one rank: which of them is meant could not be told. */
struct scan {
	uint64_t number;
	int32_t *peer;
	size_t peers;
};

static void see_send(struct prune_rank *r, struct scan *s, const struct trace_event *e)
{
	bool twice = false;

	if (s->number != e->number)
		s->peers = 0;
	s->number = e->number;
	for (size_t i = 0; i < s->peers; i++)
		twice = twice || s->peer[i] == e->peer;
	s->peer = rp_realloc(s->peer, s->peers + 1, sizeof(*s->peer));
	s->peer[s->peers++] = e->peer;
	if (!twice || (r->twices && r->twice[r->twices - 1] == e->number))
		return;
	r->twice = rp_realloc(r->twice, r->twices + 1, sizeof(*r->twice));
	r->twice[r->twices++] = e->number;
}

static bool is_in(const struct replay_prune *p, unsigned rank)
{
	return !p->group || p->group[rank];
}

/* By number of the checkpoints: the event before which it is. Who is not restarted has the first.
 */
static int scan_rank(struct replay_prune *p, const struct graph_ckpts *ckpts, unsigned rank)
{
	struct prune_rank *r = &p->rank[rank];
	const struct trace_event *e;
	struct scan s = {0};
	uint32_t thread, index = 0, next = 0;
	uint32_t last = is_in(p, rank) ? graph_ckpts_last(ckpts, rank) : 0;
	int rc;

	r->targets = last + 1;
	r->target = rp_alloc(r->targets, sizeof(*r->target));
	while ((rc = p->source.next(p->source.context, rank, &e, &thread)) == 1) {
		for (; next <= last && graph_ckpts_count(ckpts, rank, next) == index; next++)
			r->target[next] = e->number;
		index++;
		r->last = e->number;
		if (e->kind == TRACE_EVENT_SEND && e->peer >= 0)
			see_send(r, &s, e);
	}
	for (; next <= last; next++)
		r->target[next] = UINT64_MAX;
	free(s.peer);
	return rc;
}

/* A replay takes two intervals at most: so none is to be longer than it was asked for. */
static int find_targets(struct replay_prune *p, uint64_t interval)
{
	struct graph_ckpts *placed, *moved;
	struct graph_quiet quiet;
	uint64_t period = interval / PERIODS;
	int rc = graph_ckpts_place(&p->source, period, &placed);

	if (rc)
		return rc;
	rc = graph_ckpts_move(&p->source, placed, period / 2, interval, &moved, &quiet);
	graph_ckpts_free(placed);
	if (rc)
		return rc;
	p->source.rewind(p->source.context);
	for (unsigned q = 0; q < p->source.ranks && !rc; q++)
		rc = scan_rank(p, moved, q);
	graph_ckpts_free(moved);
	return rc;
}

int replay_prune_open(const struct replay_front *f, struct replay_prune **prune)
{
	const struct trace_run *run = f->run;
	struct replay_prune *p;
	int code = replay_evaluate(run->dir.path, NULL);

	*prune = NULL;
	if (code)
		return code;
	p = rp_alloc(1, sizeof(*p));
	code = graph_source_open(&p->source, &run->dir);
	if (code) {
		free(p);
		return code;
	}
	p->run = run;
	p->group = f->group;
	p->rank = rp_alloc(p->source.ranks, sizeof(*p->rank));
	*prune = p;
	for (unsigned q = 0; q < p->source.ranks; q++) {
		if (!is_in(p, q) || (graph_source_threads(&p->source, q) == 1 &&
				     graph_source_process(&p->source, q, 0) == 0 &&
				     strcmp(p->source.thread(p->source.context, q, 0), "0") == 0))
			continue;
		replay_prune_close(p);
		*prune = NULL;
		return say_whole(q, "does not call MPI by one thread, its first");
	}
	if (find_targets(p, (uint64_t)(f->every * 1e9)) == 0)
		return 0;
	replay_prune_close(p);
	*prune = NULL;
	return RP_EXIT_BAD_INPUT;
}

void replay_prune_close(struct replay_prune *p)
{
	for (unsigned q = 0; q < p->source.ranks; q++) {
		free(p->rank[q].target);
		free(p->rank[q].twice);
		free(p->rank[q].place);
		free(p->rank[q].message);
	}
	free(p->rank);
	replay_live_free(&p->live);
	graph_source_close(&p->source);
	free(p);
}

int replay_prune_place(const struct replay_prune *p, const struct replay_front *f)
{
	int rc = 0;

	for (size_t i = 0; i < f->ranks && !rc; i++) {
		const struct prune_rank *r = &p->rank[i];
		char *path, *text;
		size_t n = 0;

		if (!is_in(p, (unsigned)i))
			continue;
		path = rp_format("ckpt/rank-%04u/at", f->run->rank[i].rank);
		text = rp_alloc(r->targets, PLACE_BYTES);
		for (uint32_t k = 1; k < r->targets; k++) {
			if (r->target[k] != UINT64_MAX && r->target[k] != r->target[k - 1])
				n += (size_t)snprintf(text + n, PLACE_BYTES, "%" PRIu64 "\n",
						      r->target[k]);
		}
		rc = replay_pass_write(f->session_fd, path, text);
		free(text);
		free(path);
	}
	return rc;
}

/* The images of a rank in the trace; false: not even the first one is there. */
static bool find_places(struct replay_prune *p, unsigned rank)
{
	struct prune_rank *r = &p->rank[rank];
	char *dir;
	size_t n;
	uint32_t *list;

	if (!is_in(p, rank)) {
		r->place = rp_alloc(1, sizeof(*r->place)); /* its start */
		r->places = 1;
		return true;
	}
	dir = rp_format("%s/ckpt/rank-%04u", p->run->dir.path, p->run->rank[rank].rank);
	list = ckpt_image_list(dir, &n);
	r->place = rp_alloc(n + 1, sizeof(*r->place));
	for (size_t i = 0; i < n; i++) {
		char *path = ckpt_image_path(dir, list[i]);
		struct ckpt_image image;

		ckpt_image_open(&image, path);
		if (!image.damage)
			r->place[r->places++] =
				(struct prune_place){image.head->event - 1, list[i]};
		ckpt_image_close(&image);
		free(path);
	}
	free(list);
	free(dir);
	return r->places > 0 && r->place[0].event <= 1;
}

/* The image that stands for a checkpoint: the last one before the next checkpoint. */
static size_t image_for(const struct prune_rank *r, uint32_t number)
{
	size_t found = 0;

	for (size_t i = 1; i < r->places; i++) {
		if (number + 1 >= r->targets || r->place[i].event < r->target[number + 1])
			found = i;
	}
	return number ? found : 0;
}

/* Where the images are in the graph. */
static int measure_places(struct replay_prune *p, unsigned rank, struct graph_ckpt *ckpt,
			  uint64_t *end)
{
	const struct prune_rank *r = &p->rank[rank];
	struct graph_ckpt *at = rp_alloc(r->places, sizeof(*at));
	const struct trace_event *e;
	uint32_t thread, index = 0;
	uint64_t time = 0;
	size_t next = 0;
	int rc;

	while ((rc = p->source.next(p->source.context, rank, &e, &thread)) == 1) {
		for (; next < r->places && r->place[next].event <= e->number; next++)
			at[next] = (struct graph_ckpt){.time = time, .count = index};
		index++;
		time = e->time > time ? e->time : time;
	}
	for (; next < r->places; next++)
		at[next] = (struct graph_ckpt){.time = time, .count = index};
	at[0] = (struct graph_ckpt){0};
	for (uint32_t k = 0; k < r->targets; k++)
		ckpt[k] = at[image_for(r, k)];
	*end = time;
	free(at);
	return rc;
}

static int make_ckpts(struct replay_prune *p, struct graph_ckpts **ckpts)
{
	unsigned n = p->source.ranks;
	struct graph_ckpt **ckpt = rp_alloc(n, sizeof(*ckpt));
	uint32_t *last = rp_alloc(n, sizeof(*last));
	uint64_t *end = rp_alloc(n, sizeof(*end));
	int rc = 0;

	p->source.rewind(p->source.context);
	for (unsigned q = 0; q < n && !rc; q++) {
		ckpt[q] = rp_alloc(p->rank[q].targets, sizeof(**ckpt));
		last[q] = p->rank[q].targets - 1;
		rc = measure_places(p, q, ckpt[q], &end[q]);
	}
	if (!rc)
		*ckpts = graph_ckpts_make(n, ckpt, last, end);
	for (unsigned q = 0; q < n; q++)
		free(ckpt[q]);
	free(ckpt);
	free(last);
	free(end);
	return rc;
}

/* The last image behind which the event is; false: none, or the event is where an image is. */
static bool is_behind(const struct prune_rank *r, uint64_t event, uint32_t *image)
{
	size_t low = 0, high = r->places;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->place[middle].event <= event)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || r->place[low - 1].event == event)
		return false;
	*image = r->place[low - 1].image;
	return true;
}

static bool sends_once(const struct prune_rank *r, uint64_t event)
{
	size_t low = 0, high = r->twices;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->twice[middle] < event)
			low = middle + 1;
		else
			high = middle;
	}
	return low == r->twices || r->twice[low] != event;
}

/* A rank that died inside of its last call does not make it again. */
static void see_message(void *context, const struct graph_event *event,
			const struct graph_receive *receive, const struct graph_transfer *transfer,
			enum graph_logging_rule rule)
{
	struct replay_prune *p = context;
	struct prune_rank *r = &p->rank[transfer->receiver];
	const struct prune_rank *sender = &p->rank[transfer->sender];
	struct prune_message m = {
		.event = event->event->number,
		.send = transfer->sending,
		.bytes = transfer->bytes,
		.sender = transfer->sender,
		.tag = receive->tag,
	};

	m.live = rule == GRAPH_LOGGED_NOT && is_in(p, transfer->sender) && m.send < sender->last &&
		 sends_once(sender, m.send) && is_behind(sender, m.send, &m.sending) &&
		 is_behind(r, m.event, &m.receiving);
	if (r->messages == r->room) {
		r->room = r->room ? 2 * r->room : 1024;
		r->message = rp_realloc(r->message, r->room, sizeof(m));
	}
	r->message[r->messages++] = m;
}

static int judge(struct replay_prune *p)
{
	struct graph_intervals *intervals = NULL;
	struct graph_logging *logging;
	struct graph_ckpts *ckpts = NULL;
	int rc = make_ckpts(p, &ckpts);

	if (rc)
		return rc;
	rc = graph_intervals_make(&p->source, ckpts, &intervals);
	if (!rc) {
		logging = graph_logging_make(intervals, GRAPH_LOGGING_MRT_SHARED);
		rc = graph_logging_each(&p->source, logging, see_message, p);
		graph_logging_free(logging);
		graph_intervals_free(intervals);
	}
	graph_ckpts_free(ckpts);
	return rc;
}

/* The rest is what it was. */
static int copy_word(int from, int to, const char *name)
{
	char *text = replay_pass_read(from, name);
	int rc = text ? replay_pass_write(to, name, text) : -ENOENT;

	free(text);
	return rc;
}

static int write_all(struct replay_prune *p, const struct replay_front *f)
{
	int logfd = -1, oldfd, rc = replay_pass_directories(f, "pruned", f->group);

	for (size_t i = 0; i < f->ranks && !rc; i++) {
		if (is_in(p, (unsigned)i))
			rc = prune_write_rank(p, f, i);
	}
	if (!rc)
		logfd = openat(f->session_fd, "pruned", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	oldfd = openat(f->run->dir.fd, "log", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!rc)
		rc = logfd < 0 || oldfd < 0 ? -errno : copy_word(oldfd, logfd, "made");
	if (!rc)
		rc = replay_live_write(logfd, &p->live);
	if (logfd >= 0)
		close(logfd);
	if (oldfd >= 0)
		close(oldfd);
	if (!rc && renameat(f->session_fd, "log", f->session_fd, "served") != 0)
		rc = -errno;
	if (!rc && renameat(f->session_fd, "pruned", f->session_fd, "log") != 0)
		rc = -errno;
	return rc ? rc : replay_pass_publish(f, "log");
}

int replay_prune_log(struct replay_prune *p, const struct replay_front *f)
{
	int rc;

	for (unsigned q = 0; q < p->source.ranks; q++) {
		if (!find_places(p, q))
			return say_whole(q, "has no image where MPI_Init returned");
	}
	rc = judge(p);
	if (rc)
		return RP_EXIT_BAD_INPUT;
	rc = write_all(p, f);
	return rc ? replay_pass_cannot(f, rc) : 0;
}
