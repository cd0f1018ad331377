/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events in words. Places are looked up once per site and thread: symbols cost far more than
 * events.
 */
#include "cmd/dump-events.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/place.h"
#include "cmd/show.h"
#include "trace/calls.h"
#include "trace/events.h"

static const char *const kinds[TRACE_EVENT_KINDS] = {
	[TRACE_EVENT_SEND] = "send",   [TRACE_EVENT_RECV] = "recv",
	[TRACE_EVENT_POST] = "post",   [TRACE_EVENT_DONE] = "done",
	[TRACE_EVENT_PROBE] = "probe", [TRACE_EVENT_MPROBE] = "mprobe",
	[TRACE_EVENT_COLL] = "coll",   [TRACE_EVENT_CHOICE] = "choice",
	[TRACE_EVENT_ICOLL] = "icoll", [TRACE_EVENT_CANCEL] = "cancel",
	[TRACE_EVENT_COMM] = "comm",   [TRACE_EVENT_NEIGHBOUR] = "neighbour",
};

/* The streams of one thread. */
struct source {
	const struct trace_stream_name *name;
	unsigned rank;
	struct trace_events_reader *reader;
	struct trace_sites sites;
	const struct trace_modules *modules;
	char **place;   /* by site; NULL until it is asked for */
	json_t **stack; /* the same, for scripts */
};

static const char *place_of(struct source *s, uint32_t site)
{
	uint64_t address[TRACE_SITE_DEPTH];
	uint32_t depth;

	if (site > s->sites.count)
		site = 0;
	if (!s->place[site]) {
		depth = trace_sites_get(&s->sites, site, address);
		s->place[site] = cmd_place_text(s->modules, address, depth);
	}
	return s->place[site];
}

static json_t *stack_of(struct source *s, uint32_t site)
{
	uint64_t address[TRACE_SITE_DEPTH];
	char **places;
	uint32_t depth;

	if (site > s->sites.count)
		site = 0;
	if (!s->stack[site]) {
		depth = trace_sites_get(&s->sites, site, address);
		places = cmd_place_stack(s->modules, address, depth);
		s->stack[site] = cmd_show_json_list(places);
		rp_strings_free(places);
	}
	return json_incref(s->stack[site]);
}

static void print_number(int32_t value)
{
	if (value == TRACE_ANY)
		printf(" any");
	else if (value == TRACE_NO_PEER)
		printf(" none");
	else
		printf(" %" PRId32, value);
}

static void print_peer(const char *word, int32_t peer)
{
	printf(" %s", word);
	print_number(peer);
}

static void print_wanted(const struct trace_event *e)
{
	print_peer("from", e->want_peer);
	printf(" tag");
	if (e->want_tag == TRACE_ANY)
		printf(" any");
	else
		printf(" %" PRId32, e->want_tag);
}

static void print_outcome(const struct trace_event *e)
{
	if (e->flags & TRACE_EVENT_INSIDE)
		return;
	if (e->peer == TRACE_NO_PEER)
		printf(": none");
	else
		printf(": %" PRId32 " tag %" PRId32 " bytes %" PRIu64, e->peer, e->tag, e->bytes);
}

static void print_collective(const struct trace_event *e)
{
	if (e->peer != TRACE_NO_PEER)
		print_peer("root", e->peer);
	if (e->bytes)
		printf(" bytes %" PRIu64, e->bytes);
}

static void print_comm(const struct trace_event *e)
{
	printf(" %" PRIu32 " is %016" PRIx64 " size %" PRIu64 " rank %" PRId32, e->comm, e->id,
	       e->bytes, e->peer);
	if (e->want_peer)
		printf(" remote %" PRId32 "%s", e->want_peer, e->want_tag ? " second" : "");
}

static void print_details(const struct trace_event *e)
{
	switch (e->kind) {
	case TRACE_EVENT_SEND:
		print_peer("to", e->peer);
		printf(" tag %" PRId32 " bytes %" PRIu64, e->tag, e->bytes);
		break;
	case TRACE_EVENT_RECV:
	case TRACE_EVENT_PROBE:
	case TRACE_EVENT_MPROBE:
		print_wanted(e);
		print_outcome(e);
		break;
	case TRACE_EVENT_POST:
		print_wanted(e);
		break;
	case TRACE_EVENT_DONE:
		if (e->peer != TRACE_NO_PEER)
			print_outcome(e);
		break;
	case TRACE_EVENT_CANCEL:
		if (e->peer != TRACE_NO_PEER)
			print_peer("takes from", e->peer);
		break;
	case TRACE_EVENT_CHOICE:
		printf(" %" PRIu64 " of %" PRIu64, e->id, e->bytes);
		break;
	case TRACE_EVENT_COLL:
	case TRACE_EVENT_ICOLL:
		print_collective(e);
		break;
	case TRACE_EVENT_COMM:
		print_comm(e);
		break;
	default:
		print_peer("is", e->peer);
	}
}

static void print_text(struct source *s, const struct trace_event *e)
{
	static const char *const flags[] = {"sync", "poll", "inside", "failed"};

	printf("%u", s->rank);
	if (s->name->process)
		printf("/%" PRIu32, s->name->process);
	if (strcmp(s->name->thread, "0") != 0)
		printf(".%s", s->name->thread);
	printf("@%" PRIu64 "\t%s\t%s", e->number, trace_call_name(e->call), kinds[e->kind]);
	if (e->id && e->kind != TRACE_EVENT_CHOICE && e->kind != TRACE_EVENT_COMM)
		printf(" #%" PRIu64, e->id);
	print_details(e);
	if (e->comm > 1 && e->kind != TRACE_EVENT_COMM)
		printf(" comm %" PRIu32, e->comm);
	for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (e->flags & 1u << i)
			printf(", %s", flags[i]);
	}
	printf("\t%s\n", place_of(s, e->site));
}

static void print_json(struct source *s, const struct trace_event *e)
{
	char *name = rp_format("%016" PRIx64, e->id);
	json_t *object = json_pack(
		"{s:I, s:I, s:s, s:I, s:I, s:I, s:s, s:s, s:I, s:I, s:i, s:i, s:i, s:i, s:I}",
		"rank", (json_int_t)s->rank, "process", (json_int_t)s->name->process, "thread",
		s->name->thread, "event", (json_int_t)e->number, "seq", (json_int_t)e->seq, "time",
		(json_int_t)e->time, "kind", kinds[e->kind], "call", trace_call_name(e->call),
		"comm", (json_int_t)e->comm, "bytes", (json_int_t)e->bytes, "peer", (int)e->peer,
		"tag", (int)e->tag, "want_peer", (int)e->want_peer, "want_tag", (int)e->want_tag,
		"flags", (json_int_t)e->flags);

	if (e->kind == TRACE_EVENT_COMM)
		json_object_set_new(object, "name", json_string(name));
	else
		json_object_set_new(object, "id", json_integer((json_int_t)e->id));
	json_object_set_new(object, "place", cmd_show_json(place_of(s, e->site)));
	json_object_set_new(object, "stack", stack_of(s, e->site));
	cmd_show_json_line(object, JSON_COMPACT);
	free(name);
}

static int say_damaged(const struct trace_dir *dir, unsigned rank, const char *name,
		       const char *why)
{
	fflush(stdout);
	rp_say("graph/rank-%04u/%s of the trace %s %s; 'reprise evaluate --again' makes it anew",
	       rank, name, dir->show, why);
	return RP_EXIT_BAD_INPUT;
}

static int print_stream(const struct trace_dir *dir, struct source *s, bool json)
{
	const struct trace_event *e;
	int rc;

	while ((rc = trace_events_next(s->reader, &e)) == 1 && !ferror(stdout)) {
		if (json)
			print_json(s, e);
		else
			print_text(s, e);
	}
	return rc < 0 ? say_damaged(dir, s->rank, s->name->name, "makes no sense from here on") : 0;
}

static int dump_stream(const struct trace_dir *dir, struct source *s, int rankfd, bool json)
{
	size_t stem = strlen(s->name->name) - strlen("events");
	char *sites = rp_format("%.*ssites", (int)stem, s->name->name);
	const char *why;
	int code = 0;

	s->reader = rp_alloc(1, sizeof(*s->reader));
	if (trace_events_open(s->reader, rankfd, s->name->name, &why)) {
		code = say_damaged(dir, s->rank, s->name->name, why);
		goto free_reader;
	}
	if (trace_sites_open(&s->sites, rankfd, sites, &why)) {
		code = say_damaged(dir, s->rank, sites, why);
		goto close_reader;
	}
	s->place = rp_alloc((size_t)s->sites.count + 1, sizeof(*s->place));
	s->stack = rp_alloc((size_t)s->sites.count + 1, sizeof(*s->stack));
	code = print_stream(dir, s, json);
	for (uint32_t i = 0; i <= s->sites.count; i++) {
		free(s->place[i]);
		json_decref(s->stack[i]);
	}
	free(s->place);
	free(s->stack);
	trace_sites_close(&s->sites);
close_reader:
	trace_events_reader_close(s->reader);
free_reader:
	free(s->reader);
	free(sites);
	return code;
}

static int dump_rank(const struct trace_dir *dir, const struct trace_dir *graph, unsigned rank,
		     const char *thread, bool json, size_t *found)
{
	struct trace_streams streams;
	int rankfd, worst = 0, code = trace_dir_streams(graph, rank, &streams, &rankfd);

	if (code)
		return code;
	for (size_t i = 0; i < streams.n && !ferror(stdout); i++) {
		struct source s = {.name = &streams.stream[i], .rank = rank};
		struct trace_modules modules;

		if (s.name->kind != TRACE_STREAM_EVENTS ||
		    (thread && strcmp(thread, s.name->thread) != 0))
			continue;
		++*found;
		trace_modules_open(&modules, rankfd, s.name->process);
		s.modules = &modules;
		code = dump_stream(dir, &s, rankfd, json);
		worst = code ? code : worst;
		trace_modules_close(&modules);
	}
	close(rankfd);
	trace_streams_free(&streams);
	return worst;
}

int cmd_dump_events(const struct trace_dir *dir, long rank, const char *thread, bool json)
{
	struct trace_dir graph = {.path = dir->path, .show = dir->show};
	struct trace_ranks ranks;
	size_t found = 0;
	int worst = 0, code;

	graph.fd = openat(dir->fd, "graph", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (graph.fd < 0) {
		rp_say("the trace %s is not evaluated; run 'reprise evaluate %s'", dir->show,
		       dir->show);
		return RP_EXIT_BAD_INPUT;
	}
	code = trace_dir_ranks(&graph, &ranks);
	for (size_t i = 0; i < ranks.n && !code; i++) {
		if (rank >= 0 && (unsigned long)rank != ranks.rank[i])
			continue;
		worst |= dump_rank(dir, &graph, ranks.rank[i], thread, json, &found);
	}
	close(graph.fd);
	trace_ranks_free(&ranks);
	if (code || worst || found || (rank < 0 && !thread))
		return code ? code : worst;
	rp_say("the trace %s has no events of such a rank or thread", dir->show);
	return RP_EXIT_BAD_INPUT;
}
