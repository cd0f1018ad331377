/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one thread after the other. Texts are kept once each, so that equal places are equal
 * pointers; a place costs far more than an operation and is looked up once per thread and site.
 */
#include "graph/objects.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "trace/events.h"
#include "trace/objects.h"

/* The stream at work. */
struct source {
	struct graph_objects *all;
	const struct graph_objects_names *names;
	const struct trace_dir *dir;
	const struct trace_stream_name *name;
	unsigned rank;
	int rankfd;
	uint64_t number; /* of the thread, from 1 */
	struct trace_modules modules;
	struct trace_sites sites, made;
	struct rp_map places; /* by site and stream */
	struct rp_map ops;    /* names and kinds, by number */
	struct graph_thread *thread;
	struct graph_object *object;
};

/* Takes the text and gives the one that is kept. */
static const char *keep(struct graph_objects *all, char *text)
{
	XXH128_hash_t hash = XXH3_128bits(text, strlen(text));
	char *there = rp_map_get(&all->texts, hash.low64, hash.high64);

	if (there) {
		free(text);
		return there;
	}
	rp_map_put(&all->texts, hash.low64, hash.high64, text);
	return text;
}

static const char *place_of(struct source *s, const struct trace_sites *sites, uint64_t site)
{
	uint64_t address[TRACE_SITE_DEPTH];
	const char *known = rp_map_get(&s->places, site, sites == &s->made);
	uint32_t depth;

	if (known)
		return known;
	depth = site <= sites->count ? trace_sites_get(sites, (uint32_t)site, address) : 0;
	known = keep(s->all, s->names->place(&s->modules, address, depth));
	rp_map_put(&s->places, site, sites == &s->made, (char *)known);
	return known;
}

static const char *text_of(struct source *s, const char *text)
{
	return keep(s->all, rp_text_cleaned(text, "?", false));
}

static const char *start_of(struct source *s, uint64_t address)
{
	const char *place;

	if (!address)
		return NULL;
	/* As if it were returned to: the place is that of the byte before. */
	address++;
	place = keep(s->all, s->names->place(&s->modules, &address, 1));
	return strcmp(place, "?") != 0 ? place : NULL;
}

static void begin(struct source *s, const struct trace_objects_rec *rec)
{
	struct graph_objects *all = s->all;

	all->thread = rp_realloc(all->thread, all->threads + 1, sizeof(*all->thread));
	s->thread = &all->thread[all->threads++];
	*s->thread = (struct graph_thread){.rank = s->rank,
					   .process = s->name->process,
					   .thread = rp_strdup(s->name->thread),
					   .name = text_of(s, rec->text[0]),
					   .start = start_of(s, rec->begin.start)};
}

static const char *name_of(struct source *s, const struct trace_objects_rec *rec)
{
	char *variable;

	if (rec->text[0][0])
		return text_of(s, rec->text[0]);
	variable = s->names->variable(&s->modules, rec->object.address);
	return variable ? keep(s->all, variable) : NULL;
}

static void add_object(struct source *s, const struct trace_objects_rec *rec)
{
	uint64_t process = (uint64_t)s->rank << 32 | s->name->process;
	struct graph_object *o = rp_map_get(&s->all->by_id, rec->object.id, process);
	bool first = !o;

	if (first) {
		o = rp_alloc(1, sizeof(*o));
		o->rank = s->rank;
		o->process = s->name->process;
		o->id = rec->object.id;
		rp_map_put(&s->all->by_id, o->id, process, o);
	}
	s->object = o;
	if (o->last_thread != s->number)
		o->threads++;
	o->last_thread = s->number;
	if (!first && (!rec->object.version || rec->object.version >= o->version))
		return;
	o->version = rec->object.version ? rec->object.version : UINT64_MAX;
	o->address = rec->object.address;
	o->name = name_of(s, rec);
	o->made = rec->object.made != 0;
	o->place = o->made ? place_of(s, &s->made, rec->object.made)
			   : place_of(s, &s->sites, rec->object.first_site);
}

static void add_sums(struct graph_sums *sum, const struct trace_objects_rec *rec)
{
	sum->count += rec->use.count;
	sum->handed += rec->use.handed;
	sum->failed += rec->use.failed;
	sum->predicted += rec->use.predicted;
	sum->bytes += rec->use.bytes;
}

static void add_use(struct source *s, const struct trace_objects_rec *rec)
{
	const char *place = place_of(s, &s->sites, rec->use.site);
	const char *op = rp_map_get(&s->ops, rec->use.op, 0);
	const char *kind = rp_map_get(&s->ops, rec->use.op, 1);
	struct graph_object *o = s->object;
	size_t i;

	op = op ? op : "?";
	/* Numbers from 1 on. */
	i = (uintptr_t)rp_map_get(&o->by_place, (uintptr_t)place, (uintptr_t)op);
	if (!i) {
		o->use = rp_realloc(o->use, ++o->uses, sizeof(*o->use));
		i = o->uses;
		o->use[i - 1] = (struct graph_use){.op = op, .place = place};
		rp_map_put(&o->by_place, (uintptr_t)place, (uintptr_t)op, (void *)(uintptr_t)i);
	}
	i--;
	if (!o->kind)
		o->kind = kind ? kind : "?";
	add_sums(&o->use[i].sum, rec);
	add_sums(&o->sum, rec);
	add_sums(&s->thread->sum, rec);
}

static void add_account(struct source *s, struct trace_objects_reader *r)
{
	struct trace_objects_rec rec;

	while (trace_objects_next(r, &rec)) {
		if (rec.kind == TRACE_OBJECTS_BEGIN) {
			begin(s, &rec);
		} else if (rec.kind == TRACE_OBJECTS_OP) {
			rp_map_put(&s->ops, rec.op.number, 0, (char *)text_of(s, rec.text[0]));
			rp_map_put(&s->ops, rec.op.number, 1, (char *)text_of(s, rec.text[1]));
		} else if (rec.kind == TRACE_OBJECTS_OBJECT) {
			add_object(s, &rec);
		} else {
			add_use(s, &rec);
		}
	}
}

/* Without sites there is still everything but the lines. */
static void open_sites(struct trace_sites *sites, int rankfd, char *name)
{
	const char *why;

	if (trace_sites_open(sites, rankfd, name, &why))
		*sites = (struct trace_sites){0};
	free(name);
}

static void close_sites(struct trace_sites *sites)
{
	if (sites->view.header)
		trace_sites_close(sites);
}

static int read_thread(struct source *s)
{
	const char *name = s->name->name, *why;
	struct trace_objects_reader r;

	if (trace_objects_open(&r, s->rankfd, name, &why)) {
		rp_say("graph/rank-%04u/%s of the trace %s %s; 'reprise evaluate --again' makes it"
		       " anew",
		       s->rank, name, s->dir->show, why);
		return RP_EXIT_BAD_INPUT;
	}
	open_sites(&s->sites, s->rankfd,
		   rp_format("%.*s.sites", (int)(strlen(name) - strlen(".objects")), name));
	open_sites(&s->made, s->rankfd,
		   s->name->process ? rp_format("p%" PRIu32 "-made.sites", s->name->process)
				    : rp_strdup("made.sites"));
	trace_modules_open(&s->modules, s->rankfd, s->name->process);
	add_account(s, &r);
	trace_modules_close(&s->modules);
	close_sites(&s->sites);
	close_sites(&s->made);
	rp_map_free(&s->places);
	rp_map_free(&s->ops);
	trace_objects_close(&r);
	return 0;
}

static int read_rank(struct graph_objects *all, const struct graph_objects_names *names,
		     const struct trace_dir *dir, const struct trace_dir *graph, unsigned rank,
		     uint64_t *number)
{
	struct trace_streams streams;
	int rankfd, code = trace_dir_streams(graph, rank, &streams, &rankfd);

	if (code)
		return code;
	for (size_t i = 0; i < streams.n && !code; i++) {
		struct source s = {.all = all,
				   .names = names,
				   .dir = dir,
				   .name = &streams.stream[i],
				   .rank = rank,
				   .rankfd = rankfd};

		if (s.name->kind != TRACE_STREAM_OBJECTS)
			continue;
		s.number = ++*number;
		code = read_thread(&s);
	}
	close(rankfd);
	trace_streams_free(&streams);
	return code;
}

static int more(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int compare_sums(const struct graph_sums *a, const struct graph_sums *b)
{
	return a->handed != b->handed ? more(a->handed, b->handed) : more(a->count, b->count);
}

static int by_worst(const void *x, const void *y)
{
	const struct graph_object *a = *(struct graph_object *const *)x;
	const struct graph_object *b = *(struct graph_object *const *)y;
	int order = compare_sums(&a->sum, &b->sum);

	if (!order && a->rank != b->rank)
		order = a->rank < b->rank ? -1 : 1;
	return order ? order : (a->id > b->id) - (a->id < b->id);
}

static int by_count(const void *x, const void *y)
{
	const struct graph_use *a = x, *b = y;
	int order = more(a->sum.count, b->sum.count);

	if (!order)
		order = strcmp(a->place, b->place);
	return order ? order : strcmp(a->op, b->op);
}

static void sort(struct graph_objects *all)
{
	struct graph_object *o;

	all->object = rp_alloc(all->by_id.used, sizeof(struct graph_object *));
	for (size_t i = 0; (o = rp_map_next(&all->by_id, &i));) {
		if (o->uses)
			qsort(o->use, o->uses, sizeof(*o->use), by_count);
		rp_map_free(&o->by_place);
		o->kind = o->kind ? o->kind : "?";
		all->object[all->objects++] = o;
	}
	if (all->objects)
		qsort(all->object, all->objects, sizeof(struct graph_object *), by_worst);
}

/* A thread has its maker's name unless it was given one. */
static void drop_common_names(struct graph_objects *all)
{
	const char *common = NULL;

	for (size_t i = 0; i < all->threads; i++) {
		struct graph_thread *t = &all->thread[i];

		if (!strcmp(t->thread, "0"))
			common = t->name;
		if (t->name == common || !t->name[0])
			t->name = NULL;
	}
}

int graph_objects_open(struct graph_objects *all, const struct trace_dir *dir,
		       const struct graph_objects_names *names)
{
	struct trace_dir graph = {.path = dir->path, .show = dir->show};
	struct trace_ranks ranks;
	uint64_t number = 0;
	int code;

	*all = (struct graph_objects){0};
	graph.fd = openat(dir->fd, "graph", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	code = trace_dir_ranks(&graph, &ranks);
	for (size_t i = 0; i < ranks.n && !code; i++)
		code = read_rank(all, names, dir, &graph, ranks.rank[i], &number);
	trace_ranks_free(&ranks);
	if (graph.fd >= 0)
		close(graph.fd);
	sort(all);
	drop_common_names(all);
	if (code)
		graph_objects_close(all);
	return code;
}

void graph_objects_close(struct graph_objects *all)
{
	struct graph_object *o;
	char *text;

	for (size_t i = 0; (o = rp_map_next(&all->by_id, &i)); free(o))
		free(o->use);
	for (size_t i = 0; (text = rp_map_next(&all->texts, &i));)
		free(text);
	for (size_t i = 0; i < all->threads; i++)
		free(all->thread[i].thread);
	free(all->thread);
	free(all->object);
	rp_map_free(&all->by_id);
	rp_map_free(&all->texts);
	*all = (struct graph_objects){0};
}
