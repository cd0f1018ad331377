/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves. The replay goes forward only, so a move is undone by going to the last jump again and
 * making the steps since, but the last: a replay does the same each time.
 */
#include "cmd/debug.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/races.h"
#include "group/mi.h"
#include "group/stacks.h"
#include "group/threads.h"

unsigned cmd_debug_percent(const struct cmd_debug *d)
{
	uint64_t done = 0, all = 0;
	bool inside;

	for (size_t i = 0; i < d->run->ranks && d->there; i++) {
		done += group_events(&d->group, (unsigned)i, &inside);
		all += d->run->rank[i].events;
	}
	return all ? (unsigned)(done * 100 / all) : 0;
}

/* At an event: what a rank alone is asked for. */
static void insert_event(struct cmd_debug *d, const struct cmd_debug_break *b)
{
	char *command = rp_format("-interpreter-exec console \"monitor break %s\"", b->event);

	group_ask(&d->group, &b->set, command);
	free(command);
}

/* All that gdb knows of the function is where the program jumps to it from. */
static bool is_stub(const json_t *breakpoint)
{
	const char *at = group_mi_string(breakpoint, "at");

	return at && strstr(at, "@plt");
}

/* What gdb has not found may be a function of ours: then it is told again. */
static void find_ours(struct cmd_debug *d, const struct group_set *set, const char *insert)
{
	unsigned ranks = d->group.ranks;
	char **delete = rp_alloc(ranks + 1, sizeof(*delete)),
	     **again = rp_alloc(ranks + 1, sizeof(*again));
	bool *wanted = rp_alloc(ranks + 1, sizeof(*wanted));

	for (unsigned i = 0; i < ranks; i++) {
		const struct group_gdb *gdb = &d->group.gdb[i];
		const json_t *made = set->has[i] ? json_object_get(gdb->answer, "bkpt") : NULL;
		const char *number = group_mi_string(made, "number");

		wanted[i] = !gdb->our_symbols && number &&
			    (json_object_get(made, "pending") || is_stub(made));
		delete[i] = wanted[i] ? rp_format("-break-delete %s", number) : NULL;
		again[i] = wanted[i] ? rp_strdup(insert) : NULL;
	}
	group_read_ours(&d->group, wanted);
	group_ask_each(&d->group, delete);
	group_ask_each(&d->group, again);
	free(delete);
	free(again);
	free(wanted);
}

static void insert(struct cmd_debug *d, const struct cmd_debug_break *b)
{
	const char *condition = b->watch ? NULL : strstr(b->where, " if ");
	char *place = rp_format(
		"%.*s", (int)(condition ? (size_t)(condition - b->where) : strlen(b->where)),
		b->where);
	char *where = group_mi_quoted(place);
	char *when = group_mi_quoted(condition ? condition + 4 : "");
	char *command = b->watch    ? rp_format("-break-watch %s", where)
			: condition ? rp_format("-break-insert -f -c %s %s", when, where)
				    : rp_format("-break-insert -f %s", where);

	if (b->event)
		insert_event(d, b);
	else
		group_ask(&d->group, &b->set, command);
	if (!b->event && !b->watch)
		find_ours(d, &b->set, command);
	free(command);
	free(where);
	free(when);
	free(place);
}

void cmd_debug_stop_at(struct cmd_debug *d, const struct group_set *set, const char *where,
		       bool watch, const char *event)
{
	struct cmd_debug_break *b;

	d->stop = rp_widen(d->stop, d->stops, d->stops + 1, sizeof(*d->stop));
	b = &d->stop[d->stops++];
	b->number = ++d->last_number;
	b->where = rp_strdup(where);
	b->watch = watch;
	b->event = event ? rp_strdup(event) : NULL;
	group_set_copy(&b->set, set);
	insert(d, b);
}

static void insert_some(struct cmd_debug *d, unsigned from, unsigned to)
{
	for (size_t i = 0; i < d->stops; i++) {
		if (!d->stop[i].until && d->stop[i].number >= from && d->stop[i].number <= to)
			insert(d, &d->stop[i]);
	}
}

static void remove_all(struct cmd_debug *d)
{
	struct group_set all;

	group_set_init(&all, d->group.ranks, true);
	group_ask(&d->group, &all, "-interpreter-exec console \"delete\"");
	if (d->group.alone)
		group_ask(&d->group, &all, "-interpreter-exec console \"monitor delete\"");
	group_set_free(&all);
}

/* Numbers of gdb are its own: all of them are made anew. */
static void insert_again(struct cmd_debug *d)
{
	remove_all(d);
	insert_some(d, 1, d->last_number);
}

/* It is kept in mind for the sake of moves that it ended, which may be made again. */
bool cmd_debug_delete(struct cmd_debug *d, unsigned number)
{
	bool found = !number;

	for (size_t i = 0; i < d->stops; i++) {
		if (d->stop[i].until || (number && d->stop[i].number != number))
			continue;
		d->stop[i].until = d->moves + 1;
		found = true;
	}
	if (d->there)
		insert_again(d);
	return found;
}

static void free_places(struct replay_halt *halt, const struct trace_run *run)
{
	for (size_t i = 0; halt->places && i < run->ranks; i++)
		free(halt->places[i]);
	free(halt->places);
	free(halt->thread);
}

/* Ranks alone jump by themselves, as long as all of them are there. */
static bool jumps(const struct cmd_debug *d)
{
	for (unsigned i = 0; d->there && i < d->group.ranks; i++) {
		if (d->group.gdb[i].state == GROUP_GDB_GONE)
			return false;
	}
	return d->there && d->group.alone;
}

/* Who was lost on the way has not come there: then all begin anew. */
static bool say_lost(const struct cmd_debug *d)
{
	bool lost = false;

	for (unsigned i = 0; i < d->group.ranks; i++) {
		const struct group_gdb *gdb = &d->group.gdb[i];

		if (gdb->state != GROUP_GDB_GONE)
			continue;
		rp_say("rank %u: %s; all ranks are started anew", i, gdb->gone);
		lost = true;
	}
	return lost;
}

/* *fresh: with new gdbs, which know no breakpoints. */
static int start_at(struct cmd_debug *d, const char *at, bool *fresh)
{
	struct replay_halt halt = {0};
	char *position = NULL;
	int code = cmd_races_resolve(d->run->dir.path, at, &position);

	if (!code)
		code = replay_halt_read(&halt, position);
	if (!code)
		code = replay_halt_plan(&halt, d->run);
	if (code) {
		free_places(&halt, d->run);
		free(position);
		return code;
	}
	*fresh = !jumps(d);
	if (!*fresh) {
		code = group_alone_goto(&d->group, &halt);
		*fresh = !code && say_lost(d);
	}
	if (*fresh) {
		if (d->there)
			group_stop(&d->group);
		d->there = false;
		code = group_start(&d->group, &halt);
		d->there = !code;
	}
	free_places(&halt, d->run);
	free(position);
	return code;
}

static struct cmd_debug_move *add_move(struct cmd_debug *d)
{
	d->move = rp_widen(d->move, d->moves, d->moves + 1, sizeof(*d->move));
	return &d->move[d->moves++];
}

static void free_move(struct cmd_debug_move *m)
{
	free(m->at);
	free(m->step);
	free(m->thread);
	group_set_free(&m->set);
	*m = (struct cmd_debug_move){0};
}

int cmd_debug_goto(struct cmd_debug *d, const char *at)
{
	bool fresh;
	int code = start_at(d, at, &fresh);

	if (!code && fresh)
		insert_some(d, 1, d->last_number);
	if (!code)
		add_move(d)->at = rp_strdup(at);
	return code;
}

/* In gdb's words, "reverse-step" is "-exec-step --reverse". */
static void make_step(struct cmd_debug *d, const struct group_set *set, const char *step)
{
	bool back = strncmp(step, "reverse-", 8) == 0;
	char *words = rp_format("-exec-%s%s", back ? step + 8 : step, back ? " --reverse" : "");
	char **command;

	if (strstr(step, "continue")) {
		command = rp_alloc(d->group.ranks + 1, sizeof(*command));
		for (unsigned i = 0; i < d->group.ranks; i++)
			command[i] = set->has[i] ? rp_strdup(words) : NULL;
		group_move(&d->group, command);
		free(command);
	} else {
		group_step(&d->group, set, words);
	}
	free(words);
}

void cmd_debug_step(struct cmd_debug *d, const struct group_set *set, const char *step)
{
	struct cmd_debug_move *m = add_move(d);

	m->breaks = d->last_number;
	m->step = rp_strdup(step);
	group_set_copy(&m->set, set);
	make_step(d, set, step);
}

/* Of the ranks that have such a thread. */
static char **choose(struct cmd_debug *d, const struct group_set *set, const char *thread)
{
	char **why = rp_alloc(set->ranks + 1, sizeof(*why));

	for (unsigned i = 0; i < set->ranks; i++) {
		struct group_thread *list;
		size_t n = set->has[i] ? group_threads(&d->group, i, &list) : 0, found = n;

		for (size_t k = n; k-- > 0;) {
			if (strcmp(list[k].name, thread) == 0 ||
			    (found == n && strcmp(list[k].id, thread) == 0))
				found = k;
		}
		if (set->has[i] &&
		    (found == n || !group_threads_choose(&d->group, i, list[found].id)))
			why[i] = rp_format("there is no thread %s here", thread);
		if (set->has[i])
			group_threads_free(list, n);
	}
	return why;
}

char **cmd_debug_choose(struct cmd_debug *d, const struct group_set *set, const char *thread)
{
	struct cmd_debug_move *m = add_move(d);

	m->thread = rp_strdup(thread);
	group_set_copy(&m->set, set);
	return choose(d, set, thread);
}

/* One that was made before. */
static void make_again(struct cmd_debug *d, const struct cmd_debug_move *m)
{
	char **why = m->thread ? choose(d, &m->set, m->thread) : NULL;

	for (unsigned i = 0; why && i < m->set.ranks; i++)
		free(why[i]);
	free(why);
	if (m->step)
		make_step(d, &m->set, m->step);
}

/* What was there when that move was made; what was set later stopped nobody then. */
static void insert_as_of(struct cmd_debug *d, size_t move)
{
	remove_all(d);
	for (size_t i = 0; i < d->stops; i++) {
		const struct cmd_debug_break *b = &d->stop[i];

		if (b->number <= d->move[move].breaks && (!b->until || b->until > move + 1))
			insert(d, b);
	}
}

bool cmd_debug_back(struct cmd_debug *d)
{
	size_t jump, last = d->moves;
	bool fresh;

	/* To choose a thread is no move of its own. */
	while (last > 0 && d->move[last - 1].thread)
		last--;
	if (last < 2)
		return false;
	while (d->moves >= last)
		free_move(&d->move[--d->moves]);
	for (size_t i = 0; i < d->stops; i++) {
		if (d->stop[i].until > d->moves + 1)
			d->stop[i].until = d->moves + 1;
	}
	for (jump = d->moves; jump-- > 0 && !d->move[jump].at;)
		;
	if (start_at(d, d->move[jump].at, &fresh))
		return false;
	for (size_t i = jump + 1; i < d->moves; i++) {
		insert_as_of(d, i);
		make_again(d, &d->move[i]);
	}
	insert_again(d);
	return true;
}

void cmd_debug_end(struct cmd_debug *d)
{
	if (d->there)
		group_stop(&d->group);
	d->there = false;
	for (size_t i = 0; i < d->stops; i++) {
		free(d->stop[i].where);
		free(d->stop[i].event);
		group_set_free(&d->stop[i].set);
	}
	while (d->moves)
		free_move(&d->move[--d->moves]);
	for (size_t i = 0; i < d->names; i++) {
		free(d->name[i].name);
		group_set_free(&d->name[i].set);
	}
	free(d->move);
	free(d->stop);
	free(d->name);
	group_set_free(&d->focus);
	if (d->has_graph)
		cmd_graph_close(&d->graph);
}

bool cmd_debug_read_set(struct cmd_debug *d, const char *text, struct group_set *set)
{
	for (size_t i = 0; i < d->names; i++) {
		if (strcmp(d->name[i].name, text) == 0) {
			group_set_copy(set, &d->name[i].set);
			return true;
		}
	}
	group_set_init(set, (unsigned)d->run->ranks, false);
	if (group_set_read(set, text) == 0 && group_set_count(set))
		return true;
	group_set_free(set);
	return false;
}

struct cmd_graph *cmd_debug_graph(struct cmd_debug *d)
{
	if (!d->has_graph && cmd_graph_open(&d->graph, d->run->dir.path) == 0)
		d->has_graph = true;
	return d->has_graph ? &d->graph : NULL;
}
