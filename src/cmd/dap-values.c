/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks, variables and expressions of a rank that stands still. Frames are numbered by rank and
 * level; what has parts gets a number that holds until a rank moves.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/dap.h"
#include "group/mi.h"
#include "group/stacks.h"

#define LEVELS 4096

static const json_t *argument(const json_t *request, const char *key)
{
	return json_object_get(json_object_get(request, "arguments"), key);
}

/* Asks the gdb of one rank; true if it has answered. The command is freed. */
static bool ask(struct cmd_dap *d, unsigned rank, char *command)
{
	struct group_set one;

	group_set_init(&one, d->debug.group.ranks, false);
	one.has[rank] = true;
	group_ask(&d->debug.group, &one, command);
	group_set_free(&one);
	free(command);
	return !group_gdb_error(&d->debug.group.gdb[rank]);
}

static const struct group_gdb *gdb_of(const struct cmd_dap *d, unsigned rank)
{
	return &d->debug.group.gdb[rank];
}

/* "frameId", or the first frame of rank 0 if that is allowed; false after refusing. */
static bool read_frame(struct cmd_dap *d, const json_t *request, bool optional, int *thread,
		       int *level)
{
	const json_t *id = argument(request, "frameId");
	json_int_t n = json_integer_value(id);

	if (!id && optional && d->run && d->debug.there)
		n = (json_int_t)(cmd_dap_looked_at(d, 0) - 1) * LEVELS +
		    (gdb_of(d, 0)->level > 0 ? gdb_of(d, 0)->level : 0) + 1;
	*thread = n > 0 && n < (json_int_t)INT32_MAX * LEVELS ? (int)((n - 1) / LEVELS) + 1 : 0;
	*level = n > 0 ? (int)((n - 1) % LEVELS) : 0;
	if (*thread && cmd_dap_choose(d, *thread))
		return true;
	cmd_dap_refuse(d, request, "there is no such frame");
	return false;
}

static json_t *frame_json(int thread, const json_t *frame)
{
	const char *func = group_mi_string(frame, "func"), *at = group_mi_string(frame, "addr");
	const char *file = group_mi_string(frame, "file"),
		   *full = group_mi_string(frame, "fullname");
	const char *line = group_mi_string(frame, "line"), *level = group_mi_string(frame, "level");
	json_int_t id = (json_int_t)(thread - 1) * LEVELS + (level ? atol(level) : 0) + 1;
	json_t *json = json_pack("{s:I, s:s, s:i, s:i}", "id", id, "name",
				 func ? func
				 : at ? at
				      : "?",
				 "line", line ? atoi(line) : 0, "column", 0);

	if (at)
		json_object_set_new(json, "instructionPointerReference", json_string(at));
	if (full) {
		const char *slash = file ? strrchr(file, '/') : NULL;

		json_object_set_new(json, "source",
				    json_pack("{s:s, s:s}", "name",
					      slash  ? slash + 1
					      : file ? file
						     : full,
					      "path", full));
	}
	if (json_object_get(frame, "foreign"))
		json_object_set_new(json, "presentationHint", json_string("subtle"));
	return json;
}

void cmd_dap_stack(struct cmd_dap *d, const json_t *request)
{
	int thread = cmd_dap_thread(d, request), rank;
	json_int_t first = json_integer_value(argument(request, "startFrame"));
	json_int_t most = json_integer_value(argument(request, "levels"));
	struct group_set one;
	json_t *frames, *frame;
	size_t i, from, all;

	if (!thread)
		return;
	rank = (int)cmd_dap_rank_of(d, thread);
	group_set_init(&one, d->debug.group.ranks, false);
	one.has[rank] = true;
	group_look(&d->debug.group, &one);
	group_set_free(&one);
	if (gdb_of(d, (unsigned)rank)->state != GROUP_GDB_STOPPED) {
		cmd_dap_refuse(d, request, "the rank does not stand still");
		return;
	}
	/* Calls that the program has made are inside of its own frames: those come first. */
	from = gdb_of(d, (unsigned)rank)->level > 0 ? (size_t)gdb_of(d, (unsigned)rank)->level : 0;
	all = json_array_size(gdb_of(d, (unsigned)rank)->frames) - from;
	frames = json_array();
	json_array_foreach(gdb_of(d, (unsigned)rank)->frames, i, frame)
	{
		json_int_t at = (json_int_t)i - (json_int_t)from;

		if (at >= first && (most <= 0 || at < first + most))
			json_array_append_new(frames, frame_json(thread, frame));
	}
	cmd_dap_answer(
		d, request,
		json_pack("{s:o, s:I}", "stackFrames", frames, "totalFrames", (json_int_t)all));
}

static json_int_t add_parts(struct cmd_dap *d, int thread, int level, const char *name)
{
	struct cmd_dap_parts *p;

	d->parts = rp_widen(d->parts, d->partses, d->partses + 1, sizeof(*d->parts));
	p = &d->parts[d->partses++];
	p->thread = thread;
	p->level = level;
	p->name = name ? rp_strdup(name) : NULL;
	return (json_int_t)d->partses;
}

void cmd_dap_forget(struct cmd_dap *d)
{
	for (size_t i = 0; i < d->partses; i++) {
		/* With its children, of which some are here as well. */
		if (d->parts[i].name && !strchr(d->parts[i].name, '.'))
			ask(d, cmd_dap_rank_of(d, d->parts[i].thread),
			    rp_format("-var-delete %s", d->parts[i].name));
		free(d->parts[i].name);
	}
	d->partses = 0;
}

void cmd_dap_scopes(struct cmd_dap *d, const json_t *request)
{
	int thread, level;
	json_t *scope;

	if (!read_frame(d, request, false, &thread, &level))
		return;
	scope = json_pack("{s:s, s:s, s:I, s:b}", "name", "Locals", "presentationHint", "locals",
			  "variablesReference", add_parts(d, thread, level, NULL), "expensive", 0);
	cmd_dap_answer(d, request, json_pack("{s:[o]}", "scopes", scope));
}

/* What gdb tells of a variable: its value, its type, and its parts. */
static json_t *variable_json(struct cmd_dap *d, int thread, const json_t *told, const char *name)
{
	const char *value = group_mi_string(told, "value"), *type = group_mi_string(told, "type");
	const char *children = group_mi_string(told, "numchild");
	const char *own = group_mi_string(told, "name");
	bool has_parts = own && children && atoi(children) > 0;
	json_int_t parts = has_parts ? add_parts(d, thread, -1, own) : 0;
	json_t *json = json_pack("{s:s, s:s, s:I}", "name", name, "value", value ? value : "",
				 "variablesReference", parts);

	if (type)
		json_object_set_new(json, "type", json_string(type));
	return json;
}

/* A variable of gdb's own for an expression; false: gdb has said why not. */
static bool create(struct cmd_dap *d, unsigned rank, int level, const char *expression)
{
	const char *thread = group_thread(gdb_of(d, rank));
	char *quoted = group_mi_quoted(expression);
	bool good = ask(d, rank,
			rp_format("-data-evaluate-expression --thread %s --frame %d %s", thread,
				  level, quoted));

	/* What is no expression is said better here than there. */
	good = good && ask(d, rank,
			   rp_format("-var-create --thread %s --frame %d v%u * %s", thread, level,
				     ++d->variables, quoted));

	free(quoted);
	return good;
}

static json_t *list_locals(struct cmd_dap *d, int thread, int level)
{
	unsigned rank = cmd_dap_rank_of(d, thread);
	json_t *list = json_array(), *names, *one;
	size_t i;

	ask(d, rank,
	    rp_format("-stack-list-variables --thread %s --frame %d --simple-values",
		      group_thread(gdb_of(d, rank)), level));
	names = json_incref(json_object_get(gdb_of(d, rank)->answer, "variables"));
	json_array_foreach(names, i, one)
	{
		const char *name = group_mi_string(one, "name");

		if (!name)
			continue;
		/* What has parts has no simple value. */
		json_array_append_new(
			list,
			variable_json(d, thread,
				      !group_mi_string(one, "value") && create(d, rank, level, name)
					      ? gdb_of(d, rank)->answer
					      : one,
				      name));
	}
	json_decref(names);
	return list;
}

static json_t *list_children(struct cmd_dap *d, int thread, const char *name)
{
	unsigned rank = cmd_dap_rank_of(d, thread);
	json_t *list = json_array(), *children, *one;
	size_t i;

	ask(d, rank, rp_format("-var-list-children --all-values %s 0 1000", name));
	children = json_incref(json_object_get(gdb_of(d, rank)->answer, "children"));
	json_array_foreach(children, i, one)
	{
		const char *exp = group_mi_string(one, "exp");

		json_array_append_new(list, variable_json(d, thread, one, exp ? exp : "?"));
	}
	json_decref(children);
	return list;
}

void cmd_dap_variables(struct cmd_dap *d, const json_t *request)
{
	json_int_t n = json_integer_value(argument(request, "variablesReference"));
	struct cmd_dap_parts parts;
	json_t *list;
	char *name;

	if (n < 1 || (size_t)n > d->partses) {
		cmd_dap_refuse(d, request, "there is no such variable any more");
		return;
	}
	/* The list may move as it grows. */
	parts = d->parts[n - 1];
	if (!cmd_dap_choose(d, parts.thread)) {
		cmd_dap_refuse(d, request, "there is no such variable any more");
		return;
	}
	name = parts.name ? rp_strdup(parts.name) : NULL;
	list = name ? list_children(d, parts.thread, name)
		    : list_locals(d, parts.thread, parts.level);
	free(name);
	cmd_dap_answer(d, request, json_pack("{s:o}", "variables", list));
}

void cmd_dap_evaluate(struct cmd_dap *d, const json_t *request)
{
	const char *expression = json_string_value(argument(request, "expression"));
	int thread, level;
	unsigned rank;
	json_t *variable, *body;

	if (!read_frame(d, request, true, &thread, &level))
		return;
	rank = cmd_dap_rank_of(d, thread);
	if (!expression || !create(d, rank, level, expression)) {
		const char *error = group_gdb_error(gdb_of(d, rank));

		cmd_dap_refuse(d, request, expression && error ? error : "there is no expression");
		return;
	}
	variable = variable_json(d, thread, gdb_of(d, rank)->answer, expression);
	body = json_pack("{s:O, s:O}", "result", json_object_get(variable, "value"),
			 "variablesReference", json_object_get(variable, "variablesReference"));
	if (json_object_get(variable, "type"))
		json_object_set(body, "type", json_object_get(variable, "type"));
	/* What has no parts is not kept. */
	if (!json_integer_value(json_object_get(variable, "variablesReference")))
		ask(d, rank, rp_format("-var-delete v%u", d->variables));
	json_decref(variable);
	cmd_dap_answer(d, request, body);
}
