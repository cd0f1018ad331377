/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a run hung, put together: what ranks needed of each other (graph/stuck.h), and what their
 * threads did (replay/look.h), with words for both. hang.c gathers, hang-live.c does of
 * living processes, hang-threads.c judges threads,
 * hang-text.c and hang-json.c show.
 */
#ifndef CMD_HANG_H
#define CMD_HANG_H

#include "cmd/graph.h"
#include "graph/stuck.h"
#include "replay/look.h"

struct cmd_hang_rank {
	unsigned rank;
	int pid; /* if it is a living process */
};

struct cmd_hang {
	bool live; /* there is no recording, but processes; `run` is empty */
	struct trace_run run;
	struct cmd_hang_rank *rank;
	size_t ranks;
	bool messages; /* there is MPI: */
	struct cmd_graph graph;
	struct graph_stuck stuck;
	struct replay_look look; /* empty if it was not needed */
};

/* A thread that waits for another thread, or that nobody is left to wake. */
struct cmd_hang_thread {
	const struct replay_seen *seen;
	const struct replay_seen *holder; /* whom it waits for, or NULL */
	bool in_cycle;
};

/* 0, or the exit code after saying why not. */
int cmd_hang_open(struct cmd_hang *h, const char *trace, double patience)
	__attribute__((warn_unused_result));
/* The same of processes: of a rank, or of all ranks below a launcher (hang-live.c). */
int cmd_hang_open_live(struct cmd_hang *h, int pid) __attribute__((warn_unused_result));
void cmd_hang_close(struct cmd_hang *h);

/* Something hangs: some rank waits, or threads do. */
bool cmd_hang_is_one(const struct cmd_hang *h);

/* Was ended from outside: by a signal that people and launchers send. */
bool cmd_hang_was_killed(const struct trace_run_rank *rank);

/*
 * Threads of a rank that wait for each other, or, if all of them wait, each. The caller frees the
 * list; *n is 0 if they do not.
 */
struct cmd_hang_thread *cmd_hang_threads(const struct cmd_hang *h, unsigned rank, size_t *n);

/* Sentences and parts of them; the caller frees. */
char *cmd_hang_op_text(struct cmd_hang *h, const struct graph_stuck_op *op);
char *cmd_hang_wish_text(struct cmd_hang *h, const struct graph_stuck_op *op,
			 const struct graph_wish *w);
char *cmd_hang_stray_text(struct cmd_hang *h, const struct graph_stray *stray);
char *cmd_hang_thread_text(const struct cmd_hang_thread *t);
/* "rank 2", "rank 2, thread 0.1" */
char *cmd_hang_who(const struct cmd_hang *h, unsigned rank, uint32_t thread);
/* What the thread is on: "mutex counter", "condition ready", "thread 0.2", or NULL. */
char *cmd_hang_object(const struct replay_seen *seen);

void cmd_hang_print(struct cmd_hang *h);
void cmd_hang_print_json(struct cmd_hang *h);

#endif
