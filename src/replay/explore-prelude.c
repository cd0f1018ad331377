/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A prelude is written by copying records: those of events before the cut, and failed polls before
 * it. The fate of a posted receive counts where it became known; one that was written when it was
 * posted (the run had a prelude itself) and again later counts where it was written last. Input
 * streams are taken whole, by a link: the hook knows by its events where the cut is.
 */
#include "replay/explore-prelude.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/varint.h"
#include "trace/order.h"

#define PRELUDE "prelude"

/* One record with the event it belongs to and, for a POST, its number. */
struct item {
	struct trace_rec rec;
	uint64_t event, post;
};

struct source {
	struct trace_view view;
	struct trace_order_reader reader;
	uint64_t next_post;
	uint64_t taken; /* records, of all readings */
};

static int source_open(struct source *s, int rankfd, const char *name)
{
	const char *why;
	int rc = trace_view_open(&s->view, rankfd, name, &why);

	if (rc)
		return rc;
	trace_order_reader_init(&s->reader, &s->view);
	s->next_post = 0;
	s->taken = 0;
	return 0;
}

static int source_next(struct source *s, struct item *item)
{
	int rc = trace_order_next_counted(&s->reader, &s->taken, &item->rec);

	item->event = trace_order_event(&s->reader);
	if (rc == 1 && item->rec.kind == TRACE_POST) {
		item->post = s->next_post + (uint64_t)rp_unzigzag(item->rec.b);
		s->next_post = item->post + 1;
	}
	return rc;
}

static bool is_stream(const struct trace_run_stream *s, const struct replay_position *at)
{
	return s->process == at->process && strcmp(s->thread, at->thread) == 0;
}

static bool is_outcome(uint32_t kind)
{
	return kind == TRACE_SRC || kind == TRACE_LOOK || kind == TRACE_HIT ||
	       kind == TRACE_INDEX || kind == TRACE_SOME;
}

static int64_t value_of(const struct trace_rec *rec)
{
	switch (rec->kind) {
	case TRACE_SRC:
	case TRACE_LOOK:
		return rec->a > INT32_MAX ? -1 : (int64_t)rec->a;
	case TRACE_POST:
		return (int64_t)rec->a - TRACE_POST_SOURCE < 0
			       ? -1
			       : (int64_t)rec->a - TRACE_POST_SOURCE;
	default:
		return (int64_t)rec->a - 1;
	}
}

/* Of a set of indices the first stands for all. */
static bool find_in(struct source *s, const struct replay_force *force, struct replay_outcome *out)
{
	bool found = false;
	struct item item;

	while (source_next(s, &item) == 1) {
		if (force->is_post && item.rec.kind == TRACE_POST && item.post == force->post) {
			*out = (struct replay_outcome){TRACE_POST, value_of(&item.rec)};
			found = true;
		} else if (!force->is_post && item.event == force->at.event &&
			   is_outcome(item.rec.kind)) {
			if (found && out->kind == TRACE_SOME)
				out->value = value_of(&item.rec);
			else
				*out = (struct replay_outcome){item.rec.kind, value_of(&item.rec)};
			if (found || item.rec.kind != TRACE_SOME)
				return true;
			found = true;
		}
	}
	return found;
}

static int open_rank(const struct trace_run *run, unsigned rank)
{
	char name[TRACE_RANK_NAME_BYTES];
	int fd;

	trace_dir_rank_name(rank, name);
	fd = openat(run->dir.fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int replay_outcome_find(const struct trace_run *run, const struct replay_force *force,
			struct replay_outcome *outcome)
{
	const struct trace_run_rank *rank;
	struct source *s;
	bool there = false, found = false;
	int rankfd;

	if (force->at.rank >= run->ranks)
		return -ENOENT;
	rank = &run->rank[force->at.rank];
	rankfd = open_rank(run, rank->rank);
	if (rankfd < 0)
		return rankfd;
	s = rp_alloc(1, sizeof(*s));
	for (size_t i = 0; i < rank->streams && !found; i++) {
		const struct trace_run_stream *stream = &rank->stream[i];
		bool mine = is_stream(stream, &force->at);

		if (stream->kind != TRACE_STREAM_ORDER || stream->process != force->at.process ||
		    (!mine && !force->is_post) || source_open(s, rankfd, stream->name))
			continue;
		there = there || (mine && force->at.event <= s->view.events);
		found = find_in(s, force, outcome);
		trace_view_close(&s->view);
	}
	free(s);
	close(rankfd);
	if (!there || !force->at.event)
		return -ENOENT;
	if (found && outcome->kind == TRACE_HIT && outcome->value < 0)
		found = false;
	return found ? 0 : force->is_post ? -ENOENT : -EINVAL;
}

/* How many events of the stream come before the cut; *inside if the last of them is cut. */
static uint64_t limit_of(const struct trace_run_rank *rank, const struct trace_run_stream *s,
			 const struct replay_cut *cut, bool *inside)
{
	uint64_t limit = s->inside && s->events ? s->events - 1 : s->events;

	for (size_t i = 0; i < cut->n; i++) {
		const struct replay_position *at = &cut->at[i];

		if (at->rank != rank->rank || !is_stream(s, at) || at->event > limit)
			continue;
		*inside = at->inside;
		limit = at->inside ? at->event : at->event - 1;
	}
	return limit;
}

static int put(struct trace_order_writer *w, uint64_t event, const struct trace_rec *rec)
{
	w->events = rec->kind == TRACE_FAIL ? w->last_event : event;
	return trace_order_put(w, rec->kind, rec->a, rec->b);
}

/* The outcome in the place of the recorded one. */
static int put_forced(struct trace_order_writer *w, uint64_t event, uint32_t kind,
		      const struct replay_force *force)
{
	struct trace_rec rec = {.kind = kind, .a = force->value};
	int rc = 0;

	if (kind == TRACE_SOME) {
		rec.a = 2;
		rc = put(w, event, &rec);
		rec = (struct trace_rec){.kind = TRACE_INDEX};
	}
	if (rec.kind == TRACE_HIT || rec.kind == TRACE_INDEX)
		rec.a = (uint64_t)force->value + 1;
	if (rec.kind == TRACE_INDEX && force->by_receive)
		rec = (struct trace_rec){.kind = TRACE_INDEX, .a = 1, .b = force->receive + 1};
	return rc ? rc : put(w, event, &rec);
}

struct copy {
	struct trace_order_writer w;
	struct source s;
	const struct replay_force *force;
	bool forced;        /* the event at the limit is the forced one */
	bool is_forced;     /* the force is on this process */
	bool drops_post;    /* the forced post is one of this process … */
	bool puts_post;     /* … and this is the stream it goes to */
	uint64_t limit;     /* events */
	bool inside;        /* the last of them only begins: it has no outcome */
	uint64_t next_post; /* as the writer numbers them */
	uint64_t *late;     /* posts whose fate is written after the limit, sorted */
	size_t lates;
};

static int compare_posts(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool is_late(const struct copy *c, uint64_t post)
{
	return c->lates && bsearch(&post, c->late, c->lates, sizeof(post), compare_posts);
}

static void find_lates(struct copy *c)
{
	struct item item;
	size_t room = 0;

	while (source_next(&c->s, &item) == 1) {
		if (item.rec.kind != TRACE_POST || item.event <= c->limit)
			continue;
		if (c->lates == room) {
			room = room ? 2 * room : 1024;
			c->late = rp_realloc(c->late, room, sizeof(*c->late));
		}
		c->late[c->lates++] = item.post;
	}
	if (c->lates)
		qsort(c->late, c->lates, sizeof(*c->late), compare_posts);
	trace_order_reader_init(&c->s.reader, &c->s.view);
	c->s.next_post = 0;
}

static int put_post(struct copy *c, uint64_t event, uint64_t post, uint64_t code)
{
	struct trace_rec rec = {
		.kind = TRACE_POST, .a = code, .b = rp_zigzag((int64_t)(post - c->next_post))};

	c->next_post = post + 1;
	return put(&c->w, event, &rec);
}

static bool is_at_force(const struct copy *c, const struct item *item)
{
	return c->forced && item->event == c->limit;
}

static int copy_item(struct copy *c, const struct item *item, bool *done)
{
	uint32_t kind = item->rec.kind;

	if (kind == TRACE_END || kind == TRACE_STOP || kind == TRACE_GOT)
		return 0;
	if (c->inside && item->event == c->limit && kind != TRACE_TURN && kind != TRACE_CHECK)
		return 0;
	if (is_at_force(c, item) && is_outcome(kind)) {
		*done = true;
		return put_forced(&c->w, item->event, kind, c->force);
	}
	if (kind != TRACE_POST)
		return put(&c->w, item->event, &item->rec);
	if ((c->drops_post && item->post == c->force->post) || is_late(c, item->post))
		return 0;
	return put_post(c, item->event, item->post, item->rec.a);
}

static bool is_kept(const struct copy *c, uint64_t post)
{
	return c->is_forced && c->force->keeps &&
	       bsearch(&post, c->force->kept, c->force->keeps, sizeof(post), compare_posts);
}

/* From past the cut: fates that are decided by what is forced. */
static int copy_kept(struct copy *c, struct item *item, int rc)
{
	for (; rc == 1; rc = source_next(&c->s, item)) {
		if (item->rec.kind != TRACE_POST || !is_kept(c, item->post))
			continue;
		rc = put_post(c, c->limit, item->post, item->rec.a);
		if (rc)
			return rc;
	}
	return rc;
}

static int copy_records(struct copy *c)
{
	struct item item;
	bool done = false;
	int rc;

	find_lates(c);
	while (!done && (rc = source_next(&c->s, &item)) == 1) {
		if (item.event > c->limit)
			break;
		rc = copy_item(c, &item, &done);
		if (rc)
			return rc;
	}
	rc = copy_kept(c, &item, done ? source_next(&c->s, &item) : rc);
	if (!rc && c->puts_post)
		return put_post(c, c->limit, c->force->post,
				TRACE_POST_SOURCE + (uint64_t)c->force->value);
	return rc < 0 ? rc : 0;
}

/* The forced thread goes up to the forced event, whatever the cut says. */
static void force_here(struct copy *c, const struct trace_run_stream *stream)
{
	const struct replay_force *force = c->force;
	bool is_its_stream = is_stream(stream, &force->at);

	c->is_forced = force->at.process == stream->process;
	c->forced = is_its_stream && !force->is_post;
	c->drops_post = force->is_post && force->at.process == stream->process;
	c->puts_post = force->is_post && is_its_stream;
	if (!is_its_stream)
		return;
	c->inside = false;
	c->limit = force->is_post ? force->at.event - 1 : force->at.event;
}

static int copy_order(const struct trace_run_rank *rank, const struct trace_run_stream *stream,
		      int from, int to, const struct replay_cut *cut,
		      const struct replay_force *force)
{
	struct copy *c = rp_alloc(1, sizeof(*c));
	int rc = source_open(&c->s, from, stream->name);

	if (rc)
		goto free_copy;
	c->force = force;
	c->limit = limit_of(rank, stream, cut, &c->inside);
	if (force && force->at.rank == rank->rank)
		force_here(c, stream);
	rc = trace_stream_create(&c->w.stream, to, stream->name, TRACE_STREAM_ORDER, rank->rank,
				 stream->process, stream->thread);
	if (rc)
		goto close_view;
	rc = copy_records(c);
	trace_stream_set_events(&c->w.stream, c->limit, c->inside);
	trace_stream_close(&c->w.stream);
close_view:
	trace_view_close(&c->s.view);
free_copy:
	free(c->late);
	free(c);
	return rc;
}

static int link_input(const struct trace_run *run, const char *rank, const char *stream, int to)
{
	char *target = rp_format("%s/%s/%s", run->dir.path, rank, stream);
	int rc = symlinkat(target, to, stream) == 0 ? 0 : -errno;

	free(target);
	return rc;
}

static int write_rank(const struct trace_run *run, const struct trace_run_rank *rank, int preludefd,
		      const struct replay_cut *cut, const struct replay_force *force)
{
	char name[TRACE_RANK_NAME_BYTES];
	int from = open_rank(run, rank->rank), to, rc = 0;

	if (from < 0)
		return from;
	trace_dir_rank_name(rank->rank, name);
	if (mkdirat(preludefd, name, 0700) != 0) {
		rc = -errno;
		close(from);
		return rc;
	}
	to = openat(preludefd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = to < 0 ? -errno : 0;
	for (size_t i = 0; i < rank->streams && !rc; i++) {
		const struct trace_run_stream *s = &rank->stream[i];

		if (s->kind == TRACE_STREAM_ORDER)
			rc = copy_order(rank, s, from, to, cut, force);
		else if (s->is_file &&
			 (s->kind == TRACE_STREAM_INPUT || s->kind == TRACE_STREAM_THREADS ||
			  s->kind == TRACE_STREAM_LIVE))
			rc = link_input(run, name, s->name, to);
	}
	if (to >= 0)
		close(to);
	close(from);
	return rc;
}

int replay_explore_prelude_write(const struct trace_run *run, const struct trace_dir *dir,
				 const struct replay_cut *cut, const struct replay_force *force)
{
	int fd, rc;

	if (mkdirat(dir->fd, PRELUDE, 0700) != 0)
		return -errno;
	fd = openat(dir->fd, PRELUDE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = fd < 0 ? -errno : 0;
	for (size_t i = 0; i < run->ranks && !rc; i++)
		rc = write_rank(run, &run->rank[i], fd, cut, force);
	if (fd >= 0)
		close(fd);
	return rc;
}

void replay_explore_prelude_remove(const struct trace_dir *dir)
{
	struct trace_dir prelude = {.path = rp_format("%s/" PRELUDE, dir->path)};
	int rc;

	prelude.fd = open(prelude.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (prelude.fd >= 0) {
		rc = trace_dir_remove(&prelude);
		(void)rc;
		close(prelude.fd);
	}
	free(prelude.path);
}
