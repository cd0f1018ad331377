/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "monitor race": which outcomes of a rank could have been others, nearest to where it is. Events
 * are walked over once for each question. Of a receive, what it got may be known only when it is
 * settled.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cmd/gdb.h"
#include "graph/choice.h"
#include "graph/race.h"
#include "trace/calls.h"

#define OTHERS 8 /* messages that could have come, shown */

struct race {
	uint64_t number; /* of its event; 0: there is none */
	uint32_t index, thread, site;
	uint16_t call;
	bool is_choice;
	struct graph_finding_message got, other[OTHERS];
	size_t others;
};

struct near {
	unsigned rank;
	uint64_t event;
	struct race last, next;
	uint64_t outcomes, racing;
	bool elsewhere; /* there are races of other threads */
	struct graph_choices choices;
};

/*
 * Where that race is to be noted; NULL: another one is nearer, or it is of another thread than the
 * first, whose events are not those that are counted here.
 */
static struct race *place_for(struct near *n, uint32_t thread, uint64_t number, uint32_t index,
			      bool is_choice)
{
	struct race *r = number <= n->event ? &n->last : &n->next;
	bool nearer = number <= n->event ? number > r->number : number < r->number;

	if (thread) {
		n->elsewhere = true;
		return NULL;
	}
	if (r->number == number && r->index == index && r->is_choice == is_choice)
		return r;
	if (r->number && !nearer)
		return NULL;
	*r = (struct race){.number = number, .index = index, .is_choice = is_choice};
	return r;
}

static void describe(struct race *race, const struct graph_racer *r)
{
	race->thread = r->thread;
	race->site = r->site;
	race->call = r->call;
	race->got = (struct graph_finding_message){(unsigned)r->peer, r->sent_thread, r->sent_site,
						   r->sent_number,    r->tag,         r->bytes};
}

static void note_other(struct race *r, const struct graph_finding_message *other)
{
	if (r->others < OTHERS)
		r->other[r->others] = *other;
	r->others++;
}

static void note_pair(void *context, unsigned rank, const struct graph_racer *r,
		      const struct graph_message *m)
{
	struct near *n = context;
	struct graph_finding_message other = cmd_graph_sent(m);
	struct race *race =
		rank == n->rank ? place_for(n, r->thread, r->number, r->index, false) : NULL;

	if (!race)
		return;
	describe(race, r);
	note_other(race, &other);
}

static void note_settled(void *context, unsigned rank, const struct graph_racer *r)
{
	struct near *n = context;
	struct race *race;

	if (rank != n->rank)
		return;
	n->outcomes++;
	if (!(r->flags & GRAPH_RACER_RACES))
		return;
	n->racing++;
	race = place_for(n, r->thread, r->number, r->index, false);
	if (race)
		describe(race, r);
}

static void note_choice(void *context, unsigned rank, const struct graph_choice *choice,
			const struct graph_request *other)
{
	struct near *n = context;
	struct graph_finding_message m = {rank, other->thread, other->site, other->number, 0, 0};
	struct race *race;

	if (rank != n->rank)
		return;
	n->racing++;
	race = place_for(n, choice->thread, choice->number, choice->index, true);
	if (!race)
		return;
	race->thread = choice->thread;
	race->site = choice->site;
	race->call = choice->call;
	note_other(race, &m);
}

static void note_event(void *context, const struct graph_event *event)
{
	struct near *n = context;

	n->outcomes += event->rank == n->rank && event->event->kind == TRACE_EVENT_CHOICE;
	graph_choices_event(&n->choices, event);
}

static void note_done(void *context, const struct graph_event *event, const struct graph_request *q)
{
	graph_choices_done(&((struct near *)context)->choices, event, q);
}

static void add(char **text, char *line)
{
	char *both = rp_format("%s%s\n", *text, line);

	free(*text);
	free(line);
	*text = both;
}

static char *other_text(struct cmd_graph *g, const struct race *r,
			const struct graph_finding_message *other)
{
	char *text, *at;

	if (!r->is_choice) {
		at = cmd_graph_message(g, other);
		text = rp_format("  could have come instead: %s", at);
	} else {
		at = cmd_graph_position(g, other->rank, other->thread, other->number);
		text = rp_format("  could have completed instead: the request of %s (%s)",
				 cmd_graph_place(g, other->rank, other->thread, other->site), at);
	}
	free(at);
	return text;
}

static void add_race(char **text, struct cmd_graph *g, unsigned rank, const char *which,
		     const struct race *r)
{
	char *at = cmd_graph_position(g, rank, r->thread, r->number), *got;

	add(text, rp_format("%s: %s at %s (%s)", which, trace_call_name(r->call),
			    cmd_graph_place(g, rank, r->thread, r->site), at));
	free(at);
	if (r->got.number) {
		got = cmd_graph_message(g, &r->got);
		add(text, rp_format("  came: %s", got));
		free(got);
	}
	for (size_t i = 0; i < r->others && i < OTHERS; i++)
		add(text, other_text(g, r, &r->other[i]));
	if (r->others > OTHERS)
		add(text, rp_format("  and %zu more", r->others - OTHERS));
}

char *cmd_gdb_race(void *context, unsigned rank, uint64_t event, bool inside)
{
	struct cmd_gdb_races *races = context;
	struct near n = {.rank = rank, .event = event};
	struct graph_race_observer observer = {.context = &n,
					       .race = note_pair,
					       .settled = note_settled,
					       .event = note_event,
					       .done = note_done};
	char *text = rp_strdup("");
	int rc;

	if (!races->is_open && cmd_graph_open(&races->graph, races->trace) != 0)
		return text;
	races->is_open = true;
	n.choices = (struct graph_choices){.context = &n, .race = note_choice};
	rc = graph_races_find(&races->graph.source, &observer);
	graph_choices_free(&n.choices);
	if (rc)
		return text;
	if (n.last.number)
		add_race(&text, &races->graph, rank,
			 inside && n.last.number == event ? "here" : "the last one before",
			 &n.last);
	if (n.next.number)
		add_race(&text, &races->graph, rank, "the next one", &n.next);
	if (n.elsewhere)
		add(&text, rp_strdup("there are more, of other threads than the first"));
	add(&text, rp_format("%" PRIu64 " of %" PRIu64 " outcomes of rank %u race", n.racing,
			     n.outcomes, rank));
	return text;
}

void cmd_gdb_races_close(struct cmd_gdb_races *races)
{
	if (races->is_open)
		cmd_graph_close(&races->graph);
	races->is_open = false;
}
