/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run that is gone through in both directions. While the process runs, copies of it are kept: the
 * older, the fewer. To go back is to take up a copy and to run forward from there.
 *
 * No counter of the processor is needed: a position is found again by its address, at each passage
 * of which it is compared with what it was (same.c). Once it is near, its distance from a copy is
 * known in instructions.
 *
 * Invariant: the stays are in the order of the run, and the process is not before the last of them.
 */
#ifndef REMOTE_TRAVEL_H
#define REMOTE_TRAVEL_H

#include "remote/copy.h"
#include "replay/front.h"
#include "replay/halt.h"

/* A copy, and how far it is from the one before. */
struct remote_stay {
	struct remote_copy copy;
	double since;     /* seconds of processor time */
	int64_t steps;    /* instructions of the thread, -1: not known */
	uint64_t printed; /* bytes by then */
	uint64_t places;  /* a digest of where it has numbers of its threads, if that is known */
};

struct remote_travel {
	struct replay_front *front;
	size_t one; /* the rank, among those of the run */
	struct replay_slot *slot;
	struct remote_process live;
	struct remote_home home;
	uint64_t state; /* where the rank says that it is at its end, in its memory; or 0 */
	struct remote_points points;
	uint64_t quiet; /* bits of signals that nobody wants to hear of */
	unsigned focus; /* number of the thread that is looked at */

	struct remote_stay *stay;
	size_t stays, room;
	double base;   /* processor time of the process when it was at the last stay */
	int64_t steps; /* instructions since then, -1: not known */
	int no_copy;   /* -errno: why there are none */

	struct remote_stay before; /* where it was before it went elsewhere */
	double before_at;          /* processor time since the first stay, 0: nowhere */
	unsigned before_part;

	bool is_whole;  /* the first stay is where the history begins */
	bool is_event;  /* or where an event does */
	double lost;    /* processor time before the first stay, of which nothing is kept; or 0 */
	bool rereads;   /* it may read files that the run has written */
	bool has_start; /* the stay where the history begins is put aside (far.c): */
	struct remote_stay start;
	struct replay_copy start_how;
	bool across;   /* processes from different images are compared */
	unsigned part; /* counts the processes that were started */

	int output;       /* what the program prints comes here */
	int output_to;    /* and goes in here */
	uint64_t printed; /* bytes by now */
	uint64_t shown;   /* the most that was shown of it */
	bool silent;      /* it is only to be found again */
	bool looks_only;  /* it comes back here, whatever it meets on the way */
	struct {
		int pid;
		double cpu, at;
		bool not_any_more;
	} awake; /* the last time that it was seen to do anything, on a way back */

	/* What the debugger has to say meanwhile: true stops the process. */
	bool (*wake)(void *context);
	void (*show)(void *context, const char *bytes, size_t n);
	void *context;
};

enum remote_way {
	REMOTE_WAY_DONE,
	REMOTE_WAY_BEGIN,   /* there is nothing before this */
	REMOTE_WAY_STOPPED, /* somebody has interrupted it */
	REMOTE_WAY_LOST,    /* the way back was not found; said */
};

enum remote_same {
	REMOTE_OTHER,
	REMOTE_SAME,
	REMOTE_ALIKE, /* but for words that may be numbers of threads, or else what is counted */
};

/* The process stands where its history begins. */
void remote_travel_open(struct remote_travel *t);
/* The process is another one: where it says that it is at its end. */
void remote_travel_find_state(struct remote_travel *t);
/* A while has passed: keeps a copy, if that can be. */
void remote_travel_keep(struct remote_travel *t);
void remote_travel_close(struct remote_travel *t);

/* Forward: one instruction of a thread, or on. */
void remote_travel_run(struct remote_travel *t, bool step, unsigned number,
		       struct remote_stop *stop);

/* The thread that is looked at is that one. Steps that were counted were those of another one. */
void remote_travel_look_at(struct remote_travel *t, unsigned number);

/* Backward: one instruction of the thread that is looked at, or to the last breakpoint. */
enum remote_way remote_travel_step_back(struct remote_travel *t);
enum remote_way remote_travel_back(struct remote_travel *t, struct remote_stop *stop);

/* To the last time that this signal came, which has yet to be told of. */
enum remote_way remote_travel_back_to_signal(struct remote_travel *t, int signal);

/* goto.c: to where the history begins, to its end, or into an event of the rank. */
enum remote_way remote_goto_begin(struct remote_travel *t);
enum remote_way remote_goto_end(struct remote_travel *t);
enum remote_way remote_goto_event(struct remote_travel *t, uint64_t event);
/* goto-thread.c: to where that thread begins an event, or without MPI an operation, or a call. It
   has one of that number. */
enum remote_way remote_goto_thread(struct remote_travel *t, const char *name,
				   enum replay_halt_unit unit, uint64_t number);
/* What is to be watched so that the process stops there. It stays where it is, but if that is
   REMOTE_WAY_LOST. REMOTE_WAY_BEGIN: where it counts was not found. */
enum remote_way remote_goto_watch(struct remote_travel *t, const char *name,
				  enum replay_halt_unit unit, uint64_t number,
				  struct remote_watch *watch);
/* Forward to the next of these, or until it is told to stop; copies are kept on the way. */
enum remote_way remote_goto_run(struct remote_travel *t, const struct remote_points *points);
/* Where the slot of the rank is in its memory, or 0. */
uint64_t remote_goto_slot(const struct remote_travel *t);
/* Remembers where it is, and goes there again. */
void remote_goto_remember(struct remote_travel *t);
enum remote_way remote_goto_back(struct remote_travel *t);
/* To that copy, which was so old, and is used up. `part`: what that was then. */
enum remote_way remote_goto_return(struct remote_travel *t, struct remote_stay *to, double age,
				   unsigned part);

/* far.c: can images be used at all? */
bool remote_far_may(const struct remote_travel *t);
/* No stay is left; where the history begins may be found again all the same. */
void remote_far_drop(struct remote_travel *t);

/*
 * far.c: goes to the last image before the event, if that is nearer than all that is known: it is
 * then the first stay, and *gone is true. To where the history begins, if the first stay is not
 * there. And finds more of what is before the first stay, which is then the last one.
 */
enum remote_way remote_far_go(struct remote_travel *t, uint64_t event, bool *gone);
enum remote_way remote_far_begin(struct remote_travel *t);
enum remote_way remote_far_earlier(struct remote_travel *t);

/* Seconds of processor time since its history began, more or less. */
double remote_travel_age(const struct remote_travel *t);

/* What the recording calls the thread. False: it is not one of the program's. */
bool remote_travel_name(const struct remote_travel *t, const struct remote_thread *thread,
			char name[REPLAY_NAME_BYTES + 1]);

/* Has the rank come to its last word? */
bool remote_travel_at_end(struct remote_travel *t);

/* If it was time that let another thread run, what is known of the way is not sure: the history
   begins here, which is said. */
void remote_travel_doubt(struct remote_travel *t);

/* Passes on what the program has printed. */
void remote_travel_drain(struct remote_travel *t);

/* stays.c: keeps a copy of the process as it stands. 0 or -errno. */
int remote_stay_push(struct remote_travel *t) __attribute__((warn_unused_result));
void remote_stay_insert(struct remote_travel *t, size_t at, const struct remote_stay *stay);
void remote_stay_remove(struct remote_travel *t, size_t at);
/* The last one is left out; the process is before it. */
void remote_stay_forget(struct remote_travel *t);
/* The process is one that goes on from there. 0 or -errno. */
int remote_stay_take_up(struct remote_travel *t, size_t at) __attribute__((warn_unused_result));
int remote_stay_go_to(struct remote_travel *t, const struct remote_stay *stay)
	__attribute__((warn_unused_result));
/* The rank has not said its last word. */
void remote_stay_forget_word(struct remote_travel *t);
/* It stands where it has said its word: that is there. */
void remote_stay_recall_word(struct remote_travel *t);
/* Keeps fewer of the older ones. */
void remote_stay_thin(struct remote_travel *t);
/* same.c: does the process stand where that copy does? */
enum remote_same remote_stay_compare(struct remote_travel *t, const struct remote_stay *stay,
				     uint64_t *places);
/* Of the slot, as it was there. */
uint64_t remote_same_events(const struct remote_travel *t, const struct remote_stay *stay);

/* find.c: brings the stay before the last one near to that; and makes their distance known. */
enum remote_way remote_find_near(struct remote_travel *t);
enum remote_way remote_find_steps(struct remote_travel *t);
/* Of threads that take turns: if the one that is looked at has done nothing since another one ran,
   the last stay becomes the last that it did before: *behind, before the call in which it gave way,
   or else where it has yet to make it. */
enum remote_way remote_find_turn(struct remote_travel *t, bool *behind);
/* For struct remote_run, and what it means that it was told to stop. */
bool remote_find_wakes(void *context);
enum remote_way remote_find_told(struct remote_travel *t);
/* walk.c: the same, within so many steps. */
enum remote_way remote_walk(struct remote_travel *t, int64_t most);
/* Is there a breakpoint where the last stay is? *number: of the thread that is there. */
bool remote_find_break(const struct remote_travel *t, const struct remote_points *points,
		       unsigned *number);
/* Runs the process on until it is where the last stay is, with breakpoints or without; *hits: how
   often it came to one, or to the signal `signal`, and *last the last of them. At most `most`
   hits, if that is not 0. */
enum remote_way remote_find_pass(struct remote_travel *t, const struct remote_points *points,
				 int signal, uint64_t most, uint64_t *hits,
				 struct remote_stop *last);

#endif
