/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alternatives from the races of a trace: what graph/ found, in the words of the streams that
 * replay reads, with places in the source.
 */
#include "cmd/explore.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/races.h"
#include "graph/alternative.h"
#include "replay/evaluate.h"

struct wanted {
	struct cmd_graph *graph;
	const char *at; /* "file.c:12" */
};

/* The place may have the name of the function behind it. */
static bool is_wanted(void *context, unsigned rank, uint32_t thread, uint32_t site)
{
	const struct wanted *w = context;
	const char *place = cmd_graph_place(w->graph, rank, thread, site);
	size_t n = strlen(w->at);

	return !strncmp(place, w->at, n) && (!place[n] || place[n] == ' ');
}

static struct replay_position position_of(const struct cmd_graph *g,
					  const struct graph_position *at)
{
	return (struct replay_position){
		.rank = at->rank,
		.process = graph_source_process(&g->source, at->rank, at->thread),
		.thread = rp_strdup(g->source.thread(g->source.context, at->rank, at->thread)),
		.event = at->event,
		.inside = at->inside,
	};
}

/* false if the trace does not have what the race speaks of. */
static bool convert(struct cmd_graph *g, const struct trace_run *run,
		    const struct graph_alternative *from, struct cmd_alternative *to)
{
	*to = (struct cmd_alternative){
		.forced = true,
		.force = {.at = position_of(g, &from->at),
			  .is_post = from->is_post,
			  .post = from->post,
			  .value = from->is_choice ? 0 : (uint32_t)from->source,
			  .by_receive = from->is_choice,
			  .receive = from->receive},
		.posted_by = from->posted_by,
		.place = rp_strdup(cmd_graph_place(g, from->at.rank, from->thread, from->site)),
	};
	to->force.kept = rp_alloc(from->keeps, sizeof(*from->kept));
	to->force.keeps = from->keeps;
	if (from->keeps)
		memcpy(to->force.kept, from->kept, from->keeps * sizeof(*from->kept));
	to->cut.at = rp_alloc(from->cuts, sizeof(*to->cut.at));
	for (size_t i = 0; i < from->cuts; i++)
		to->cut.at[to->cut.n++] = position_of(g, &from->cut[i]);
	return replay_outcome_find(run, &to->force, &to->recorded) == 0;
}

static void convert_all(struct cmd_graph *g, const struct trace_run *run,
			const struct graph_alternatives *found, struct cmd_alternatives *list)
{
	size_t missing = 0;

	list->item = rp_alloc(found->n, sizeof(*list->item));
	for (size_t i = 0; i < found->n; i++) {
		struct cmd_alternative *a = &list->item[list->n++];

		if (convert(g, run, &found->item[i], a))
			continue;
		missing++;
		list->n--;
		cmd_alternative_clear(a);
	}
	if (missing)
		rp_say("%zu alternatives cannot be forced: their outcomes are not in the trace",
		       missing);
}

/* The place of the n-th race that `reprise races` shows. */
static int place_of_race(struct cmd_graph *g, size_t race, char **place)
{
	struct graph_report report = {0};
	struct cmd_races races;
	int code = graph_report_make(&report, &g->source);

	if (code)
		return code;
	cmd_races_group(&races, g, &report);
	if (race <= races.racing) {
		*place = rp_strdup(races.group[race - 1].place);
	} else {
		rp_say("there is no race %zu: 'reprise races' shows %zu", race, races.racing);
		code = RP_EXIT_BAD_INPUT;
	}
	cmd_races_free(&races);
	graph_report_free(&report);
	return code;
}

static int find(struct cmd_graph *g, const struct trace_run *run,
		const struct cmd_alternatives_wanted *wanted, struct cmd_alternatives *list)
{
	struct graph_alternatives_wanted from_graph = {.all = wanted->all, .limit = wanted->limit};
	struct wanted places = {.graph = g, .at = wanted->at};
	struct graph_alternatives found;
	char *place = NULL;
	int code = wanted->race ? place_of_race(g, wanted->race, &place) : 0;

	if (code)
		return code;
	if (place)
		places.at = place;
	if (places.at) {
		from_graph.is_wanted = is_wanted;
		from_graph.context = &places;
	}
	if (graph_alternatives_find(&g->source, &from_graph, &found)) {
		code = RP_EXIT_BAD_INPUT;
	} else {
		convert_all(g, run, &found, list);
		list->left_out = found.others;
		graph_alternatives_free(&found);
	}
	free(place);
	return code;
}

int cmd_find_alternatives(const char *path, const struct trace_run *run,
			  const struct cmd_alternatives_wanted *wanted,
			  struct cmd_alternatives *list)
{
	struct cmd_graph graph;
	int code = replay_evaluate(path, &(struct replay_evaluate){0});

	if (!code)
		code = cmd_graph_open(&graph, path);
	if (code)
		return code;
	code = find(&graph, run, wanted, list);
	cmd_graph_close(&graph);
	return code;
}
