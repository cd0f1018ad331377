/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums up a trace, one stream open at a time. What cannot be read is noted and skipped, so that one
 * bad file does not hide another. Invariant: sums count only streams that were read to their end.
 */
#include "trace/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "trace/files.h"
#include "trace/input.h"
#include "trace/order.h"
#include "trace/output.h"
#include "trace/shelf.h"
#include "trace/sync.h"

#define NOTES_MAX 64
#define NOTE_MAX (1u << 16)

static void sum_record(struct trace_run_stream *s, const struct trace_rec *rec, uint64_t times,
		       uint64_t event)
{
	s->records[rec->kind] += times;
	switch (rec->kind) {
	case TRACE_SRC:
	case TRACE_LOOK:
	case TRACE_POST:
		s->wildcards += times;
		break;
	case TRACE_HIT:
		s->wildcards += rec->a > 0 ? times : 0;
		break;
	case TRACE_FAIL:
		s->polls += rec->a * times;
		break;
	case TRACE_WORLD:
		s->world = rec->a <= INT32_MAX ? (uint32_t)rec->a : 0;
		s->mode = trace_world_mode(rec->b);
		break;
	case TRACE_STOP:
		s->stop = (uint32_t)rec->a;
		s->stop_value = rec->b;
		s->stop_event = event;
		break;
	case TRACE_END:
		s->end = (uint32_t)rec->a;
		s->end_value = rec->b;
		break;
	}
}

static int sum_order(struct trace_run_stream *s, const struct trace_view *view)
{
	struct trace_order_reader *r = rp_alloc(1, sizeof(*r));
	struct trace_order_turns turns = {0};
	struct trace_rec rec;
	uint64_t times;
	int rc;

	trace_order_reader_init(r, view);
	while ((rc = trace_order_next_times(r, &turns, &rec, &times)) == 1)
		sum_record(s, &rec, times, trace_order_event(r));
	free(r);
	return rc;
}

/* A long note comes in several records: `more` says that this one goes on with the last. */
static void add_note(char ***notes, const struct trace_input_rec *rec, bool more)
{
	size_t n = rp_strings_count(*notes);
	char *whole;

	if (more && n && strlen((*notes)[n - 1]) > NOTE_MAX)
		return;
	if (more && n) {
		whole = rp_format("%s%.*s", (*notes)[n - 1], (int)rec->length,
				  (const char *)rec->bytes);
		free((*notes)[n - 1]);
		(*notes)[n - 1] = whole;
	} else if (n < NOTES_MAX) {
		*notes = rp_realloc(*notes, n + 2, sizeof(char *));
		(*notes)[n] = rp_format("%.*s", (int)rec->length, (const char *)rec->bytes);
		(*notes)[n + 1] = NULL;
	}
}

static int sum_input(struct trace_run_stream *s, const struct trace_view *view, char ***notes)
{
	struct trace_input_reader r;
	struct trace_input_rec rec;
	bool more = false;
	int rc;

	trace_input_reader_init(&r, view);
	while ((rc = trace_input_next(&r, &rec)) == 1) {
		if (rec.kind == TRACE_IN_NOTE)
			add_note(notes, &rec, more);
		else if (rec.kind != TRACE_IN_MODULE && !more)
			s->inputs++;
		more = rec.bytes && rec.length == TRACE_INPUT_CHUNK;
	}
	return rc;
}

static int sum_sync(struct trace_run_stream *s, const struct trace_view *view)
{
	struct trace_sync_reader *r = rp_alloc(1, sizeof(*r));
	struct trace_sync_rec rec;
	int rc = trace_sync_reader_init(r, view);

	s->events = 0;
	s->syncs = r->total;
	s->bytes += trace_sync_pending(view);
	while (!rc && trace_sync_next_record(r, &rec) == 2) {
		s->unpredicted += rec.kind < TRACE_SYNC_CHECK;
		if (rec.kind == TRACE_SYNC_STOP) {
			s->stop = rec.code;
			s->stop_value = rec.step;
		}
	}
	free(r);
	return rc;
}

static int sum_files(struct trace_run_stream *s, const struct trace_view *view)
{
	struct trace_file file;
	uint64_t at = 0;
	int rc;

	while ((rc = trace_file_next(view, &at, &file)) == 1) {
		s->files++;
		s->kept += !!(file.flags & TRACE_FILE_KEPT);
	}
	return rc;
}

static int sum_output(struct trace_run_stream *s, const struct trace_view *view)
{
	struct trace_output output;
	int rc = trace_output_read(&output, view);

	if (rc)
		return rc;
	s->events = 0;
	s->printed = output.length[0] + output.length[1];
	trace_output_free(&output);
	return 0;
}

static bool is_what_its_name_says(const struct trace_run_stream *s, unsigned rank,
				  const struct trace_header *h)
{
	return h->kind == s->kind && h->rank == rank && h->process == s->process &&
	       (s->kind == TRACE_STREAM_STDIN || !strcmp(h->thread, s->thread));
}

static void pass_over(void *arg, uint32_t kind, const char *thread)
{
	(void)arg;
	(void)kind;
	(void)thread;
}

static void sum_stream(int rankfd, unsigned rank, struct trace_run_stream *s, char ***notes)
{
	struct trace_run_stream sum = *s;
	struct trace_view view;
	int rc = trace_view_open(&view, rankfd, s->name, &s->damage);

	if (rc)
		return;
	if (!is_what_its_name_says(s, rank, view.header)) {
		s->damage = "belongs elsewhere: its header names another rank or thread";
		trace_view_close(&view);
		return;
	}
	sum.pid = view.header->pid;
	sum.bytes = view.length;
	sum.events = view.events;
	sum.inside = view.inside;
	if (s->kind == TRACE_STREAM_ORDER)
		rc = sum_order(&sum, &view);
	else if (s->kind == TRACE_STREAM_INPUT)
		rc = sum_input(&sum, &view, notes);
	else if (s->kind == TRACE_STREAM_SYNC)
		rc = sum_sync(&sum, &view);
	else if (s->kind == TRACE_STREAM_FILES)
		rc = sum_files(&sum, &view);
	else if (s->kind == TRACE_STREAM_OUTPUT)
		rc = sum_output(&sum, &view);
	else if (s->kind == TRACE_STREAM_STDIN && view.inside) {
		sum.stop = TRACE_STOP_STDIN;
		sum.stop_value = view.length;
	}
	trace_view_close(&view);
	if (s->kind == TRACE_STREAM_THREADS || s->kind == TRACE_STREAM_LIVE) {
		/* What it holds counts by itself. */
		sum.bytes = sum.events = 0;
		rc = trace_shelf_list(rankfd, s->process, pass_over, NULL);
	}
	if (rc)
		s->damage = "is damaged: its records make no sense";
	else
		*s = sum;
}

static uint64_t outcomes(const struct trace_run_stream *s)
{
	return s->records[TRACE_SRC] + s->records[TRACE_LOOK] + s->records[TRACE_POST] +
	       s->records[TRACE_INDEX] + s->records[TRACE_HIT] + s->records[TRACE_SOME] +
	       s->records[TRACE_FLAG];
}

/*
 * A program that execs another stays the same process: the streams with the pid of the first are
 * one life, and the newest of them tell how it ended.
 */
static bool outlives(const struct trace_run_stream *s, const struct trace_run_stream *last,
		     uint32_t pid)
{
	if (s->kind != TRACE_STREAM_ORDER || s->damage || s->pid != pid)
		return false;
	return !last || s->process > last->process || (s->end && !last->end);
}

static uint32_t first_pid(const struct trace_run_rank *rank)
{
	for (size_t i = 0; i < rank->streams; i++) {
		if (rank->stream[i].kind == TRACE_STREAM_ORDER)
			return rank->stream[i].pid;
	}
	return 0;
}

/* Streams are sorted: those of one thread are neighbours. */
static bool is_first_of_thread(const struct trace_run_rank *rank, size_t i)
{
	const struct trace_run_stream *s = &rank->stream[i], *before = s - 1;

	return s->thread[0] &&
	       (i == 0 || before->process != s->process || strcmp(before->thread, s->thread) != 0);
}

static void add_up(struct trace_run_rank *rank)
{
	const struct trace_run_stream *before = NULL;
	uint32_t pid = first_pid(rank);

	for (size_t i = 0; i < rank->streams; i++) {
		const struct trace_run_stream *s = &rank->stream[i];

		rank->damaged = rank->damaged || s->damage;
		rank->bytes[s->kind] += s->bytes;
		rank->inputs += s->inputs;
		rank->files += s->files;
		rank->kept += s->kept;
		rank->printed += s->printed;
		rank->syncs += s->syncs;
		rank->unpredicted += s->unpredicted;
		rank->threads += is_first_of_thread(rank, i);
		if (s->stop && !rank->stop)
			rank->stop = s;
		if (s->kind != TRACE_STREAM_ORDER)
			continue;
		rank->processes += !before || before->process != s->process;
		rank->events += s->events;
		rank->outcomes += outcomes(s);
		rank->wildcards += s->wildcards;
		rank->polls += s->polls;
		if (s->world && !rank->world) {
			rank->world = s->world;
			rank->mode = s->mode;
		}
		if (outlives(s, rank->last, pid))
			rank->last = s;
		before = s;
	}
}

static const struct trace_run_stream *find_main(const struct trace_run_rank *rank, uint32_t process,
						uint32_t kind)
{
	for (size_t i = 0; i < rank->streams; i++) {
		const struct trace_run_stream *s = &rank->stream[i];

		if (s->process == process && s->kind == kind && !strcmp(s->thread, "0"))
			return s;
	}
	return NULL;
}

/* Standard input is kept before there is a process that could be recorded. */
static bool has_begun(const struct trace_run_rank *rank)
{
	for (size_t i = 0; i < rank->streams; i++) {
		if (rank->stream[i].kind != TRACE_STREAM_STDIN)
			return true;
	}
	return false;
}

/*
 * A process makes its order stream first and then writes the names of its libraries to its input
 * stream, before anything else. It may have been killed, or the disk full, in between.
 */
static const char *find_missing(const struct trace_run_rank *rank)
{
	const struct trace_run_stream *order = find_main(rank, 0, TRACE_STREAM_ORDER);

	if (!has_begun(rank))
		return NULL;
	if (!order)
		return "0.order";
	if ((order->events || order->end) && !rank->stop && !find_main(rank, 0, TRACE_STREAM_INPUT))
		return "0.input";
	return NULL;
}

static void read_unseen(struct trace_run *run, struct trace_run_rank *rank, int rankfd)
{
	struct trace_unseen *all = rp_alloc(TRACE_UNSEEN_SLOTS, sizeof(*all));
	const char *why = NULL;
	int n = trace_unseen_read(rankfd, all, &why);

	if (n < 0) {
		rank->unseen_damage = why;
		rank->damaged = true;
		run->damaged++;
	}
	if (n > 0) {
		rank->unseens = (size_t)n;
		rank->unseen = rp_realloc(all, rank->unseens, sizeof(*all));
	} else {
		free(all);
	}
}

static void sum_rank(struct trace_run *run, struct trace_run_rank *rank)
{
	struct trace_streams names;
	int rankfd;

	rank->notes = rp_alloc(1, sizeof(char *));
	rank->has_start = trace_start_read(&run->dir, rank->rank, &rank->start) == 0;
	rank->damaged = !rank->has_start;
	run->damaged += !rank->has_start;
	if (trace_dir_streams(&run->dir, rank->rank, &names, &rankfd)) {
		rank->damaged = true;
		run->damaged++;
		return;
	}
	rank->stream = rp_alloc(names.n, sizeof(*rank->stream));
	for (size_t i = 0; i < names.n; i++) {
		struct trace_run_stream *s = &rank->stream[rank->streams];

		if (names.stream[i].kind > TRACE_STREAM_STDIN &&
		    names.stream[i].kind != TRACE_STREAM_GUIDE &&
		    names.stream[i].kind != TRACE_STREAM_SYNC &&
		    names.stream[i].kind != TRACE_STREAM_OUTPUT &&
		    names.stream[i].kind != TRACE_STREAM_HEAP &&
		    names.stream[i].kind != TRACE_STREAM_FILES &&
		    names.stream[i].kind != TRACE_STREAM_THREADS &&
		    names.stream[i].kind != TRACE_STREAM_LIVE)
			continue; /* of an evaluation; it has no place here */
		rank->streams++;
		*s = (struct trace_run_stream){.name = names.stream[i].name,
					       .thread = names.stream[i].thread,
					       .process = names.stream[i].process,
					       .kind = names.stream[i].kind,
					       .is_file = names.stream[i].is_file};
		names.stream[i].name = NULL;
		names.stream[i].thread = NULL;
		sum_stream(rankfd, rank->rank, s, &rank->notes);
		run->damaged += s->damage != NULL;
	}
	trace_streams_free(&names);
	read_unseen(run, rank, rankfd);
	close(rankfd);
	add_up(rank);
	rank->missing = find_missing(rank);
	if (rank->missing) {
		rank->damaged = true;
		run->damaged++;
	}
}

int trace_run_open(struct trace_run *run, const char *path)
{
	struct trace_ranks ranks;
	int code;

	*run = (struct trace_run){.dir.fd = -1};
	code = trace_dir_open(&run->dir, path);
	if (code)
		return code;
	code = trace_dir_ranks(&run->dir, &ranks);
	if (code) {
		trace_dir_close(&run->dir);
		return code;
	}
	run->has_meta = trace_meta_read(&run->dir, &run->meta) == 0;
	run->damaged = !run->has_meta;
	run->contiguous = ranks.contiguous;
	run->ranks = ranks.n;
	run->rank = rp_alloc(ranks.n, sizeof(*run->rank));
	for (size_t i = 0; i < ranks.n; i++) {
		run->rank[i].rank = ranks.rank[i];
		sum_rank(run, &run->rank[i]);
	}
	trace_ranks_free(&ranks);
	return 0;
}

static void close_rank(struct trace_run_rank *rank)
{
	for (size_t i = 0; i < rank->streams; i++) {
		free(rank->stream[i].name);
		free(rank->stream[i].thread);
	}
	free(rank->stream);
	rp_strings_free(rank->notes);
	free(rank->unseen);
	if (rank->has_start)
		trace_start_free(&rank->start);
}

void trace_run_close(struct trace_run *run)
{
	for (size_t i = 0; i < run->ranks; i++)
		close_rank(&run->rank[i]);
	free(run->rank);
	if (run->has_meta)
		trace_meta_free(&run->meta);
	trace_dir_close(&run->dir);
	*run = (struct trace_run){.dir.fd = -1};
}

bool trace_run_is_of_process(const struct trace_run_stream *s)
{
	return s->kind == TRACE_STREAM_ORDER && !strcmp(s->thread, "0");
}

void trace_run_total(const struct trace_run *run, struct trace_run_rank *sum)
{
	*sum = (struct trace_run_rank){0};
	for (size_t i = 0; i < run->ranks; i++) {
		const struct trace_run_rank *rank = &run->rank[i];

		sum->processes += rank->processes;
		sum->threads += rank->threads;
		sum->events += rank->events;
		sum->outcomes += rank->outcomes;
		sum->wildcards += rank->wildcards;
		sum->polls += rank->polls;
		sum->inputs += rank->inputs;
		sum->files += rank->files;
		sum->kept += rank->kept;
		sum->printed += rank->printed;
		sum->syncs += rank->syncs;
		sum->unpredicted += rank->unpredicted;
		for (size_t kind = 0; kind < TRACE_STREAM_KINDS; kind++)
			sum->bytes[kind] += rank->bytes[kind];
	}
}
