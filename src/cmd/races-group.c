/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same line in many ranks, or reached by several ways, is one place. A place that only polls is
 * another kind of chance: it comes last, and does not count as a race.
 */
#include "cmd/races.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/calls.h"

const char *cmd_races_kind(enum graph_finding_kind kind)
{
	static const char *const word[GRAPH_FINDING_KINDS] = {
		[GRAPH_FINDING_RECEIVE] = "receive",
		[GRAPH_FINDING_PROBE] = "probe",
		[GRAPH_FINDING_PROBED] = "probed-receive",
		[GRAPH_FINDING_CHOICE] = "completion",
		[GRAPH_FINDING_POLL] = "poll",
	};

	return word[kind];
}

static struct cmd_race_group *group_of(struct cmd_races *races, const char *place,
				       const struct graph_finding *f)
{
	const char *call = trace_call_name(f->call);
	struct cmd_race_group *group;

	for (size_t i = 0; i < races->groups; i++) {
		group = &races->group[i];
		if (group->sum.kind == f->kind && !strcmp(group->place, place) &&
		    !strcmp(group->call, call))
			return group;
	}
	races->group = rp_realloc(races->group, races->groups + 1, sizeof(*races->group));
	group = &races->group[races->groups++];
	*group = (struct cmd_race_group){.place = place, .call = call};
	group->sum.kind = f->kind;
	return group;
}

/* The example of a finding that has one, from the lowest rank. */
static void take_example(struct graph_finding *sum, const struct graph_finding *f)
{
	if (!f->index || (sum->index && sum->rank <= f->rank))
		return;
	sum->rank = f->rank;
	sum->thread = f->thread;
	sum->site = f->site;
	sum->number = f->number;
	sum->index = f->index;
	sum->probe_site = f->probe_site;
	sum->got = f->got;
	sum->other = f->other;
}

static void join(struct cmd_race_group *group, const struct graph_finding *f)
{
	struct graph_finding *sum = &group->sum;

	sum->poll |= f->poll;
	sum->differs |= f->differs;
	sum->outcomes += f->outcomes;
	sum->racing += f->racing;
	sum->alternatives += f->alternatives;
	sum->swapped += f->swapped;
	take_example(sum, f);
	if (!f->racing && f->kind != GRAPH_FINDING_POLL)
		return;
	group->rank = rp_realloc(group->rank, group->ranks + 1, sizeof(*group->rank));
	group->rank[group->ranks++] = f->rank;
}

static int by_number(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

static void sort_ranks(struct cmd_race_group *group)
{
	size_t n = 0;

	qsort(group->rank, group->ranks, sizeof(*group->rank), by_number);
	for (size_t i = 0; i < group->ranks; i++) {
		if (!n || group->rank[n - 1] != group->rank[i])
			group->rank[n++] = group->rank[i];
	}
	group->ranks = n;
}

static int worst_first(const void *a, const void *b)
{
	const struct cmd_race_group *x = a, *y = b;
	/* That another receive may take the message of a probe is hardly ever intended. */
	bool p = x->sum.kind == GRAPH_FINDING_PROBED && x->sum.racing;
	bool q = y->sum.kind == GRAPH_FINDING_PROBED && y->sum.racing;

	if (p != q)
		return p ? -1 : 1;
	if (x->sum.racing != y->sum.racing)
		return x->sum.racing > y->sum.racing ? -1 : 1;
	if (x->sum.alternatives != y->sum.alternatives)
		return x->sum.alternatives > y->sum.alternatives ? -1 : 1;
	if (x->sum.outcomes != y->sum.outcomes)
		return x->sum.outcomes > y->sum.outcomes ? -1 : 1;
	return strcmp(x->place, y->place);
}

/* Places where nothing could have been otherwise. */
static void drop_quiet(struct cmd_races *races)
{
	size_t n = 0;

	for (size_t i = 0; i < races->groups; i++) {
		struct cmd_race_group *group = &races->group[i];

		if (!group->ranks)
			continue;
		sort_ranks(group);
		races->racing += group->sum.racing != 0;
		races->group[n++] = *group;
	}
	races->groups = n;
}

void cmd_races_group(struct cmd_races *races, struct cmd_graph *graph,
		     const struct graph_report *report)
{
	*races = (struct cmd_races){.graph = graph, .report = report};
	for (size_t i = 0; i < report->findings; i++) {
		const struct graph_finding *f = report->finding[i];

		join(group_of(races, cmd_graph_place(graph, f->rank, f->thread, f->site), f), f);
	}
	drop_quiet(races);
	if (races->groups)
		qsort(races->group, races->groups, sizeof(*races->group), worst_first);
}

void cmd_races_free(struct cmd_races *races)
{
	for (size_t i = 0; i < races->groups; i++)
		free(races->group[i].rank);
	free(races->group);
}
