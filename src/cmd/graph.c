/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols cost far more than events: each site is looked up once. */
#include "cmd/graph.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/place.h"
#include "replay/evaluate.h"

int cmd_graph_open(struct cmd_graph *g, const char *trace)
{
	int code;

	*g = (struct cmd_graph){0};
	code = trace_dir_open(&g->dir, trace);
	if (code)
		return code;
	code = replay_evaluate(g->dir.path, NULL);
	if (!code)
		code = graph_source_open(&g->source, &g->dir);
	if (code)
		trace_dir_close(&g->dir);
	return code;
}

void cmd_graph_close(struct cmd_graph *g)
{
	struct trace_modules *modules;
	char *place;

	for (size_t i = 0; (modules = rp_map_next(&g->modules, &i)); free(modules))
		trace_modules_close(modules);
	for (size_t i = 0; (place = rp_map_next(&g->places, &i));)
		free(place);
	rp_map_free(&g->modules);
	rp_map_free(&g->places);
	graph_source_close(&g->source);
	trace_dir_close(&g->dir);
}

int cmd_graph_check_messages(const struct trace_run *run, const char *show)
{
	struct trace_run_rank sum;

	trace_run_total(run, &sum);
	for (size_t i = 0; i < run->ranks; i++) {
		if (run->rank[i].world)
			return 0;
	}
	if (!sum.syncs)
		return 0;
	rp_say("the run in %s has no MPI: Reprise looks for races of messages only, not for data "
	       "that threads share without locks",
	       show);
	return RP_EXIT_BAD_INPUT;
}

static const struct trace_modules *modules_of(struct cmd_graph *g, unsigned rank, uint32_t process)
{
	struct trace_modules *modules = rp_map_get(&g->modules, rank, process);
	char *path;
	int fd;

	if (modules)
		return modules;
	modules = rp_alloc(1, sizeof(*modules));
	path = rp_format("graph/rank-%04u", rank);
	fd = openat(g->dir.fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(path);
	trace_modules_open(modules, fd, process);
	if (fd >= 0)
		close(fd);
	rp_map_put(&g->modules, rank, process, modules);
	return modules;
}

const char *cmd_graph_place(struct cmd_graph *g, unsigned rank, uint32_t thread, uint32_t site)
{
	uint64_t who = (uint64_t)rank << 32 | thread, address[TRACE_SITE_DEPTH];
	char *place = rp_map_get(&g->places, who, site);
	uint32_t depth;

	if (place)
		return place;
	depth = graph_source_site(&g->source, rank, thread, site, address);
	place = cmd_place_text(modules_of(g, rank, graph_source_process(&g->source, rank, thread)),
			       address, depth);
	rp_map_put(&g->places, who, site, place);
	return place;
}

char **cmd_graph_stack(struct cmd_graph *g, unsigned rank, uint32_t thread, uint32_t site)
{
	uint64_t address[TRACE_SITE_DEPTH];
	uint32_t depth = graph_source_site(&g->source, rank, thread, site, address);

	return cmd_place_stack(modules_of(g, rank, graph_source_process(&g->source, rank, thread)),
			       address, depth);
}

char *cmd_graph_position(const struct cmd_graph *g, unsigned rank, uint32_t thread, uint64_t number)
{
	const char *name = g->source.thread(g->source.context, rank, thread);

	if (!strcmp(name, "0"))
		return rp_format("%u@%" PRIu64, rank, number);
	return rp_format("%u.%s@%" PRIu64, rank, name, number);
}

struct graph_finding_message cmd_graph_sent(const struct graph_message *m)
{
	return (struct graph_finding_message){.rank = m->channel->lane->sender,
					      .thread = m->thread,
					      .site = m->site,
					      .number = m->number,
					      .tag = m->channel->tag,
					      .bytes = m->bytes};
}

char *cmd_graph_message(struct cmd_graph *g, const struct graph_finding_message *m)
{
	char *at = cmd_graph_position(g, m->rank, m->thread, m->number);
	char *text = rp_format("from rank %u, tag %" PRId32 ", %" PRIu64 " bytes, sent at %s (%s)",
			       m->rank, m->tag, m->bytes,
			       cmd_graph_place(g, m->rank, m->thread, m->site), at);

	free(at);
	return text;
}
