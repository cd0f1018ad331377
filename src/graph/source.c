/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event streams of a trace as a source. A process is the streams of its threads, merged by
 * `seq`; a rank with several processes (it used exec) is one after the other. A reader holds one
 * block, so memory grows with the number of threads and not with that of events.
 */
#include "graph/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

#define SUFFIX ".events"

struct thread {
	char *name;   /* of the file */
	char *thread; /* "0.2" */
	uint32_t process;
	struct trace_events_reader *reader; /* NULL at its end */
	const struct trace_event *event;    /* the next one */
	struct trace_sites sites;
	bool has_sites;
};

struct rank {
	int fd;
	struct thread *thread;
	uint32_t threads;
	struct thread *last; /* gave the last event: is to be moved on */
	uint64_t seq;        /* of that event */
	uint32_t process;
	bool bad;
};

struct streams {
	char *show; /* of the trace */
	struct rank *rank;
	unsigned ranks;
};

static int bad_stream(const struct streams *s, unsigned rank, const char *name, const char *why)
{
	rp_say("graph/rank-%04u/%s of the trace %s %s; 'reprise evaluate --again' makes it anew",
	       rank, name, s->show, why);
	return -EBADMSG;
}

static void close_thread(struct thread *t)
{
	if (t->reader)
		trace_events_reader_close(t->reader);
	free(t->reader);
	t->reader = NULL;
	t->event = NULL;
}

/* Moves on to the next event of the thread. */
static int advance(const struct streams *s, unsigned rank, struct thread *t)
{
	int rc = trace_events_next(t->reader, &t->event);

	if (rc > 0)
		return 0;
	close_thread(t);
	return rc ? bad_stream(s, rank, t->name, "is damaged: its events make no sense") : 0;
}

static int open_thread(const struct streams *s, unsigned rank, struct thread *t)
{
	const char *why;
	int rc;

	t->reader = rp_alloc(1, sizeof(*t->reader));
	rc = trace_events_open(t->reader, s->rank[rank].fd, t->name, &why);
	if (rc) {
		free(t->reader);
		t->reader = NULL;
		return bad_stream(s, rank, t->name, why);
	}
	return advance(s, rank, t);
}

static struct thread *first_of(const struct rank *r)
{
	struct thread *first = NULL;

	for (uint32_t i = 0; i < r->threads; i++) {
		struct thread *t = &r->thread[i];

		if (t->event &&
		    (!first || t->process < first->process ||
		     (t->process == first->process && t->event->seq < first->event->seq)))
			first = t;
	}
	return first;
}

static int next(void *context, unsigned rank, const struct trace_event **event, uint32_t *thread)
{
	struct streams *s = context;
	struct rank *r = &s->rank[rank];

	if (r->bad || (r->last && advance(s, rank, r->last))) {
		r->bad = true;
		return -EBADMSG;
	}
	r->last = first_of(r);
	if (!r->last)
		return 0;
	if (r->last->process == r->process && r->last->event->seq <= r->seq) {
		r->bad = true;
		return bad_stream(s, rank, r->last->name, "is damaged: its events are in disorder");
	}
	r->process = r->last->process;
	r->seq = r->last->event->seq;
	*event = r->last->event;
	*thread = (uint32_t)(r->last - r->thread);
	return 1;
}

static void start(struct streams *s, unsigned rank)
{
	struct rank *r = &s->rank[rank];

	r->last = NULL;
	r->seq = 0;
	r->process = 0;
	r->bad = false;
	for (uint32_t i = 0; i < r->threads; i++) {
		close_thread(&r->thread[i]);
		if (open_thread(s, rank, &r->thread[i]))
			r->bad = true;
	}
}

static void rewind_all(void *context)
{
	struct streams *s = context;

	for (unsigned i = 0; i < s->ranks; i++)
		start(s, i);
}

static const char *thread_name(void *context, unsigned rank, uint32_t thread)
{
	const struct rank *r = &((struct streams *)context)->rank[rank];

	return thread < r->threads ? r->thread[thread].thread : "?";
}

static int by_name(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return strverscmp(x->thread, y->thread);
}

/* "0.2.events", "p1-0.events" */
static void add_thread(struct rank *r, const char *name)
{
	size_t n = strlen(name), end = strlen(SUFFIX);
	struct thread t = {0};
	const char *thread = name;

	if (n <= end || strcmp(name + n - end, SUFFIX))
		return;
	if (*name == 'p') {
		char *rest;

		t.process = (uint32_t)strtoul(name + 1, &rest, 10);
		if (*rest != '-')
			return;
		thread = rest + 1;
	}
	t.name = rp_strdup(name);
	t.thread = rp_format("%.*s", (int)(n - end - (size_t)(thread - name)), thread);
	r->thread = rp_realloc(r->thread, r->threads + 1, sizeof(t));
	r->thread[r->threads++] = t;
}

static void open_sites(struct rank *r, struct thread *t)
{
	const char *why;
	char *name = rp_format("%.*s.sites", (int)(strlen(t->name) - strlen(SUFFIX)), t->name);

	/* Without them there is still everything but the lines. */
	t->has_sites = !trace_sites_open(&t->sites, r->fd, name, &why);
	free(name);
}

static int open_rank(struct streams *s, const struct trace_dir *dir, unsigned rank)
{
	struct rank *r = &s->rank[rank];
	char *path = rp_format("graph/rank-%04u", rank);
	struct dirent *entry;
	DIR *list;

	r->fd = openat(dir->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(path);
	list = r->fd < 0 ? NULL : fdopendir(dup(r->fd));
	if (!list) {
		rp_say("the trace %s has no events of rank %u; 'reprise evaluate' makes them",
		       dir->show, rank);
		return RP_EXIT_BAD_INPUT;
	}
	while ((entry = readdir(list)))
		add_thread(r, entry->d_name);
	closedir(list);
	if (r->threads)
		qsort(r->thread, r->threads, sizeof(*r->thread), by_name);
	for (uint32_t i = 0; i < r->threads; i++)
		open_sites(r, &r->thread[i]);
	start(s, rank);
	return r->bad ? RP_EXIT_BAD_INPUT : 0;
}

int graph_source_open(struct graph_source *source, const struct trace_dir *dir)
{
	struct trace_ranks ranks;
	struct streams *s;
	int code = trace_dir_ranks(dir, &ranks);

	if (code)
		return code;
	if (!ranks.n || !ranks.contiguous) {
		rp_say("the trace %s does not have all its ranks; record it again", dir->show);
		trace_ranks_free(&ranks);
		return RP_EXIT_BAD_INPUT;
	}
	s = rp_alloc(1, sizeof(*s));
	s->show = rp_strdup(dir->show);
	s->rank = rp_alloc(ranks.n, sizeof(*s->rank));
	*source = (struct graph_source){(unsigned)ranks.n, s, next, rewind_all, thread_name};
	trace_ranks_free(&ranks);
	for (unsigned i = 0; i < source->ranks && !code; i++) {
		s->ranks = i + 1;
		code = open_rank(s, dir, i);
	}
	if (code)
		graph_source_close(source);
	return code;
}

void graph_source_close(struct graph_source *source)
{
	struct streams *s = source->context;

	for (unsigned i = 0; i < s->ranks; i++) {
		struct rank *r = &s->rank[i];

		for (uint32_t k = 0; k < r->threads; k++) {
			close_thread(&r->thread[k]);
			if (r->thread[k].has_sites)
				trace_sites_close(&r->thread[k].sites);
			free(r->thread[k].name);
			free(r->thread[k].thread);
		}
		free(r->thread);
		if (r->fd >= 0)
			close(r->fd);
	}
	free(s->rank);
	free(s->show);
	free(s);
}

uint32_t graph_source_site(const struct graph_source *source, unsigned rank, uint32_t thread,
			   uint32_t site, uint64_t address[TRACE_SITE_DEPTH])
{
	const struct streams *s = source->context;
	const struct rank *r = &s->rank[rank];

	if (thread >= r->threads || !r->thread[thread].has_sites)
		return 0;
	return trace_sites_get(&r->thread[thread].sites, site, address);
}

uint32_t graph_source_threads(const struct graph_source *source, unsigned rank)
{
	return ((const struct streams *)source->context)->rank[rank].threads;
}

uint32_t graph_source_process(const struct graph_source *source, unsigned rank, uint32_t thread)
{
	const struct streams *s = source->context;
	const struct rank *r = &s->rank[rank];

	return thread < r->threads ? r->thread[thread].process : 0;
}
