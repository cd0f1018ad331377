/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands. A line is a command and its words, perhaps behind a set of ranks and a colon
 * ("2: print x"); otherwise it is for the ranks in focus. A short form is any beginning that only
 * one command has, or that of the first in the table.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/debug.h"
#include "group/mi.h"
#include "group/stacks.h"

struct command {
	const char *name;
	const char *takes;
	const char *help;
	void (*run)(struct cmd_debug *d, const struct group_set *set, const char *name,
		    const char *rest);
	bool anywhere; /* also while no rank is there */
};

static void run_where(struct cmd_debug *d, const struct group_set *set, const char *name,
		      const char *rest)
{
	(void)name;
	(void)rest;
	cmd_debug_where(d, set);
}

static void run_print(struct cmd_debug *d, const struct group_set *set, const char *name,
		      const char *rest)
{
	if (*rest)
		cmd_debug_print(d, set, rest);
	else
		cmd_debug_fail(d, name, "print takes an expression: 'print u[1]', 'print u[0..9]'");
}

void cmd_debug_console(struct cmd_debug *d, const struct group_set *set, const char *name,
		       const char *line)
{
	char *quoted = group_mi_quoted(line);
	char *command = rp_format("-interpreter-exec console %s", quoted);
	char **text = rp_alloc(set->ranks + 1, sizeof(*text));

	group_look(&d->group, set);
	group_ask(&d->group, set, command);
	for (unsigned i = 0; i < set->ranks; i++) {
		const struct group_gdb *g = &d->group.gdb[i];
		const char *error = group_gdb_error(g);

		if (set->has[i])
			text[i] = rp_strdup(error ? error : g->said ? g->said : "");
	}
	cmd_debug_show(d, name, set, text, false);
	free(command);
	free(quoted);
}

static void run_step(struct cmd_debug *d, const struct group_set *set, const char *name,
		     const char *rest)
{
	long times = *rest ? strtol(rest, NULL, 10) : 1;

	if (times < 1) {
		cmd_debug_fail(d, name, "that is no number of times");
		return;
	}
	while (times-- > 0)
		cmd_debug_step(d, set, name);
	cmd_debug_show_stops(d, name, set);
}

static void run_reverse(struct cmd_debug *d, const struct group_set *set, const char *name,
			const char *rest)
{
	if (d->group.alone)
		run_step(d, set, name, rest);
	else
		cmd_debug_fail(d, name, d->forward);
}

void cmd_debug_jump(struct cmd_debug *d, const char *name, const char *at)
{
	struct group_set all;

	if (cmd_debug_goto(d, at)) {
		d->failed = true;
		if (d->json)
			cmd_debug_fail(d, name, "cannot go there");
		return;
	}
	group_set_init(&all, d->group.ranks, true);
	cmd_debug_show_stops(d, name, &all);
	group_set_free(&all);
}

static void run_goto(struct cmd_debug *d, const struct group_set *set, const char *name,
		     const char *rest)
{
	char *found = NULL;

	(void)set;
	if (!*rest) {
		cmd_debug_fail(d, name,
			       "goto takes a point: 'goto 2@517', 'goto start', 'goto crash', "
			       "'goto end', 'goto race:1'");
		return;
	}
	if (strncmp(rest, "race:", 5) == 0) {
		found = cmd_debug_find_race(d, name, rest + 5);
		if (!found)
			return;
	}
	cmd_debug_jump(d, name, found ? found : rest);
	free(found);
}

static void run_back(struct cmd_debug *d, const struct group_set *set, const char *name,
		     const char *rest)
{
	struct group_set all;

	(void)set;
	(void)rest;
	if (!cmd_debug_back(d)) {
		cmd_debug_fail(d, name, "there is no move to undo");
		return;
	}
	group_set_init(&all, d->group.ranks, true);
	cmd_debug_show_stops(d, name, &all);
	group_set_free(&all);
}

static void run_message(struct cmd_debug *d, const struct group_set *set, const char *name,
			const char *rest)
{
	(void)name;
	(void)rest;
	cmd_debug_message(d, set);
}

static void run_queue(struct cmd_debug *d, const struct group_set *set, const char *name,
		      const char *rest)
{
	(void)name;
	(void)rest;
	cmd_debug_queue(d, set);
}

static void run_races(struct cmd_debug *d, const struct group_set *set, const char *name,
		      const char *rest)
{
	(void)set;
	(void)name;
	(void)rest;
	cmd_debug_races(d);
}

static void run_focus(struct cmd_debug *d, const struct group_set *set, const char *name,
		      const char *rest)
{
	struct group_set new;
	char *text;

	(void)set;
	if (*rest && !cmd_debug_read_set(d, rest, &new)) {
		cmd_debug_fail(d, name, "that is no set of ranks: '0-3,7', 'all', or a name");
		return;
	}
	if (*rest) {
		group_set_free(&d->focus);
		d->focus = new;
	}
	text = group_set_text(&d->focus);
	cmd_debug_say(d, name, text);
	free(text);
}

static void run_name(struct cmd_debug *d, const struct group_set *set, const char *name,
		     const char *rest)
{
	size_t n = strcspn(rest, " ");
	const char *ranks = rest + n + strspn(rest + n, " ");
	struct group_set new;

	(void)set;
	if (!n || isdigit((unsigned char)*rest) || !*ranks || !cmd_debug_read_set(d, ranks, &new)) {
		cmd_debug_fail(d, name, "name takes a word and a set: 'name edge 0,7'");
		return;
	}
	d->name = rp_widen(d->name, d->names, d->names + 1, sizeof(*d->name));
	d->name[d->names].name = rp_format("%.*s", (int)n, rest);
	d->name[d->names++].set = new;
}

/* The console of one rank's gdb, until "quit" or the end of input. */
static void talk_to_gdb(struct cmd_debug *d, const struct group_set *set, unsigned rank)
{
	char *line = NULL;
	size_t room = 0;

	for (;;) {
		printf("(gdb %u) ", rank);
		fflush(stdout);
		if (getline(&line, &room, stdin) <= 0)
			break;
		line[strcspn(line, "\n")] = 0;
		if (strcmp(line, "quit") == 0 || strcmp(line, "q") == 0)
			break;
		if (*line)
			cmd_debug_console(d, set, "gdb", line);
	}
	free(line);
}

static void run_gdb(struct cmd_debug *d, const struct group_set *set, const char *name,
		    const char *rest)
{
	unsigned rank = 0;

	while (rank < set->ranks && !set->has[rank])
		rank++;
	if (*rest)
		cmd_debug_console(d, set, name, rest);
	else if (group_set_count(set) == 1)
		talk_to_gdb(d, set, rank);
	else
		cmd_debug_fail(d, name,
			       "gdb takes a command for all in focus, as 'gdb info locals'; or one "
			       "rank, as '2: gdb', for its console");
}

static void run_quit(struct cmd_debug *d, const struct group_set *set, const char *name,
		     const char *rest)
{
	(void)set;
	(void)name;
	(void)rest;
	d->over = true;
}

static void run_help(struct cmd_debug *d, const struct group_set *set, const char *name,
		     const char *rest);

/* Of those with a common beginning, the one that is meant by it comes first. */
static const struct command commands[] = {
	{"where", "", "stacks of all, identical ones merged", run_where, false},
	{"bt", "", "the same", run_where, false},
	{"print", "EXPRESSION", "values, grouped by rank; 'u[0..9]' is a range", run_print, false},
	{"next", "[N]", "to the next line, over calls", run_step, false},
	{"step", "[N]", "to the next line, into calls", run_step, false},
	{"finish", "", "to where the function returns", run_step, false},
	{"continue", "", "to a breakpoint, or to the recorded end", run_step, false},
	{"reverse-next", "[N]", "back to the line before, over calls; 'rn'", run_reverse, false},
	{"reverse-step", "[N]", "back to the line before, into calls; 'rs'", run_reverse, false},
	{"reverse-finish", "", "back to where the function was called", run_reverse, false},
	{"reverse-continue", "", "back to a breakpoint, or to the beginning; 'rc'", run_reverse,
	 false},
	{"break", "PLACE",
	 "stop there: 'break x.c:12', 'break f if n > 3', 'break 2@517', 'break race:1'",
	 cmd_debug_run_break, false},
	{"breaks", "", "list of breakpoints", cmd_debug_run_breaks, true},
	{"watch", "EXPRESSION", "stop when it changes", cmd_debug_run_watch, false},
	{"delete", "[N]", "remove a breakpoint, or all", cmd_debug_run_delete, true},
	{"goto", "POINT", "go to 2@517, start, crash, end or race:1, all to its causal cut",
	 run_goto, true},
	{"cbreak", "R@E", "the same: all stop in the causal cut of an event", run_goto, true},
	{"back", "", "undo the last move", run_back, true},
	{"msg", "", "the message of the last receive: who sent it, what else could have come",
	 run_message, false},
	{"queue", "", "messages on their way, and receives that are open", run_queue, false},
	{"races", "", "what could have come otherwise, see 'reprise races'", run_races, true},
	{"threads", "", "stacks of all threads", cmd_debug_run_threads, false},
	{"thread", "[THREAD]", "which thread is looked at and makes steps: '0.1', or its number",
	 cmd_debug_run_thread, false},
	{"focus", "[RANKS]", "whom commands are for: '0-3,7', 'all', a name", run_focus, true},
	{"name", "WORD RANKS", "a name for a set of ranks", run_name, true},
	{"gdb", "[COMMAND]", "a command of gdb; of one rank its console", run_gdb, false},
	{"help", "", "this list", run_help, true},
	{"quit", "", "end the session", run_quit, true},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void run_help(struct cmd_debug *d, const struct group_set *set, const char *name,
		     const char *rest)
{
	char *text = rp_strdup("");

	(void)set;
	(void)rest;
	for (size_t i = 0; i < COMMANDS; i++) {
		char *usage = rp_format("%s %s", commands[i].name, commands[i].takes);
		char *longer = rp_format("%s%-20s %s\n", text, usage, commands[i].help);

		free(usage);
		free(text);
		text = longer;
	}
	cmd_debug_say(d, name, text);
	cmd_debug_say(d, name,
		      "A command is for the ranks in focus; '2: print x' is for rank 2. Short "
		      "forms work: 'n', 'c', 'p x'. 'break msg 1->3 tag 7 #12' stops where that "
		      "message is received.");
	free(text);
}

const char *const *cmd_debug_names(void)
{
	static const char *names[COMMANDS + 1];

	for (size_t i = 0; i < COMMANDS; i++)
		names[i] = commands[i].name;
	return names;
}

static const struct command *find(const char *word, size_t n)
{
	/* As gdb shortens them. */
	if (n == 2 && word[0] == 'r' && strchr("nsc", word[1]))
		return find(word[1] == 'n'   ? "reverse-next"
			    : word[1] == 's' ? "reverse-step"
					     : "reverse-continue",
			    word[1] == 'c' ? 16 : 12);
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strlen(commands[i].name) == n && strncmp(commands[i].name, word, n) == 0)
			return &commands[i];
	}
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strncmp(commands[i].name, word, n) == 0)
			return &commands[i];
	}
	return NULL;
}

static void tell_end(struct cmd_debug *d)
{
	char *text;

	if (!d->there || !group_has_ended(&d->group))
		return;
	text = rp_format("the replay has ended (status %d); 'goto' starts it again",
			 d->group.live.code);
	cmd_debug_say(d, "replay", text);
	free(text);
}

static void run_words(struct cmd_debug *d, const struct group_set *set, const char *words)
{
	size_t n = strcspn(words, " \t");
	const struct command *c = find(words, n);
	char *rest, *asked = rp_format("%.*s", (int)n, words);

	if (!c) {
		char *text = rp_format("there is no command '%s'; 'help' lists them", asked);

		cmd_debug_fail(d, asked, text);
		free(text);
	} else if (!d->there && !c->anywhere) {
		cmd_debug_fail(d, c->name, "no rank is there; 'goto' starts the replay again");
	} else {
		rest = rp_strdup(words + n + strspn(words + n, " \t"));
		c->run(d, set, c->name, rest);
		free(rest);
	}
	free(asked);
	if (group_was_interrupted())
		cmd_debug_say(d, "interrupt", "interrupted");
	tell_end(d);
}

void cmd_debug_run(struct cmd_debug *d, const char *line)
{
	char *copy = rp_strdup(line + strspn(line, " \t")), *colon = strchr(copy, ':');
	size_t n = strlen(copy);
	struct group_set set;

	while (n && isspace((unsigned char)copy[n - 1]))
		copy[--n] = 0;
	/* A set, a colon, a command: no other command has a colon in its first word. */
	if (colon && strcspn(copy, " \t") > (size_t)(colon - copy)) {
		*colon = 0;
		if (cmd_debug_read_set(d, copy, &set)) {
			run_words(d, &set, colon + 1 + strspn(colon + 1, " \t"));
			group_set_free(&set);
		} else {
			cmd_debug_fail(d, copy,
				       "that is no set of ranks: '0-3,7', 'all', or a name");
		}
	} else if (*copy && *copy != '#') {
		run_words(d, &d->focus, copy);
	}
	free(copy);
}
