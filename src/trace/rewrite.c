/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that are kept stay at their events; failed polls, which have none, stay between the same
 * records. Numbers of posted wildcards are written as distances, so they are counted anew. If
 * outcomes are added that the old stream does not have, the caller gives them and the failed polls,
 * with their events; the rest is taken from the old stream.
 */
#include "trace/rewrite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/varint.h"
#include "trace/files.h"
#include "trace/written.h"

static int copy_bytes(int in, int out)
{
	char bytes[65536];
	ssize_t n;

	while ((n = read(in, bytes, sizeof(bytes))) > 0) {
		for (ssize_t done = 0, m; done < n; done += m) {
			m = write(out, bytes + done, (size_t)(n - done));
			if (m <= 0)
				return m ? -errno : -ENOSPC;
		}
	}
	return n ? -errno : 0;
}

static int copy_file(int from, int to, const char *name)
{
	int in = rp_fd_open_file(from, name);
	int out = in < 0 ? -1 : openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc = in < 0 || out < 0 ? -errno : copy_bytes(in, out);

	if (out >= 0 && close(out) && !rc)
		rc = -errno;
	if (in >= 0)
		close(in);
	return rc;
}

/*
 * Copies of input files may be large. If possible, the new trace links to them instead of copying.
 */
static int copy_inputs(int from, int to)
{
	int in = openat(from, TRACE_FILE_COPIES, O_RDONLY | O_DIRECTORY | O_CLOEXEC), out = -1;
	DIR *entries = in < 0 ? NULL : fdopendir(in);
	struct dirent *entry;
	int rc = 0;

	if (!entries)
		return in < 0 && errno == ENOENT ? 0 : -errno;
	if (mkdirat(to, TRACE_FILE_COPIES, 0700) == 0)
		out = openat(to, TRACE_FILE_COPIES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = out < 0 ? -errno : 0;
	while (!rc && (entry = readdir(entries))) {
		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "used"))
			continue;
		if (linkat(in, entry->d_name, out, entry->d_name, 0) != 0)
			rc = copy_file(in, out, entry->d_name);
	}
	if (out >= 0)
		close(out);
	closedir(entries);
	return rc;
}

struct rewriter {
	struct trace_rewrite *how;
	unsigned rank;
	uint32_t process;
	const char *thread;
	struct trace_order_writer *w;
	uint64_t number;  /* that the next POST record of the old stream is measured from */
	uint64_t written; /* the same of the new one */
	/* where all outcomes are put in: those still to come, and failed polls */
	const struct trace_rewrite_outcome *outcome;
	size_t outcomes;
	uint64_t polls;
};

static int put_numbered(struct rewriter *r, uint64_t code, uint64_t number)
{
	uint64_t distance = number - r->written;

	r->written = number + 1;
	return trace_order_put(r->w, TRACE_POST, code, rp_zigzag((int64_t)distance));
}

static int put_post(struct rewriter *r, const struct trace_rec *rec)
{
	uint64_t number = r->number + (uint64_t)rp_unzigzag(rec->b);

	r->number = number + 1;
	if (rec->a >= TRACE_POST_SOURCE && !r->how->keeps_post(r->how->context, r->rank, number))
		return 0;
	return put_numbered(r, rec->a, number);
}

static bool keeps(const struct rewriter *r)
{
	return r->how->keeps_source(r->how->context, r->rank, r->thread, r->w->events);
}

static int put(struct rewriter *r, const struct trace_rec *rec)
{
	switch (rec->kind) {
	case TRACE_FAIL:
		return trace_order_put_polls(r->w, rec->a);
	case TRACE_POST:
		return put_post(r, rec);
	case TRACE_SRC:
	case TRACE_LOOK:
		return keeps(r) ? trace_order_put(r->w, rec->kind, rec->a, rec->b) : 0;
	case TRACE_HIT:
		return trace_order_put(r->w, rec->kind, rec->a && keeps(r) ? rec->a : 0, rec->b);
	case TRACE_WORLD:
		return trace_order_put(r->w, rec->kind, rec->a,
				       (rec->b & 255) | (uint64_t)r->how->mode << 8);
	default:
		return trace_order_put(r->w, rec->kind, rec->a, rec->b);
	}
}

static int put_all(struct rewriter *r, const struct trace_view *view)
{
	struct trace_order_reader *reader = rp_alloc(1, sizeof(*reader));
	struct trace_rec rec;
	uint64_t taken = 0;
	int rc;

	trace_order_reader_init(reader, view);
	while ((rc = trace_order_next_counted(reader, &taken, &rec)) == 1) {
		if (rec.kind != TRACE_FAIL)
			r->w->events = trace_order_event(reader);
		rc = put(r, &rec);
		if (rc)
			break;
	}
	if (!rc)
		trace_stream_set_events(&r->w->stream, view->events, view->inside);
	free(reader);
	return rc;
}

static int put_outcome(struct rewriter *r, const struct trace_rewrite_outcome *o)
{
	if (o->kind == TRACE_FAIL) {
		if (o->a > r->polls)
			return -EBADMSG;
		r->polls -= o->a;
		return trace_order_put_polls(r->w, o->a);
	}
	r->w->events = o->event;
	if (o->kind == TRACE_POST)
		return put_numbered(r, o->a, o->post);
	return trace_order_put(r->w, o->kind, o->a, 0);
}

/* The outcomes up to the event, except answers of polls: these are in the old stream, too. */
static int put_outcomes(struct rewriter *r, uint64_t event)
{
	int rc = 0;

	for (; !rc && r->outcomes && r->outcome->event <= event; r->outcomes--, r->outcome++) {
		if (r->outcome->kind != TRACE_HIT)
			rc = put_outcome(r, r->outcome);
	}
	return rc;
}

static uint64_t source_of_hit(const struct rewriter *r, const struct trace_rec *rec, uint64_t event)
{
	for (size_t i = 0; i < r->outcomes && r->outcome[i].event == event; i++) {
		if (r->outcome[i].kind == TRACE_HIT)
			return r->outcome[i].a;
	}
	return rec->a;
}

/* A receive that got nothing: that is in the old stream alone. */
static int put_fate(struct rewriter *r, const struct trace_rec *rec)
{
	uint64_t number = r->number + (uint64_t)rp_unzigzag(rec->b), post;

	r->number = number + 1;
	post = r->how->post_of(r->how->context, r->rank, r->process, number);
	if (rec->a >= TRACE_POST_SOURCE || post == UINT64_MAX)
		return 0;
	return put_numbered(r, rec->a, post);
}

/* After the last event. */
static int put_last_polls(struct rewriter *r)
{
	uint64_t polls = r->polls;

	r->polls = 0;
	return trace_order_put_polls(r->w, polls);
}

/* An outcome comes after what its event began with; failed polls come before the next event. */
static int put_whole(struct rewriter *r, const struct trace_rec *rec, uint64_t event)
{
	bool is_last = rec->kind == TRACE_END || rec->kind == TRACE_STOP;
	int rc;

	if (rec->kind == TRACE_FAIL || rec->kind == TRACE_SRC || rec->kind == TRACE_LOOK)
		return 0;
	rc = put_outcomes(r, is_last ? event : event - 1);
	if (!rc && is_last)
		rc = put_last_polls(r);
	r->w->events = event;
	if (rc)
		return rc;
	switch (rec->kind) {
	case TRACE_POST:
		return put_fate(r, rec);
	case TRACE_HIT:
		return trace_order_put(r->w, rec->kind, source_of_hit(r, rec, event), rec->b);
	default:
		return put(r, rec);
	}
}

static int count_polls(const struct trace_view *view, struct trace_order_reader *reader,
		       uint64_t *polls)
{
	struct trace_rec rec;
	uint64_t taken = 0;
	int rc;

	*polls = 0;
	trace_order_reader_init(reader, view);
	while ((rc = trace_order_next_counted(reader, &taken, &rec)) == 1)
		*polls += rec.kind == TRACE_FAIL ? rec.a : 0;
	return rc;
}

/* Every outcome of every event, into a stream that has left some out. */
static int put_all_whole(struct rewriter *r, const struct trace_view *view)
{
	struct trace_order_reader *reader = rp_alloc(1, sizeof(*reader));
	struct trace_rec rec;
	uint64_t taken = 0;
	int rc = count_polls(view, reader, &r->polls);

	r->outcome =
		r->how->outcomes(r->how->context, r->rank, r->process, r->thread, &r->outcomes);
	trace_order_reader_init(reader, view);
	while (!rc && (rc = trace_order_next_counted(reader, &taken, &rec)) == 1)
		rc = put_whole(r, &rec, trace_order_event(reader));
	if (!rc)
		rc = put_outcomes(r, UINT64_MAX);
	if (!rc)
		rc = put_last_polls(r);
	if (!rc)
		trace_stream_set_events(&r->w->stream, view->events, view->inside);
	free(reader);
	return rc;
}

static int write_order(struct trace_rewrite *how, unsigned rank, const struct trace_run_stream *s,
		       const struct trace_view *view, int to)
{
	struct rewriter r = {.how = how, .rank = rank, .process = s->process, .thread = s->thread};
	int rc;

	r.w = rp_alloc(1, sizeof(*r.w));
	rc = trace_stream_create(&r.w->stream, to, s->name, TRACE_STREAM_ORDER, rank, s->process,
				 s->thread);
	if (!rc) {
		trace_stream_set_origin(&r.w->stream, view->header);
		if (view->turns)
			trace_stream_set_turn(&r.w->stream, view->turns - 1);
		rc = how->outcomes ? put_all_whole(&r, view) : put_all(&r, view);
		how->before += view->length;
		how->after += r.w->stream.length;
		trace_stream_close(&r.w->stream);
	}
	free(r.w);
	return rc;
}

static int write_guide(struct trace_rewrite *how, unsigned rank, const struct trace_run_stream *s,
		       const struct trace_view *view, int to)
{
	struct trace_order_writer *w = rp_alloc(1, sizeof(*w));
	char *name = rp_format("%.*sguide", (int)(strlen(s->name) - strlen("order")), s->name);
	size_t count;
	const struct trace_rewrite_mark *mark = how->marks(how->context, rank, s->thread, &count);
	int rc = trace_stream_create(&w->stream, to, name, TRACE_STREAM_GUIDE, rank, s->process,
				     s->thread);

	free(name);
	if (rc)
		goto free_writer;
	trace_stream_set_origin(&w->stream, view->header);
	for (size_t i = 0; i < count && !rc; i++) {
		w->events = mark[i].event;
		rc = trace_order_put(w, mark[i].kind, mark[i].a, mark[i].b);
	}
	how->after += w->stream.length;
	trace_stream_close(&w->stream);
free_writer:
	free(w);
	return rc;
}

static int rewrite_stream(struct trace_rewrite *how, unsigned rank,
			  const struct trace_run_stream *s, int from, int to)
{
	struct trace_view view;
	const char *why;
	int rc;

	/* It belongs to the old order stream, or goes along with the file that it is in. */
	if (s->kind == TRACE_STREAM_GUIDE || !s->is_file)
		return 0;
	if (s->kind != TRACE_STREAM_ORDER || (s->process != 0 && !how->outcomes))
		return copy_file(from, to, s->name);
	rc = trace_view_open(&view, from, s->name, &why);
	if (rc)
		return rc;
	rc = write_order(how, rank, s, &view, to);
	if (!rc && how->mode == TRACE_MODE_GUIDED)
		rc = write_guide(how, rank, s, &view, to);
	trace_view_close(&view);
	return rc;
}

static int rewrite_rank(const struct trace_run *from, const struct trace_run_rank *rank,
			const struct trace_dir *to, struct trace_rewrite *how)
{
	char name[TRACE_RANK_NAME_BYTES];
	int in, out, rc;

	trace_dir_rank_name(rank->rank, name);
	in = openat(from->dir.fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (in < 0)
		return -errno;
	out = trace_dir_claim_rank(to, rank->rank);
	rc = out < 0 ? out : copy_file(in, out, "start.json");
	if (!rc && rank->unseens)
		rc = copy_file(in, out, TRACE_UNSEEN_NAME);
	for (size_t i = 0; i < rank->streams && !rc; i++)
		rc = rewrite_stream(how, rank->rank, &rank->stream[i], in, out);
	if (out >= 0)
		close(out);
	close(in);
	return rc;
}

int trace_rewrite(const struct trace_run *from, const struct trace_dir *to,
		  struct trace_rewrite *how)
{
	int rc = copy_file(from->dir.fd, to->fd, "meta.json");

	how->before = how->after = 0;
	if (!rc && faccessat(from->dir.fd, "job", F_OK, 0) == 0)
		rc = copy_file(from->dir.fd, to->fd, "job");
	if (!rc)
		rc = copy_inputs(from->dir.fd, to->fd);
	if (!rc && faccessat(from->dir.fd, TRACE_WRITTEN, F_OK, 0) == 0)
		rc = copy_file(from->dir.fd, to->fd, TRACE_WRITTEN);
	for (size_t i = 0; i < from->ranks && !rc; i++)
		rc = rewrite_rank(from, &from->rank[i], to, how);
	if (rc)
		rp_say("cannot write the trace %s: %s", to->show, strerror(-rc));
	return rc ? RP_EXIT_FAILURE : 0;
}
