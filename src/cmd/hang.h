/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a run hung, put together: what ranks needed of each other (graph/stuck.h), and what their
 * threads did (replay/look.h), with words for both. hang.c gathers, hang-live.c does of
 * living processes, hang-certain.c and hang-confirm.c judge these, hang-threads.c and hang-still.c
 * judge threads, hang-text.c and hang-json.c show.
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

/* A living thread that was asleep at the same time as the others of its rank that are here. */
struct cmd_hang_still {
	unsigned rank;
	char *thread;
	uint64_t word, switches;
};

struct cmd_hang {
	bool live;     /* there is no recording, but processes; `run` is empty */
	int unwatched; /* -errno: why nothing is certain of living ranks that seem to hang */
	bool gave_up;  /* they could not be watched for long enough */
	struct cmd_hang_still *still;
	size_t stills;
	char **stood; /* by rank: the call, and its place, that a stuck one was watched in */
	size_t stood_ranks;
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
	bool counts; /* it is in the cycle, or there is none */
};

/* 0, or the exit code after saying why not. */
int cmd_hang_open(struct cmd_hang *h, const char *trace, double patience)
	__attribute__((warn_unused_result));
/* The same of processes: of a rank, or of all ranks below a launcher (hang-live.c). */
int cmd_hang_open_live(struct cmd_hang *h, int pid) __attribute__((warn_unused_result));
/*
 * Which living ranks wait for each other for certain, of `world` ranks, in `stuck`. That takes some
 * seconds if any seem to; if none do, nothing is there (hang-certain.c).
 */
void cmd_hang_find_certain(struct cmd_hang *h, int world);
/* Takes that back if what is in `look`, from a look since, does not agree (hang-confirm.c). */
void cmd_hang_confirm(struct cmd_hang *h);
/* Takes it back. */
void cmd_hang_doubt(struct cmd_hang *h);
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

/* The same, but of living threads it may be that they were never in these waits at the same time.
 */
struct cmd_hang_thread *cmd_hang_waits(const struct cmd_hang *h, unsigned rank, size_t *n);
/* Which of these were; a look after it has to tell where (hang-still.c). */
void cmd_hang_find_still(struct cmd_hang *h);
bool cmd_hang_was_still(const struct cmd_hang *h, const struct replay_seen *seen);

/* The main thread of a rank that was looked at, or NULL. */
const struct replay_seen *cmd_hang_main(const struct cmd_hang *h, unsigned rank);

bool cmd_hang_is_in_mpi(const struct replay_seen *seen);
/* How many threads of a living rank are the program's, or may be. */
size_t cmd_hang_threads_of(const struct cmd_hang *h, unsigned rank);

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
