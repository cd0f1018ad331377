/* SPDX-License-Identifier: Apache-2.0 */
/* Races for scripts. Keys only ever get more; what is not known is left out. */
#include "cmd/races.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cmd/show.h"

static void set(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static void set_text(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, cmd_show_json(text));
}

static void set_position(json_t *object, const char *key, const struct cmd_graph *g, unsigned rank,
			 uint32_t thread, uint64_t number)
{
	char *position = cmd_graph_position(g, rank, thread, number);

	set_text(object, key, position);
	free(position);
}

static void set_stack(json_t *object, struct cmd_graph *g, unsigned rank, uint32_t thread,
		      uint32_t site)
{
	char **stack = cmd_graph_stack(g, rank, thread, site);

	json_object_set_new(object, "stack", cmd_show_json_list(stack));
	rp_strings_free(stack);
}

static json_t *message_json(struct cmd_graph *g, const struct graph_finding_message *m)
{
	json_t *object = json_object();

	set(object, "rank", m->rank);
	if (m->number) {
		set_position(object, "sent", g, m->rank, m->thread, m->number);
		set_text(object, "place", cmd_graph_place(g, m->rank, m->thread, m->site));
		set_stack(object, g, m->rank, m->thread, m->site);
		set(object, "bytes", m->bytes);
	}
	json_object_set_new(object, "tag", json_integer(m->tag));
	return object;
}

static json_t *example_json(struct cmd_graph *g, const struct graph_finding *f)
{
	json_t *object = json_object();

	set_position(object, "at", g, f->rank, f->thread, f->number);
	set_stack(object, g, f->rank, f->thread, f->site);
	if (f->kind == GRAPH_FINDING_CHOICE) {
		set_position(object, "other_request", g, f->other.rank, f->other.thread,
			     f->other.number);
		set_text(object, "other_place",
			 cmd_graph_place(g, f->other.rank, f->other.thread, f->other.site));
		return object;
	}
	json_object_set_new(object, "got", message_json(g, &f->got));
	json_object_set_new(object, "other", message_json(g, &f->other));
	return object;
}

static json_t *differs_json(const struct graph_finding *f)
{
	json_t *list = json_array();

	if (f->kind == GRAPH_FINDING_CHOICE) {
		json_array_append_new(list, json_string("order"));
		return list;
	}
	json_array_append_new(list, json_string("source"));
	if (f->differs & GRAPH_DIFFERS_TAG)
		json_array_append_new(list, json_string("tag"));
	if (f->differs & GRAPH_DIFFERS_BYTES)
		json_array_append_new(list, json_string("bytes"));
	return list;
}

static json_t *group_json(struct cmd_graph *g, const struct cmd_race_group *group)
{
	const struct graph_finding *f = &group->sum;
	json_t *object = json_object(), *ranks = json_array();

	set_text(object, "kind", cmd_races_kind(f->kind));
	set_text(object, "place", group->place);
	set_text(object, "call", group->call);
	for (size_t i = 0; i < group->ranks; i++)
		json_array_append_new(ranks, json_integer(group->rank[i]));
	json_object_set_new(object, "ranks", ranks);
	set(object, "outcomes", f->outcomes);
	if (f->kind == GRAPH_FINDING_POLL)
		return object;
	set(object, "racing", f->racing);
	if (f->kind != GRAPH_FINDING_CHOICE)
		set(object, "alternatives", f->alternatives);
	json_object_set_new(object, "polls", json_boolean(f->poll));
	json_object_set_new(object, "differs", differs_json(f));
	if (f->kind == GRAPH_FINDING_PROBED) {
		set_text(object, "probe_place",
			 cmd_graph_place(g, f->rank, f->thread, f->probe_site));
		set(object, "swapped", f->swapped);
	}
	json_object_set_new(object, "example", example_json(g, f));
	return object;
}

void cmd_races_json(const struct cmd_races *races, json_t *object)
{
	const struct graph_report *r = races->report;
	json_t *list = json_array(), *polls = json_array();

	set_text(object, "trace", races->graph->dir.path);
	set(object, "events", r->events);
	set(object, "messages", r->messages);
	set(object, "wildcards", r->wildcards);
	set(object, "racing", r->racing);
	set(object, "pairs", r->pairs);
	for (size_t i = 0; i < races->groups; i++)
		json_array_append_new(i < races->racing ? list : polls,
				      group_json(races->graph, &races->group[i]));
	json_object_set_new(object, "races", list);
	json_object_set_new(object, "polls", polls);
}

void cmd_races_print_json(const struct cmd_races *races)
{
	json_t *object = json_object();

	cmd_races_json(races, object);
	cmd_show_json_line(object, JSON_INDENT(1));
}
