/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session of `reprise debug`: one prompt for all ranks. debug.c: where it is, how it moves, how
 * it comes back. debug-commands.c: the commands, and what runs a line; debug-breaks.c: those about
 * breakpoints, debug-threads.c: about threads. debug-show.c: answers that are the same share a
 * line. debug-values.c: values and arrays. debug-messages.c: what the event graph knows of the
 * place. debug-alone.c: ranks that go in both directions. debug-prompt.c: the terminal.
 */
#ifndef CMD_DEBUG_H
#define CMD_DEBUG_H

#include "cmd/graph.h"
#include "group/group.h"

/* A jump to a point, a step of some ranks, or the choice of a thread of theirs. */
struct cmd_debug_move {
	char *at;     /* or NULL: */
	char *step;   /* as the user says it, or NULL: */
	char *thread; /* the same */
	struct group_set set;
	unsigned breaks; /* the last number that there was */
};

struct cmd_debug_break {
	unsigned number;
	char *where;
	bool watch;
	char *event;  /* "3@17": of a rank alone; or NULL */
	size_t until; /* as many moves and one had been made when it was deleted; 0: it is there */
	struct group_set set;
};

struct cmd_debug_name {
	char *name;
	struct group_set set;
};

struct cmd_debug {
	const struct trace_run *run;
	struct group group;
	bool there; /* the ranks are */
	struct group_set focus;
	bool json;
	const char *forward; /* why there is no way back; or NULL */
	bool over;           /* the user has had enough */
	bool failed;         /* some command did */
	struct cmd_debug_move *move;
	size_t moves;
	struct cmd_debug_break *stop;
	size_t stops;
	unsigned last_number;
	struct cmd_debug_name *name;
	size_t names;
	struct cmd_graph graph;
	bool has_graph;
};

/* Goes there, forgetting nothing of the way. 0, or the exit code after saying why not. */
int cmd_debug_goto(struct cmd_debug *d, const char *at) __attribute__((warn_unused_result));
/* A step: "step", "next", "finish", "continue", and with "reverse-" before that. */
void cmd_debug_step(struct cmd_debug *d, const struct group_set *set, const char *step);
/* That thread of each rank is looked at, and makes the next steps: by its name, or gdb's number.
   NULL by rank for those that have it, else why not; the texts and the list are the caller's. */
char **cmd_debug_choose(struct cmd_debug *d, const struct group_set *set, const char *thread);
/* Before the last move. False if there is none. */
bool cmd_debug_back(struct cmd_debug *d);
void cmd_debug_end(struct cmd_debug *d);

/* A breakpoint in all ranks of the set, from now on wherever one goes; of ranks alone it may be at
   an event of one. */
void cmd_debug_stop_at(struct cmd_debug *d, const struct group_set *set, const char *where,
		       bool watch, const char *event);
/* 0: all of them. False if there is no such one. */
bool cmd_debug_delete(struct cmd_debug *d, unsigned number);

/* debug-alone.c: ranks that go both ways, if the trace has a log. What they print goes to that
   descriptor. Their patience is there already. NULL, or why not. */
const char *cmd_debug_alone(struct group_alone *a, const struct trace_run *run, bool force,
			    int print);

/* How much of the recorded events has happened, in hundredths. */
unsigned cmd_debug_percent(const struct cmd_debug *d);

/* Reads "0-3", "all", or the name of a set. False after saying that it is none. */
bool cmd_debug_read_set(struct cmd_debug *d, const char *text, struct group_set *set);

/* The evaluated trace, opened at first use. NULL after saying why not. */
struct cmd_graph *cmd_debug_graph(struct cmd_debug *d);

/* One line of the user. */
void cmd_debug_run(struct cmd_debug *d, const char *line);
/* The whole console of gdb, one line of it. */
void cmd_debug_console(struct cmd_debug *d, const struct group_set *set, const char *name,
		       const char *line);
/* The names of commands, ended by NULL. */
const char *const *cmd_debug_names(void);

/* Answers of ranks, to be merged: what is the same is said once. The texts are freed. */
void cmd_debug_show(struct cmd_debug *d, const char *command, const struct group_set *set,
		    char **text, bool on_one_line);
/* A sentence of ours, or what went wrong. */
void cmd_debug_say(struct cmd_debug *d, const char *command, const char *text);
void cmd_debug_fail(struct cmd_debug *d, const char *command, const char *text);
/* Why everybody of the set stopped, and where. */
void cmd_debug_show_stops(struct cmd_debug *d, const char *command, const struct group_set *set);
void cmd_debug_where(struct cmd_debug *d, const struct group_set *set);

void cmd_debug_print(struct cmd_debug *d, const struct group_set *set, const char *expression);
void cmd_debug_message(struct cmd_debug *d, const struct group_set *set);
void cmd_debug_queue(struct cmd_debug *d, const struct group_set *set);
void cmd_debug_races(struct cmd_debug *d);
/* "1->3 tag 7 #12": the position of its receive; NULL after saying why not. The caller frees. */
char *cmd_debug_find_message(struct cmd_debug *d, const char *text);
/* "2" of "race:2", for the command of that name: an example of that place; the same. */
char *cmd_debug_find_race(struct cmd_debug *d, const char *name, const char *text);

/* Goes there, and says where all are then. */
void cmd_debug_jump(struct cmd_debug *d, const char *name, const char *at);

/* debug-breaks.c: commands, with the words behind them. */
void cmd_debug_run_break(struct cmd_debug *d, const struct group_set *set, const char *name,
			 const char *rest);
void cmd_debug_run_watch(struct cmd_debug *d, const struct group_set *set, const char *name,
			 const char *rest);
void cmd_debug_run_breaks(struct cmd_debug *d, const struct group_set *set, const char *name,
			  const char *rest);
void cmd_debug_run_delete(struct cmd_debug *d, const struct group_set *set, const char *name,
			  const char *rest);

/* debug-threads.c: the same. */
void cmd_debug_run_thread(struct cmd_debug *d, const struct group_set *set, const char *name,
			  const char *rest);
void cmd_debug_run_threads(struct cmd_debug *d, const struct group_set *set, const char *name,
			   const char *rest);

/* Lines from a terminal or elsewhere, until the user has had enough. */
void cmd_debug_talk(struct cmd_debug *d);
/* Lines of a file. False after saying that it cannot be read. */
bool cmd_debug_read_file(struct cmd_debug *d, const char *path);

#endif
