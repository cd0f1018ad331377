/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replay that stops where somebody wants to look: at a position, at the crash, before main, or at
 * the end. All ranks stop: at a position in its causal cut, which is what must have happened there
 * and no more (graph/cut.h). Where a rank cannot come to its place, since what it does there ends
 * only when another goes on (a large message is taken), the others go on to what can have happened
 * by then, and no further. A state that ranks have really come to is consistent in any case.
 * Then there is a pause, or gdb is started, and at last the replay goes on to its end.
 */
#ifndef REPLAY_HALT_H
#define REPLAY_HALT_H

#include "replay/front.h"

enum replay_halt_kind {
	REPLAY_TO_POSITION,
	REPLAY_TO_START,
	REPLAY_TO_CRASH,
	REPLAY_TO_END,
};

/* One of a cut that is made by hand. */
struct replay_halt_place {
	unsigned rank;
	char *thread;
	uint64_t event;
};

struct replay_halt {
	enum replay_halt_kind kind;
	unsigned rank; /* of the position, and thread and event */
	char *thread;
	uint64_t event;
	struct replay_halt_place *by_hand; /* all positions, if there are several: one of a rank */
	size_t by_hands;
	const char *text; /* what the user said */
	bool debug;       /* gdb takes rank `debugged` */
	unsigned debugged;
	char **arguments; /* for gdb, or NULL */
	/* Or somebody else looks: called when all are there, and at every look from then on, until
	   it says that it has seen enough. May be NULL. */
	bool (*visit)(struct replay_front *f, void *visitor);
	void *visitor;
	bool leave; /* set by it: the job is to be ended */

	/* The replay at work. */
	char **places; /* by rank: what S/halt-NNNN is to say, or NULL; with a third event, where
			  the thread is that runs alone: in a call that is in part in the cut */
	uint32_t flags;
	bool arrived, over;
	uint32_t stage;
	pid_t gdb; /* or 0 */
	int gdb_status;
	bool attached;
	double traced_at, all_traced_at; /* when gdb had attached to a thread, to all; or 0 */
};

/*
 * Reads "3@1042", "3.0.1@17", several of them ("0@7,1@9"), "start", "crash", "end". 0, or the exit
 * code after saying what is wrong with it.
 */
int replay_halt_read(struct replay_halt *h, const char *text) __attribute__((warn_unused_result));

/* What a position counts, the same in all of a run. */
enum replay_halt_unit {
	REPLAY_UNIT_MPI,       /* calls of MPI */
	REPLAY_UNIT_OPERATION, /* without MPI: synchronisation of threads */
	REPLAY_UNIT_CALL, /* with one thread and without MPI: calls that the hooks stand in for */
};
enum replay_halt_unit replay_halt_unit(const struct trace_run *run);

/* How many of these the thread has; -1: there is no such thread. Calls are not recorded: any
 * number. */
int64_t replay_halt_counted(const struct trace_run_rank *rank, const char *thread,
			    enum replay_halt_unit unit);

/* What is looked at mostly: the crash if there was one, else the start. */
enum replay_halt_kind replay_halt_usual(const struct trace_run *run);

/* Is there such a point in the run? Finds the places of all ranks. 0, or the exit code. */
int replay_halt_plan(struct replay_halt *h, const struct trace_run *run)
	__attribute__((warn_unused_result));

/* In an open session: tells the ranks. 0, or the exit code after saying why not. */
int replay_halt_tell(const struct replay_front *f) __attribute__((warn_unused_result));

/* At every look of the front. True: the ranks are to be left as they are. */
bool replay_halt_look(struct replay_front *f, double silent);

/* Nobody is kept where he halts any more; or f->unserved says that the job must end. */
void replay_halt_let_go(struct replay_front *f);

/* All have come to the recorded end, or wait for one that is to die: stop here? */
bool replay_halt_at_end(struct replay_front *f);

/* Before a job is ended that somebody looks at: waits until he has seen enough. */
void replay_halt_finish(struct replay_front *f);

/* gdb has ended; its exit status is that of the replay, unless that has diverged. */
bool replay_halt_is_over(struct replay_front *f);
int replay_halt_code(const struct replay_front *f, int code);

/* For gdb, where $_reprise frames of ours are inside of the program's: the first step leaves those.
 */
extern const char replay_halt_leave_call[];

/* Starts gdb on the rank (replay/halt-gdb.c). */
void replay_halt_debug(struct replay_front *f);
/* Is it there? Says so if not. */
int replay_halt_find_gdb(void) __attribute__((warn_unused_result));

#endif
