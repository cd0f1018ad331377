/* SPDX-License-Identifier: Apache-2.0 */
#include "group/threads.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "group/mi.h"
#include "group/stacks.h"

#define FOREIGN "not the program's" /* as the target says it */

bool group_has_threads(const struct group *g, unsigned rank)
{
	return g->alone && g->live.run->rank[rank].threads != 1;
}

static void ask_one(struct group *g, unsigned rank, char *line)
{
	char **command = rp_alloc(g->ranks + 1, sizeof(*command));

	command[rank] = line;
	group_ask_each(g, command);
	free(command);
}

static const char *name_of(const struct group *g, const json_t *thread)
{
	const char *name = g->alone ? group_mi_string(thread, "details") : NULL;

	return name ? name : group_mi_string(thread, "id");
}

size_t group_threads(struct group *g, unsigned rank, struct group_thread **out)
{
	struct group_thread *list = NULL;
	json_t *all, *one;
	size_t n = 0, i;

	ask_one(g, rank, rp_strdup("-thread-info"));
	all = group_gdb_error(&g->gdb[rank])
		      ? NULL
		      : json_incref(json_object_get(g->gdb[rank].answer, "threads"));
	json_array_foreach(all, i, one)
	{
		const char *id = group_mi_string(one, "id"), *name = name_of(g, one);

		if (!id || strcmp(name, FOREIGN) == 0)
			continue;
		list = rp_widen(list, n, n + 1, sizeof(*list));
		list[n].id = rp_strdup(id);
		list[n++].name = rp_strdup(name);
	}
	json_decref(all);
	*out = list;
	return n;
}

void group_threads_free(struct group_thread *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(list[i].id);
		free(list[i].name);
	}
	free(list);
}

static void looks_at(struct group_gdb *gdb, const char *id)
{
	char *thread = rp_strdup(id);

	free(gdb->thread);
	gdb->thread = thread;
	group_gdb_forget_look(gdb);
}

bool group_threads_choose(struct group *g, unsigned rank, const char *id)
{
	struct group_gdb *gdb = &g->gdb[rank];

	if (strcmp(group_thread(gdb), id) == 0)
		return gdb->state == GROUP_GDB_STOPPED;
	ask_one(g, rank, rp_format("-thread-select %s", id));
	if (group_gdb_error(gdb))
		return false;
	looks_at(gdb, id);
	return true;
}

void group_threads_in_turn(struct group *g)
{
	char **command = rp_alloc(g->ranks + 1, sizeof(*command));

	for (unsigned i = 0; i < g->ranks; i++) {
		if (group_has_threads(g, i))
			command[i] =
				rp_strdup("-interpreter-exec console \"python reprise_turn()\"");
	}
	group_ask_each(g, command);
	for (unsigned i = 0; i < g->ranks; i++) {
		struct group_gdb *gdb = &g->gdb[i];
		int id = 0;

		if (group_has_threads(g, i) && !group_gdb_error(gdb) && gdb->said)
			id = atoi(gdb->said);
		if (id > 0) {
			char *text = rp_format("%d", id);

			looks_at(gdb, text);
			free(text);
		}
	}
	free(command);
}

void group_threads_name(struct group *g, const struct group_set *set)
{
	char **command = rp_alloc(g->ranks + 1, sizeof(*command));
	bool *asked = rp_alloc(g->ranks + 1, sizeof(*asked));

	for (unsigned i = 0; i < g->ranks; i++) {
		const struct group_gdb *gdb = &g->gdb[i];

		asked[i] = set->has[i] && group_has_threads(g, i) && !gdb->thread_name &&
			   gdb->state == GROUP_GDB_STOPPED;
		if (asked[i])
			command[i] = rp_format("-thread-info %s", group_thread(gdb));
	}
	group_ask_each(g, command);
	for (unsigned i = 0; i < g->ranks; i++) {
		struct group_gdb *gdb = &g->gdb[i];
		const json_t *all = asked[i] && !group_gdb_error(gdb)
					    ? json_object_get(gdb->answer, "threads")
					    : NULL;

		if (json_array_size(all) == 1)
			gdb->thread_name = rp_strdup(name_of(g, json_array_get(all, 0)));
	}
	free(asked);
	free(command);
}
