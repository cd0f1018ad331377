/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the event graph knows of the place where the ranks are. How far each has come is known by
 * its number of events; what was sent and received by then follows from the recorded run. Threads
 * number their own events, and of others than the first it is not known how far they have come:
 * what they do is left out, which is said.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/debug.h"
#include "cmd/races.h"
#include "graph/race.h"
#include "graph/report.h"
#include "graph/walk.h"
#include "replay/log.h"
#include "trace/calls.h"

#define OTHERS 8 /* messages that could have come, shown */
#define TOP 10

/* The last receive of a rank so far. */
struct got {
	unsigned rank;
	uint64_t upto;
	uint64_t number; /* 0: none */
	uint32_t index;
	uint16_t call;
	uint32_t thread, site;
	struct graph_finding_message message;
};

/* Pairs of all receives of that rank: which of them is asked for is known at the end. */
struct pair {
	uint32_t index;
	struct graph_finding_message other;
};

struct asked {
	struct got got;
	struct pair *pair;
	size_t pairs;
};

static void note_received(void *context, const struct graph_event *event,
			  const struct graph_receive *r, const struct graph_message *m)
{
	struct got *g = &((struct asked *)context)->got;

	if (event->rank != g->rank || event->thread || event->event->number > g->upto)
		return;
	g->number = event->event->number;
	g->index = r->index;
	g->call = event->event->call;
	g->thread = event->thread;
	g->site = event->event->site;
	g->message = cmd_graph_sent(m);
}

static void note_race(void *context, unsigned rank, const struct graph_racer *r,
		      const struct graph_message *m)
{
	struct asked *a = context;

	if (rank != a->got.rank)
		return;
	a->pair = rp_widen(a->pair, a->pairs, a->pairs + 1, sizeof(*a->pair));
	a->pair[a->pairs++] = (struct pair){r->index, cmd_graph_sent(m)};
}

/* What it held, as the log has it; the caller frees. A call may receive several: it is the last. */
static char *contents_of(const struct cmd_debug *d, const struct got *g, const char *thread)
{
	struct trace_log_reader reader;
	struct trace_log_rec rec, last = {0};
	char *text;
	int rc = replay_log_open(d->run, g->rank, thread, &reader);

	if (rc)
		return rp_strdup("not known; 'reprise checkpoint' writes down what ranks receive");
	while (trace_log_next(&reader, &rec) == 1 && rec.event <= g->number) {
		if ((rec.kind == TRACE_LOG_MESSAGE || rec.kind == TRACE_LOG_LIVE) &&
		    rec.event == g->number && rec.tag == g->message.tag)
			last = rec;
	}
	text = last.kind == TRACE_LOG_MESSAGE ? replay_log_text(&last)
					      : rp_strdup("not in the log");
	trace_log_close(&reader);
	return text;
}

static char *got_text(const struct cmd_debug *d, struct cmd_graph *graph, const struct asked *a)
{
	const struct got *g = &a->got;
	const char *whose = d->run->rank[g->rank].threads == 1 ? "" : " in its first thread";
	char *from, *at, *text, *contents;
	size_t others = 0;

	if (!g->number)
		return rp_format("has received no message so far%s", whose);
	from = cmd_graph_message(graph, &g->message);
	at = cmd_graph_position(graph, g->rank, g->thread, g->number);
	contents =
		contents_of(d, g, graph->source.thread(graph->source.context, g->rank, g->thread));
	text = rp_format("%s at %s (%s)%s\n  %s\n  contents: %s\n", trace_call_name(g->call),
			 cmd_graph_place(graph, g->rank, g->thread, g->site), at, whose, from,
			 contents);
	free(contents);
	free(from);
	free(at);
	for (size_t i = 0; i < a->pairs; i++) {
		char *other, *longer;

		if (a->pair[i].index != g->index || others++ >= OTHERS)
			continue;
		other = cmd_graph_message(graph, &a->pair[i].other);
		longer = rp_format("%s  could have come instead: %s\n", text, other);
		free(text);
		free(other);
		text = longer;
	}
	return text;
}

void cmd_debug_message(struct cmd_debug *d, const struct group_set *set)
{
	struct cmd_graph *graph = cmd_debug_graph(d);
	char **text;

	if (!graph) {
		cmd_debug_fail(d, "msg", "the run cannot be evaluated");
		return;
	}
	text = rp_alloc(set->ranks + 1, sizeof(*text));
	for (unsigned i = 0; i < set->ranks; i++) {
		struct asked a = {.got.rank = i};
		const struct graph_race_observer observer = {
			.context = &a, .race = note_race, .received = note_received};
		bool inside;

		if (!set->has[i])
			continue;
		a.got.upto = group_events(&d->group, i, &inside);
		if (graph_races_find(&graph->source, &observer) == 0)
			text[i] = got_text(d, graph, &a);
		else
			text[i] = rp_strdup("the events cannot be read");
		free(a.pair);
	}
	cmd_debug_show(d, "msg", set, text, false);
}

struct queues {
	struct cmd_debug *d;
	struct cmd_graph *graph;
	char **text; /* by rank */
	uint64_t *done;
	struct graph_walk *walk;
};

static void add_line(struct queues *q, unsigned rank, char *line)
{
	char *both = rp_format("%s  %s\n", q->text[rank], line);

	free(q->text[rank]);
	free(line);
	q->text[rank] = both;
}

static void note_on_its_way(struct queues *q, unsigned receiver, const struct graph_message *m)
{
	struct graph_finding_message s = cmd_graph_sent(m);
	char *text;

	if (s.thread || s.number > q->done[s.rank])
		return;
	text = cmd_graph_message(q->graph, &s);
	add_line(q, receiver, rp_format("on its way %s", text));
	free(text);
}

static void note_taken(void *context, const struct graph_event *event, struct graph_receive *r,
		       const struct graph_message *m)
{
	struct queues *q = context;
	char *at, *peer, *tag;

	if (event->thread || event->event->number <= q->done[event->rank] ||
	    r->kind == TRACE_EVENT_PROBE)
		return;
	note_on_its_way(q, event->rank, m);
	if (r->thread || r->number > q->done[event->rank] || r->number == event->event->number)
		return;
	at = cmd_graph_position(q->graph, event->rank, r->thread, r->number);
	peer = r->want_peer == TRACE_ANY ? rp_strdup("any rank")
					 : rp_format("rank %" PRId32, r->want_peer);
	tag = r->want_tag == TRACE_ANY ? rp_strdup("any tag")
				       : rp_format("tag %" PRId32, r->want_tag);
	add_line(q, event->rank,
		 rp_format("open: %s from %s, %s at %s (%s)", trace_call_name(r->call), peer, tag,
			   cmd_graph_place(q->graph, event->rank, r->thread, r->site), at));
	free(at);
	free(peer);
	free(tag);
}

/* What nobody received to the end of the run is there, too, if it was sent. */
static void note_left(void *context)
{
	struct queues *q = context;
	const struct graph_match *match = graph_walk_match(q->walk);
	const struct graph_lane *lane;

	for (size_t i = 0; (lane = rp_map_next(&match->lanes, &i));) {
		for (const struct graph_message *m = lane->first; m; m = m->later)
			note_on_its_way(q, lane->receiver, m);
	}
}

static bool has_threads(const struct trace_run *run)
{
	for (size_t i = 0; i < run->ranks; i++) {
		if (run->rank[i].threads != 1)
			return true;
	}
	return false;
}

void cmd_debug_queue(struct cmd_debug *d, const struct group_set *set)
{
	struct queues q = {.d = d, .graph = cmd_debug_graph(d)};
	const struct graph_observer observer = {
		.context = &q, .taken = note_taken, .end = note_left};
	const char *whose = has_threads(d->run) ? ", between first threads" : "";

	if (!q.graph) {
		cmd_debug_fail(d, "queue", "the run cannot be evaluated");
		return;
	}
	q.text = rp_alloc(set->ranks + 1, sizeof(*q.text));
	q.done = rp_alloc(set->ranks + 1, sizeof(*q.done));
	for (unsigned i = 0; i < set->ranks; i++) {
		bool inside;

		q.done[i] = group_events(&d->group, i, &inside);
		q.done[i] -= inside && q.done[i];
		q.text[i] = rp_strdup("");
	}
	q.walk = graph_walk_open(&q.graph->source);
	if (graph_walk_run(q.walk, &observer) != 0)
		d->failed = true;
	graph_walk_close(q.walk);
	for (unsigned i = 0; i < set->ranks; i++) {
		if (*q.text[i]) {
			char *head = rp_format("to it%s:\n%s", whose, q.text[i]);

			free(q.text[i]);
			q.text[i] = head;
		} else {
			free(q.text[i]);
			q.text[i] = rp_format("nothing%s", whose);
		}
	}
	cmd_debug_show(d, "queue", set, q.text, false);
	free(q.done);
}

void cmd_debug_races(struct cmd_debug *d)
{
	struct graph_report report = {0};
	struct cmd_graph *graph = cmd_debug_graph(d);
	struct cmd_races races;

	if (!graph || graph_report_make(&report, &graph->source)) {
		cmd_debug_fail(d, "races", "the run cannot be evaluated");
		return;
	}
	cmd_races_group(&races, graph, &report);
	if (d->json)
		cmd_races_print_json(&races);
	else
		cmd_races_print(&races, TOP);
	fflush(stdout);
	cmd_races_free(&races);
	graph_report_free(&report);
}

char *cmd_debug_find_race(struct cmd_debug *d, const char *name, const char *text)
{
	struct cmd_graph *graph = cmd_debug_graph(d);
	char *why = NULL, *at;

	if (!graph) {
		cmd_debug_fail(d, name, "the run cannot be evaluated");
		return NULL;
	}
	at = cmd_races_position(graph, text, &why);
	if (!at)
		cmd_debug_fail(d, name, why);
	free(why);
	return at;
}

/* The n-th message of a channel, by the order of its receives. */
struct sought {
	unsigned from, to;
	int tag; /* TRACE_ANY: any */
	uint64_t left;
	uint64_t number;
	uint32_t thread;
};

static void count_taken(void *context, const struct graph_event *event, struct graph_receive *r,
			const struct graph_message *m)
{
	struct sought *s = context;

	if (event->rank != s->to || m->channel->lane->sender != s->from ||
	    r->kind == TRACE_EVENT_PROBE || (s->tag != TRACE_ANY && m->channel->tag != s->tag))
		return;
	if (s->left && --s->left == 0) {
		s->number = event->event->number;
		s->thread = event->thread;
	}
}

char *cmd_debug_find_message(struct cmd_debug *d, const char *text)
{
	struct sought s = {.tag = TRACE_ANY, .left = 1};
	const struct graph_observer observer = {.context = &s, .taken = count_taken};
	struct cmd_graph *graph = cmd_debug_graph(d);
	const char *tag = strstr(text, "tag "), *nth = strchr(text, '#');

	if (!graph || sscanf(text, "%u->%u", &s.from, &s.to) != 2) {
		cmd_debug_fail(d, "break", "a message is named as in 'break msg 1->3 tag 7 #12'");
		return NULL;
	}
	if (tag)
		s.tag = atoi(tag + 4);
	if (nth)
		s.left = strtoull(nth + 1, NULL, 10);
	if (graph_walk(&graph->source, &observer) == 0 && s.number)
		return cmd_graph_position(graph, s.to, s.thread, s.number);
	cmd_debug_fail(d, "break", "no such message is received in this run");
	return NULL;
}
