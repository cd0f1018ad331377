/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alternatives from the races of a trace: what graph/ found, in the words of the streams that
 * replay reads, with places in the source.
 */
#include "cmd/explore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "cmd/place.h"
#include "graph/alternative.h"
#include "replay/evaluate.h"

struct places {
	const struct graph_source *source;
	struct trace_modules *modules; /* by rank */
	const char *at;                /* "file.c:12": wanted; or NULL */
	struct rp_map wanted;          /* (rank and thread, site): is it */
};

static void places_open(struct places *p, const struct trace_run *run,
			const struct graph_source *source, const char *at)
{
	*p = (struct places){.source = source, .at = at};
	p->modules = rp_alloc(source->ranks, sizeof(*p->modules));
	for (unsigned i = 0; i < source->ranks; i++) {
		char *path = rp_format("graph/rank-%04u", i);
		int fd = openat(run->dir.fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0) {
			trace_modules_open(&p->modules[i], fd, 0);
			close(fd);
		}
		free(path);
	}
}

static void places_close(struct places *p)
{
	for (unsigned i = 0; i < p->source->ranks; i++)
		trace_modules_close(&p->modules[i]);
	free(p->modules);
	rp_map_free(&p->wanted);
}

static char *place_of(const struct places *p, unsigned rank, uint32_t thread, uint32_t site)
{
	uint64_t address[TRACE_SITE_DEPTH];
	uint32_t depth = graph_source_site(p->source, rank, thread, site, address);

	return cmd_place_text(&p->modules[rank], address, depth);
}

static bool is_wanted(void *context, unsigned rank, uint32_t thread, uint32_t site)
{
	static char yes, no;
	struct places *p = context;
	uint64_t who = (uint64_t)rank << 32 | thread;
	const char *known = rp_map_get(&p->wanted, who, site);
	size_t n = strlen(p->at);
	char *place;

	if (!known) {
		place = place_of(p, rank, thread, site);
		known = !strncmp(place, p->at, n) && (!place[n] || place[n] == ' ') ? &yes : &no;
		rp_map_put(&p->wanted, who, site, (char *)known);
		free(place);
	}
	return known == &yes;
}

static struct replay_position position_of(const struct places *p, const struct graph_position *at)
{
	return (struct replay_position){
		.rank = at->rank,
		.thread = rp_strdup(p->source->thread(p->source->context, at->rank, at->thread)),
		.event = at->event,
	};
}

/* false if the trace does not have what the race speaks of. */
static bool convert(const struct places *p, const struct trace_run *run,
		    const struct graph_alternative *from, struct cmd_alternative *to)
{
	*to = (struct cmd_alternative){
		.forced = true,
		.force = {.at = position_of(p, &from->at),
			  .is_post = from->is_post,
			  .post = from->post,
			  .value = (uint32_t)from->source},
		.place = place_of(p, from->at.rank, from->thread, from->site),
	};
	to->cut.at = rp_alloc(from->cuts, sizeof(*to->cut.at));
	for (size_t i = 0; i < from->cuts; i++)
		to->cut.at[to->cut.n++] = position_of(p, &from->cut[i]);
	return replay_outcome_find(run, &to->force, &to->recorded) == 0;
}

static int convert_all(const struct places *p, const struct trace_run *run,
		       const struct graph_alternatives *found, struct cmd_alternatives *list)
{
	size_t missing = 0;

	list->item = rp_alloc(found->n, sizeof(*list->item));
	for (size_t i = 0; i < found->n; i++) {
		struct cmd_alternative *a = &list->item[list->n++];

		if (convert(p, run, &found->item[i], a))
			continue;
		missing++;
		list->n--;
		cmd_alternative_clear(a);
	}
	if (missing)
		rp_say("%zu alternatives cannot be forced: their outcomes are not in the trace",
		       missing);
	return 0;
}

int cmd_find_alternatives(const struct trace_run *run, const struct cmd_alternatives_wanted *wanted,
			  struct cmd_alternatives *list)
{
	struct graph_alternatives_wanted from_graph = {.all = wanted->all, .limit = wanted->limit};
	struct graph_alternatives found;
	struct graph_source source;
	struct places places;
	int code = replay_evaluate(run->dir.path, NULL);

	if (!code)
		code = graph_source_open(&source, &run->dir);
	if (code)
		return code;
	places_open(&places, run, &source, wanted->at);
	if (wanted->at) {
		from_graph.is_wanted = is_wanted;
		from_graph.context = &places;
	}
	if (graph_alternatives_find(&source, &from_graph, &found)) {
		code = RP_EXIT_BAD_INPUT;
	} else {
		code = convert_all(&places, run, &found, list);
		list->left_out = found.others;
		graph_alternatives_free(&found);
	}
	places_close(&places);
	graph_source_close(&source);
	return code;
}
