/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process after the other. Invariant: everything that the walk takes as an index (ranks,
 * communicators, posts) was checked here, once, for all events.
 */
#include "graph/survey.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"

#define RANKS_MAX (1 << 29) /* what graph_outcome holds */

struct reading {
	struct graph_survey *survey;
	const struct graph_source *source;
	struct graph_match *match;
	unsigned rank;
	struct rp_map comms; /* this process's numbers: those of the survey + 1 */
	struct rp_map open;  /* ids of posted receives: their numbers + 1 */
	size_t room;
};

static int bad(const struct reading *r, const struct trace_event *e, const char *what)
{
	rp_say("the event streams are damaged: event %" PRIu64 " of rank %u names %s", e->number,
	       r->rank, what);
	return -EBADMSG;
}

uint32_t graph_survey_comm(const struct graph_survey *survey, uint64_t name)
{
	return (uint32_t)((uintptr_t)rp_map_get(&survey->comms, name, 0) - 1);
}

static void add_comm(struct reading *r, const struct trace_event *e)
{
	struct graph_survey *survey = r->survey;

	if (!rp_map_get(&survey->comms, e->id, 0))
		rp_map_put(&survey->comms, e->id, 0, (void *)(survey->comms.used + 1));
	rp_map_put(&r->comms, e->comm, 0, rp_map_get(&survey->comms, e->id, 0));
}

/* What becomes of a receive that the run does not get to: its message is nobody else's. */
static struct graph_outcome never_seen(const struct trace_event *e)
{
	int32_t peer = e->peer >= 0 ? e->peer : e->want_peer;

	if (peer < 0 || e->flags & TRACE_EVENT_FAILED)
		return (struct graph_outcome){.peer = TRACE_NO_PEER, .tag = e->want_tag};
	return (struct graph_outcome){.peer = peer, .fate = GRAPH_FATE_SILENT, .tag = e->want_tag};
}

static void add_post(struct reading *r, const struct trace_event *e)
{
	struct graph_survey *survey = r->survey;
	size_t n = survey->posts[r->rank]++;

	if (n == r->room) {
		r->room = r->room ? r->room * 2 : 256;
		survey->outcome[r->rank] =
			rp_realloc(survey->outcome[r->rank], r->room, sizeof(struct graph_outcome));
	}
	survey->outcome[r->rank][n] = never_seen(e);
	if (e->id)
		rp_map_put(&r->open, e->id, 0, (void *)(n + 1));
}

static void end_post(struct reading *r, const struct trace_event *e, enum graph_fate fate)
{
	uintptr_t n = (uintptr_t)rp_map_remove(&r->open, e->id, 0);
	struct graph_outcome *outcome;

	if (!n || e->flags & TRACE_EVENT_INSIDE)
		return;
	outcome = &r->survey->outcome[r->rank][n - 1];
	outcome->peer = e->peer;
	outcome->fate = e->peer < 0 ? GRAPH_FATE_NONE : fate;
	if (outcome->fate == GRAPH_FATE_SEEN)
		outcome->tag = e->tag;
}

static void add_send(struct reading *r, const struct trace_event *e, uint32_t comm)
{
	struct graph_lane *lane;

	if (e->peer < 0)
		return;
	lane = graph_match_lane(r->match, comm, r->rank, (unsigned)e->peer);
	lane->remaining++;
	r->survey->messages++;
}

static bool names_comm(const struct trace_event *e)
{
	switch (e->kind) {
	case TRACE_EVENT_DONE:
	case TRACE_EVENT_CANCEL:
	case TRACE_EVENT_CHOICE:
	case TRACE_EVENT_COMM:
		return false;
	default:
		return true;
	}
}

static int read_event(struct reading *r, const struct trace_event *e)
{
	uintptr_t comm = 0;

	if (e->kind != TRACE_EVENT_COMM &&
	    (e->peer >= (int32_t)r->source->ranks || e->want_peer >= (int32_t)r->source->ranks))
		return bad(r, e, "a rank that does not exist");
	if (names_comm(e) && (e->peer >= 0 || e->kind == TRACE_EVENT_COLL ||
			      e->kind == TRACE_EVENT_ICOLL || e->kind == TRACE_EVENT_POST)) {
		comm = (uintptr_t)rp_map_get(&r->comms, e->comm, 0);
		if (!comm)
			return bad(r, e, "a communicator that does not exist");
	}
	switch (e->kind) {
	case TRACE_EVENT_COMM:
		add_comm(r, e);
		break;
	case TRACE_EVENT_SEND:
		add_send(r, e, (uint32_t)(comm - 1));
		break;
	case TRACE_EVENT_POST:
		add_post(r, e);
		break;
	case TRACE_EVENT_DONE:
		end_post(r, e, GRAPH_FATE_SEEN);
		break;
	case TRACE_EVENT_CANCEL:
		end_post(r, e, GRAPH_FATE_SILENT);
		break;
	default:
		break;
	}
	return 0;
}

static int read_process(struct reading *r)
{
	const struct trace_event *e;
	uint32_t thread;
	int rc;

	while ((rc = r->source->next(r->source->context, r->rank, &e, &thread)) > 0) {
		if (++r->survey->events[r->rank] >= UINT32_MAX) {
			rp_say("rank %u has more than %u events, more than can be analysed",
			       r->rank, UINT32_MAX);
			return -EBADMSG;
		}
		rc = read_event(r, e);
		if (rc)
			return rc;
	}
	return rc;
}

int graph_survey_make(struct graph_survey *survey, const struct graph_source *source,
		      struct graph_match *match)
{
	unsigned ranks = source->ranks;
	int rc = 0;

	*survey = (struct graph_survey){0};
	if (ranks > RANKS_MAX)
		return -EBADMSG;
	survey->outcome = rp_alloc(ranks, sizeof(*survey->outcome));
	survey->posts = rp_alloc(ranks, sizeof(*survey->posts));
	survey->events = rp_alloc(ranks, sizeof(*survey->events));
	source->rewind(source->context);
	for (unsigned rank = 0; rank < ranks && !rc; rank++) {
		struct reading r = {survey, source, match, rank, {0}, {0}, 0};

		rc = read_process(&r);
		rp_map_free(&r.comms);
		rp_map_free(&r.open);
	}
	return rc;
}

void graph_survey_free(struct graph_survey *survey, unsigned ranks)
{
	for (unsigned i = 0; survey->outcome && i < ranks; i++)
		free(survey->outcome[i]);
	free(survey->outcome);
	free(survey->posts);
	free(survey->events);
	rp_map_free(&survey->comms);
}
