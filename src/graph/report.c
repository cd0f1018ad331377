/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what race.c and choice.c tell. Pairs may be as many as receives times senders, so a pair
 * costs a comparison and a few additions: the finding of the pair before is mostly the right one.
 */
#include "graph/report.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "graph/choice.h"
#include "graph/race.h"

struct work {
	struct graph_report *report;
	struct graph_choices choices;
};

static struct graph_finding *finding_of(struct graph_report *report, enum graph_finding_kind kind,
					unsigned rank, uint32_t thread, uint32_t site,
					uint16_t call)
{
	uint64_t a = (uint64_t)rank << 32 | thread, b = (uint64_t)site << 32 | call << 8 | kind;
	struct graph_finding *f = report->last;

	if (f && f->kind == kind && f->rank == rank && f->thread == thread && f->site == site &&
	    f->call == call)
		return f;
	f = rp_map_get(&report->keys, a, b);
	if (!f) {
		f = rp_alloc(1, sizeof(*f));
		*f = (struct graph_finding){
			.kind = kind, .rank = rank, .thread = thread, .site = site, .call = call};
		rp_map_put(&report->keys, a, b, f);
	}
	report->last = f;
	return f;
}

static enum graph_finding_kind kind_of(const struct graph_racer *r)
{
	if (r->flags & GRAPH_RACER_PROBED)
		return GRAPH_FINDING_PROBED;
	return r->kind == TRACE_EVENT_PROBE ? GRAPH_FINDING_PROBE : GRAPH_FINDING_RECEIVE;
}

static struct graph_finding *finding_of_racer(struct graph_report *report, unsigned rank,
					      const struct graph_racer *r)
{
	return finding_of(report, kind_of(r), rank, r->thread, r->site, r->call);
}

/* An example that tells both senders is better, then an earlier one, then a lower sender. */
static bool is_better(const struct graph_finding *f, const struct graph_racer *r, unsigned sender)
{
	bool known = r->sent_number, had = f->got.number;

	if (!f->index || known != had)
		return !f->index || known;
	return r->index < f->index || (r->index == f->index && sender < f->other.rank);
}

static void race(void *context, unsigned rank, const struct graph_racer *r,
		 const struct graph_message *m)
{
	struct graph_report *report = ((struct work *)context)->report;
	struct graph_finding *f = finding_of_racer(report, rank, r);
	unsigned sender = m->channel->lane->sender;
	int32_t tag = m->channel->tag;

	f->alternatives++;
	report->pairs++;
	if (tag != r->tag && !(r->flags & GRAPH_RACER_SILENT))
		f->differs |= GRAPH_DIFFERS_TAG;
	if (r->sent && m->bytes != r->bytes)
		f->differs |= GRAPH_DIFFERS_BYTES;
	if (!is_better(f, r, sender))
		return;
	f->index = r->index;
	f->number = r->number;
	f->probe_site = r->probe_site;
	f->got = (struct graph_finding_message){(unsigned)r->peer, r->sent_thread, r->sent_site,
						r->sent_number,    r->tag,         r->bytes};
	f->other = (struct graph_finding_message){sender,    m->thread, m->site,
						  m->number, tag,       m->bytes};
}

static void settled(void *context, unsigned rank, const struct graph_racer *r)
{
	struct graph_report *report = ((struct work *)context)->report;
	struct graph_finding *f = finding_of_racer(report, rank, r);
	bool races = r->flags & GRAPH_RACER_RACES;

	f->outcomes++;
	f->racing += races;
	f->poll |= (r->flags & TRACE_EVENT_POLL) != 0;
	f->swapped += (r->flags & GRAPH_RACER_OTHER) != 0;
	report->wildcards++;
	report->racing += races;
	report->rank_wildcards[rank]++;
	report->rank_racing[rank] += races;
}

static void received(void *context, const struct graph_event *event, const struct graph_receive *r,
		     const struct graph_message *m)
{
	struct graph_report *report = ((struct work *)context)->report;

	(void)m;
	report->rank_received[event->rank] += r->kind != TRACE_EVENT_PROBE;
}

static void choice_race(void *context, unsigned rank, const struct graph_choice *choice,
			const struct graph_request *other)
{
	struct graph_report *report = ((struct work *)context)->report;
	struct graph_finding *f = finding_of(report, GRAPH_FINDING_CHOICE, rank, choice->thread,
					     choice->site, choice->call);

	report->choices++;
	f->racing++;
	if (f->index && f->index <= choice->index)
		return;
	f->index = choice->index;
	f->number = choice->number;
	f->other = (struct graph_finding_message){
		rank, other->thread, other->site, other->number, 0, 0};
}

static void note_event(void *context, const struct graph_event *event)
{
	struct work *work = context;
	struct graph_report *report = work->report;
	const struct trace_event *e = event->event;
	struct graph_finding *f;

	report->events++;
	report->messages += e->kind == TRACE_EVENT_SEND && e->peer >= 0;
	graph_choices_event(&work->choices, event);
	if (e->kind == TRACE_EVENT_CHOICE) {
		f = finding_of(report, GRAPH_FINDING_CHOICE, event->rank, event->thread, e->site,
			       e->call);
		f->outcomes++;
		f->poll |= (e->flags & TRACE_EVENT_POLL) != 0;
	} else if (e->flags & TRACE_EVENT_POLL && e->kind != TRACE_EVENT_POST) {
		finding_of(report, GRAPH_FINDING_POLL, event->rank, event->thread, e->site, e->call)
			->outcomes++;
	}
}

static void note_done(void *context, const struct graph_event *event, const struct graph_request *q)
{
	graph_choices_done(&((struct work *)context)->choices, event, q);
}

static void list(struct graph_report *report)
{
	struct graph_finding *f;

	report->finding = rp_alloc(report->keys.used, sizeof(*report->finding));
	for (size_t i = 0; (f = rp_map_next(&report->keys, &i));)
		report->finding[report->findings++] = f;
}

int graph_report_make(struct graph_report *report, const struct graph_source *source)
{
	struct work work = {report, {.context = &work, .race = choice_race}};
	struct graph_race_observer observer = {
		.context = &work,
		.race = race,
		.settled = settled,
		.received = received,
		.event = note_event,
		.done = note_done,
	};
	int rc;

	*report = (struct graph_report){.ranks = source->ranks};
	report->rank_wildcards = rp_alloc(source->ranks, sizeof(uint64_t));
	report->rank_racing = rp_alloc(source->ranks, sizeof(uint64_t));
	report->rank_received = rp_alloc(source->ranks, sizeof(uint64_t));
	rc = graph_races_find(source, &observer);
	graph_choices_free(&work.choices);
	list(report);
	if (rc)
		graph_report_free(report);
	return rc ? RP_EXIT_BAD_INPUT : 0;
}

void graph_report_free(struct graph_report *report)
{
	for (size_t i = 0; i < report->findings; i++)
		free(report->finding[i]);
	free(report->finding);
	free(report->rank_wildcards);
	free(report->rank_racing);
	free(report->rank_received);
	rp_map_free(&report->keys);
	*report = (struct graph_report){0};
}
