/* SPDX-License-Identifier: Apache-2.0 */
/* Requests, and what is told of stops. */
#include "cmd/dap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "group/mi.h"
#include "group/stacks.h"
#include "replay/front.h"

static const json_t *arguments(const json_t *request)
{
	return json_object_get(request, "arguments");
}

void cmd_dap_drain(struct cmd_dap *d)
{
	char bytes[4096 + 1];
	ssize_t n;

	while (d->run && (n = read(d->output[0], bytes, sizeof(bytes) - 1)) > 0) {
		char *clean;

		bytes[n] = 0;
		clean = rp_text_cleaned(bytes, "?", true);
		cmd_dap_event(d, "output",
			      json_pack("{s:s, s:s}", "category", "stdout", "output", clean));
		free(clean);
	}
}

/* --- stops */

/* In the words of the protocol. */
static const char *reason_of(const struct cmd_dap *d, unsigned rank, const char *otherwise)
{
	const json_t *stop = d->debug.group.gdb[rank].stop;
	const char *reason = group_mi_string(stop, "reason"), *sig;

	sig = group_mi_string(stop, "signal-name");
	if (!reason)
		return otherwise;
	if (strcmp(reason, "breakpoint-hit") == 0)
		return "breakpoint";
	if (strstr(reason, "watchpoint"))
		return "data breakpoint";
	if (strcmp(reason, "signal-received") == 0 && sig)
		return strcmp(sig, "SIGINT") == 0 || strcmp(sig, "0") == 0 ? "pause" : "exception";
	return otherwise;
}

/* All stand still; the first of those that moved and stopped by themselves is the one to look at.
 */
static void tell_stop(struct cmd_dap *d, const struct group_set *moved, const char *otherwise)
{
	unsigned rank = d->debug.group.ranks;
	const char *reason;
	char *text;

	cmd_dap_drain(d);
	group_look(&d->debug.group, moved);
	for (unsigned i = 0; i < moved->ranks; i++) {
		bool better =
			rank == moved->ranks || (!group_stopped_early(&d->debug.group.gdb[rank]) &&
						 group_stopped_early(&d->debug.group.gdb[i]));

		if (moved->has[i] && better)
			rank = i;
	}
	if (rank == moved->ranks)
		return;
	reason = reason_of(d, rank, otherwise);
	text = group_stop_text(&d->debug.group, rank);
	cmd_dap_event(d, "stopped",
		      json_pack("{s:s, s:i, s:b, s:s, s:s}", "reason", reason, "threadId",
				cmd_dap_looked_at(d, rank), "allThreadsStopped", 1, "description",
				text, "text", text));
	free(text);
}

/* Lets ranks move, and tells where that ended. */
static void move(struct cmd_dap *d, const struct group_set *set, const char *step)
{
	cmd_dap_forget(d);
	cmd_debug_step(&d->debug, set, step);
	group_was_interrupted();
	tell_stop(d, set, strstr(step, "continue") ? "end" : "step");
}

/* "continue" and the like are for all, unless the client says that they are for one. */
static void run_move(struct cmd_dap *d, const json_t *request, const char *step)
{
	bool one = json_is_true(json_object_get(arguments(request), "singleThread"));
	bool on = strstr(step, "continue") != NULL;
	int thread = cmd_dap_thread(d, request);
	struct group_set set;

	if (!thread)
		return;
	if (strncmp(step, "reverse-", 8) == 0 && !d->debug.group.alone) {
		cmd_dap_refuse(d, request, d->debug.forward);
		return;
	}
	group_set_init(&set, d->debug.group.ranks, on && !one);
	set.has[cmd_dap_rank_of(d, thread)] = true;
	cmd_dap_answer(d, request, on ? json_pack("{s:b}", "allThreadsContinued", !one) : NULL);
	move(d, &set, step);
	group_set_free(&set);
}

/* --- the run */

static int open_run(struct cmd_dap *d, const struct cmd_dap_wanted *w, const char *path,
		    const char *at)
{
	static struct trace_run run;
	struct replay_front f = {.run = &run, .force = w->force, .or_force = ", or use --force"};
	int code = trace_run_open(&run, path);

	if (code)
		return code;
	f.ranks = run.ranks;
	code = replay_check(&f);
	if (!code && pipe2(d->output, 0) != 0)
		code = RP_EXIT_FAILURE;
	if (code) {
		trace_run_close(&run);
		return code;
	}
	fcntl(d->output[0], F_SETFD, FD_CLOEXEC);
	fcntl(d->output[0], F_SETFL, O_NONBLOCK);
	d->debug.run = d->run = &run;
	d->debug.group.live = (struct group_live){
		.run = &run, .force = w->force, .patience = w->patience, .print = d->output[1]};
	d->debug.group.env = environ;
	d->debug.group.told = cmd_dap_is_told;
	d->debug.group.context = d;
	d->alone.patience = w->patience;
	d->debug.forward = cmd_debug_alone(&d->alone, &run, w->force, d->output[1]);
	d->debug.group.alone = d->debug.forward ? NULL : &d->alone;
	group_set_init(&d->debug.focus, (unsigned)run.ranks, true);
	if (!at)
		at = replay_halt_usual(&run) == REPLAY_TO_CRASH ? "crash" : "start";
	return cmd_debug_goto(&d->debug, at);
}

/* What is wrong is on standard error, where editors show it. */
static void launch(struct cmd_dap *d, const json_t *request, const struct cmd_dap_wanted *w)
{
	const char *path = json_string_value(json_object_get(arguments(request), "trace"));
	const char *at = json_string_value(json_object_get(arguments(request), "at"));

	if (d->run) {
		cmd_dap_refuse(d, request, "a run is being looked at");
		return;
	}
	if (open_run(d, w, path ? path : w->trace, at ? at : w->at)) {
		cmd_dap_refuse(d, request, "the run cannot be looked at; standard error says why");
		d->over = true;
		return;
	}
	cmd_dap_answer(d, request, NULL);
	cmd_dap_event(d, "capabilities",
		      json_pack("{s:{s:b}}", "capabilities", "supportsStepBack",
				d->debug.group.alone != NULL));
	cmd_dap_event(d, "initialized", NULL);
}

static void initialize(struct cmd_dap *d, const json_t *request)
{
	cmd_dap_answer(d, request,
		       json_pack("{s:b, s:b, s:b, s:b, s:b, s:b}",
				 "supportsConfigurationDoneRequest", 1,
				 "supportsConditionalBreakpoints", 1, "supportsStepBack", 1,
				 "supportsSingleThreadExecutionRequests", 1,
				 "supportsEvaluateForHovers", 1, "supportsTerminateRequest", 1));
}

static void configuration_done(struct cmd_dap *d, const json_t *request)
{
	if (!d->run) {
		cmd_dap_refuse(d, request, "nothing was launched");
		return;
	}
	cmd_dap_answer(d, request, NULL);
	if (!d->started)
		tell_stop(d, &d->debug.focus, "entry");
	d->started = true;
}

/* --- breakpoints */

/* Those of one file are given all at once. A file is known by its name alone, as in gdb. */
static void remove_of_file(struct cmd_dap *d, const char *file)
{
	size_t n = strlen(file);

	for (size_t i = d->debug.stops; i-- > 0;) {
		const struct cmd_debug_break *b = &d->debug.stop[i];

		if (!b->until && strncmp(b->where, file, n) == 0 && b->where[n] == ':')
			cmd_debug_delete(&d->debug, b->number);
	}
}

static json_t *set_breakpoint(struct cmd_dap *d, const char *file, const json_t *asked)
{
	json_int_t line = json_integer_value(json_object_get(asked, "line"));
	const char *condition = json_string_value(json_object_get(asked, "condition"));
	char *where = rp_format("%s:%d%s%s", file, (int)line, condition ? " if " : "",
				condition ? condition : "");
	const char *error = NULL, *found = NULL;
	json_t *json;

	cmd_debug_stop_at(&d->debug, &d->debug.focus, where, false, NULL);
	for (unsigned i = 0; i < d->debug.group.ranks && !found; i++) {
		const struct group_gdb *gdb = &d->debug.group.gdb[i];
		const json_t *bkpt = json_object_get(gdb->answer, "bkpt");

		error = group_gdb_error(gdb);
		if (!error && !group_mi_string(bkpt, "pending"))
			found = group_mi_string(bkpt, "line") ? group_mi_string(bkpt, "line") : "0";
	}
	json = json_pack("{s:i, s:b, s:i}", "id", (int)d->debug.last_number, "verified",
			 found != NULL, "line", found && atoi(found) ? atoi(found) : (int)line);
	if (!found)
		json_object_set_new(json, "message",
				    json_string(error ? error : "no code was made of that line"));
	free(where);
	return json;
}

static void set_breakpoints(struct cmd_dap *d, const json_t *request)
{
	const json_t *source = json_object_get(arguments(request), "source");
	const json_t *asked = json_object_get(arguments(request), "breakpoints");
	const char *path = json_string_value(json_object_get(source, "path"));
	json_t *list = json_array(), *one;
	size_t i;

	if (!path || !d->run || !d->debug.there) {
		json_decref(list);
		cmd_dap_refuse(d, request,
			       path ? "nothing was launched" : "there is no source.path");
		return;
	}
	remove_of_file(d, path);
	json_array_foreach(asked, i, one) json_array_append_new(list, set_breakpoint(d, path, one));
	cmd_dap_answer(d, request, json_pack("{s:o}", "breakpoints", list));
}

/* --- all of them */

static void nothing_to_do(struct cmd_dap *d, const json_t *request)
{
	cmd_dap_answer(d, request, NULL);
}

static void end(struct cmd_dap *d, const json_t *request)
{
	cmd_dap_answer(d, request, NULL);
	d->over = true;
}

struct handler {
	const char *command;
	void (*run)(struct cmd_dap *d, const json_t *request);
	const char *step; /* or this */
};

/* When ranks run, "pause" has stopped them before it is answered. */
static const struct handler handlers[] = {
	{"initialize", initialize, NULL},
	{"setBreakpoints", set_breakpoints, NULL},
	{"setExceptionBreakpoints", nothing_to_do, NULL},
	{"configurationDone", configuration_done, NULL},
	{"threads", cmd_dap_threads, NULL},
	{"stackTrace", cmd_dap_stack, NULL},
	{"scopes", cmd_dap_scopes, NULL},
	{"variables", cmd_dap_variables, NULL},
	{"evaluate", cmd_dap_evaluate, NULL},
	{"continue", NULL, "continue"},
	{"next", NULL, "next"},
	{"stepIn", NULL, "step"},
	{"stepOut", NULL, "finish"},
	{"stepBack", NULL, "reverse-next"},
	{"reverseContinue", NULL, "reverse-continue"},
	{"pause", nothing_to_do, NULL},
	{"disconnect", end, NULL},
	{"terminate", end, NULL},
};

static void handle(struct cmd_dap *d, const json_t *request, const struct cmd_dap_wanted *w)
{
	const char *command = json_string_value(json_object_get(request, "command"));
	char *why;

	if (command && (strcmp(command, "launch") == 0 || strcmp(command, "attach") == 0)) {
		launch(d, request, w);
		return;
	}
	for (size_t i = 0; command && i < sizeof(handlers) / sizeof(handlers[0]); i++) {
		if (strcmp(handlers[i].command, command) != 0)
			continue;
		if (handlers[i].run)
			handlers[i].run(d, request);
		else
			run_move(d, request, handlers[i].step);
		return;
	}
	why = rp_format("there is no request '%s' here", command ? command : "");
	cmd_dap_refuse(d, request, why);
	free(why);
}

int cmd_dap_serve(struct cmd_dap *d, const struct cmd_dap_wanted *w)
{
	json_t *request;
	bool bad = false;

	while (!d->over && (request = cmd_dap_read(d, &bad)) && !bad) {
		handle(d, request, w);
		json_decref(request);
	}
	if (d->run) {
		cmd_dap_drain(d);
		if (!bad)
			cmd_dap_event(d, "terminated", NULL);
		cmd_debug_end(&d->debug);
	}
	if (bad)
		rp_say("what came is no message of the Debug Adapter Protocol");
	free(d->in);
	free(d->parts);
	for (size_t i = 0; i < d->threads; i++)
		free(d->thread[i].name);
	free(d->thread);
	return bad ? RP_EXIT_BAD_INPUT : 0;
}
