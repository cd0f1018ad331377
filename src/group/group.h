/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All ranks of a run under one gdb each: of a live replay; or ranks alone, each of which goes in
 * both directions, since its gdb has a target of its own (alone.c). A command goes to a set of
 * them; between two moves all of them are stopped. Whoever is lost (gdb, a rank, the launcher) is
 * lost alone, and says why when it is asked.
 */
#ifndef GROUP_GROUP_H
#define GROUP_GROUP_H

#include "group/gdb.h"
#include "group/live.h"
#include "group/set.h"

/* Ranks alone. */
struct group_alone {
	char **target;    /* by rank: how gdb takes it, "target remote …" */
	char **program;   /* by rank: its file */
	const char *said; /* what gdb is told first */
	int fd;           /* a file with that */
	double patience;  /* seconds, of targets; set by the user */
};

struct group {
	struct group_live live;
	struct group_alone *alone; /* or NULL: a live replay */
	struct group_gdb *gdb;     /* by rank */
	unsigned ranks;
	char **env;
	bool ended_told; /* that the replay has ended */
	/* While ranks run, now and then: true stops them, as Ctrl-C does. May be NULL. */
	bool (*told)(void *context);
	void *context;
};

/* Ctrl-C has come, since it was last asked. From the first call on it does not end us. */
bool group_was_interrupted(void);

/* Goes to the planned point, and takes all ranks there. 0, or the exit code after saying why not.
 */
int group_start(struct group *g, const struct replay_halt *halt)
	__attribute__((warn_unused_result));

/* Ends gdbs and replay: nothing is left. */
void group_stop(struct group *g);

/*
 * Sends a command to the ranks of the set that are stopped, and waits for all answers. False if
 * Ctrl-C came before. Answers are in the gdbs.
 */
bool group_ask(struct group *g, const struct group_set *set, const char *command);

/* The same with another command for each rank: NULL leaves it out. The commands are freed. */
bool group_ask_each(struct group *g, char **command);

/*
 * The commands let ranks run. Waits until they have stopped. Who waits for somebody who has
 * stopped, or has come to the recorded end, is stopped there; and everybody is at Ctrl-C.
 */
void group_move(struct group *g, char **command);

/* Out of calls into libraries, to where the program made them; then a step from there. */
void group_step(struct group *g, const struct group_set *set, const char *step);

/* Has the replay ended by itself? True once. */
bool group_has_ended(struct group *g);

/* Events that the rank's main thread has begun; *inside: the last of them is at work. */
uint64_t group_events(const struct group *g, unsigned rank, bool *inside);

/* Is the rank at the recorded end of its run? Does it die there of a signal? */
bool group_is_at_end(const struct group *g, unsigned rank);
bool group_dies(const struct group *g, unsigned rank);

/* alone.c: starts all gdbs on their targets; goes to the planned point; asks where all are. The
   exit code after saying why not. */
int group_alone_start(struct group *g) __attribute__((warn_unused_result));
int group_alone_goto(struct group *g, const struct replay_halt *halt)
	__attribute__((warn_unused_result));
void group_alone_look(struct group *g);
/* Out of calls into libraries, to before the program made them: of these ranks, whose frames are
   known. */
void group_alone_uncall(struct group *g, const bool *wanted);

#endif
