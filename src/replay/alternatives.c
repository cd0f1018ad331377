/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alternatives from the races of a trace: what graph/ found, in the words of the streams that
 * replay reads, with places in the source.
 */
#include "replay/alternatives.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "graph/alternative.h"

void replay_alternative_clear(struct replay_alternative *a)
{
	for (size_t i = 0; i < a->cut.n; i++)
		free((char *)a->cut.at[i].thread);
	free(a->cut.at);
	free((char *)a->force.at.thread);
	free(a->force.kept);
	free(a->place);
	*a = (struct replay_alternative){0};
}

void replay_alternatives_free(struct replay_alternatives *list)
{
	for (size_t i = 0; i < list->n; i++)
		replay_alternative_clear(&list->item[i]);
	free(list->item);
	*list = (struct replay_alternatives){0};
}

/* The place may have the name of the function behind it. */
static bool is_wanted(void *context, unsigned rank, uint32_t thread, uint32_t site)
{
	const struct replay_alternatives_wanted *w = context;
	const char *place = w->place(w->context, rank, thread, site);
	size_t n = strlen(w->line);

	return !strncmp(place, w->line, n) && (!place[n] || place[n] == ' ');
}

static struct replay_position position_of(const struct graph_source *source,
					  const struct graph_position *at)
{
	return (struct replay_position){
		.rank = at->rank,
		.process = graph_source_process(source, at->rank, at->thread),
		.thread = rp_strdup(source->thread(source->context, at->rank, at->thread)),
		.event = at->event,
		.inside = at->inside,
	};
}

/* false if the trace does not have what the race speaks of. */
static bool convert(const struct graph_source *source, const struct trace_run *run,
		    const struct replay_alternatives_wanted *wanted,
		    const struct graph_alternative *from, struct replay_alternative *to)
{
	*to = (struct replay_alternative){
		.forced = true,
		.force = {.at = position_of(source, &from->at),
			  .is_post = from->is_post,
			  .post = from->post,
			  .value = from->is_choice ? 0 : (uint32_t)from->source,
			  .by_receive = from->is_choice,
			  .receive = from->receive},
		.posted_by = from->posted_by,
		.place = rp_strdup(
			wanted->place(wanted->context, from->at.rank, from->thread, from->site)),
	};
	to->force.kept = rp_alloc(from->keeps, sizeof(*from->kept));
	to->force.keeps = from->keeps;
	if (from->keeps)
		memcpy(to->force.kept, from->kept, from->keeps * sizeof(*from->kept));
	to->cut.at = rp_alloc(from->cuts, sizeof(*to->cut.at));
	for (size_t i = 0; i < from->cuts; i++)
		to->cut.at[to->cut.n++] = position_of(source, &from->cut[i]);
	return replay_outcome_find(run, &to->force, &to->recorded) == 0;
}

static void convert_all(const struct graph_source *source, const struct trace_run *run,
			const struct replay_alternatives_wanted *wanted,
			const struct graph_alternatives *found, struct replay_alternatives *list)
{
	size_t missing = 0;

	list->item = rp_alloc(found->n, sizeof(*list->item));
	for (size_t i = 0; i < found->n; i++) {
		struct replay_alternative *a = &list->item[list->n++];

		if (convert(source, run, wanted, &found->item[i], a))
			continue;
		missing++;
		list->n--;
		replay_alternative_clear(a);
	}
	if (missing)
		rp_say("%zu alternatives cannot be forced: their outcomes are not in the trace",
		       missing);
}

int replay_alternatives_find(const struct graph_source *source, const struct trace_run *run,
			     const struct replay_alternatives_wanted *wanted,
			     struct replay_alternatives *list)
{
	struct graph_alternatives_wanted from_graph = {.all = wanted->all, .limit = wanted->limit};
	struct graph_alternatives found;

	if (wanted->line) {
		from_graph.is_wanted = is_wanted;
		from_graph.context = (void *)wanted;
	}
	if (graph_alternatives_find(source, &from_graph, &found))
		return RP_EXIT_BAD_INPUT;
	convert_all(source, run, wanted, &found, list);
	list->left_out = found.others;
	graph_alternatives_free(&found);
	return 0;
}
