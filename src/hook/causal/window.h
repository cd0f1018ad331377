/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window: outcomes of wildcards (receives and probes) that are not decided yet. An outcome is
 * written when a message comes that it could have taken instead, and forgotten when no such message
 * can come any more. A full window writes its oldest outcome as if it had raced. Consecutive
 * outcomes that agree in everything share one entry.
 *
 * Two messages race for a receive only if they come from different sources, fit its communicator
 * and tag, and the later one was sent without knowing of the receive's outcome. The keys of two
 * receives tell which was first: 2n + 1 for the n-th posted one, 2n for a blocking one after n
 * posts.
 *
 * Nothing of MPI is in here: communicators are numbers. All memory is in the struct.
 */
#ifndef HOOK_WINDOW_H
#define HOOK_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define WINDOW_ENTRIES 16384
#define WINDOW_ANY_TAG INT32_MIN

/* Outcomes of wildcards with numbers from `number` on, that the program saw one after the other. */
struct hook_outcome {
	uint64_t number; /* of the wildcard */
	uint64_t key;
	uint64_t done;   /* the n-th outcome that this rank's program saw */
	uint32_t source; /* in its communicator */
	uint32_t sender; /* the same in MPI_COMM_WORLD */
	uint32_t count;
};

struct hook_window_entry {
	struct hook_outcome outcome;
	uint32_t run;           /* that it belongs to */
	uint32_t older, newer;  /* in its run */
	uint32_t before, after; /* among all; a free entry: after */
};

/* Consecutive outcomes of one source within a group. */
struct hook_window_run {
	uint32_t source, group, count;
	uint32_t oldest, newest;
	uint32_t older, newer; /* runs of the group; a free run: newer */
};

/* Outcomes of receives with the same communicator and tag. */
struct hook_window_group {
	uint64_t comm;
	int32_t tag;
	uint32_t newest; /* run */
	uint32_t next;   /* with the same hash; or free */
};

/* An empty one is all zero but for the functions and `arg`. */
struct hook_window {
	/* these raced, or have to be taken for ones that did */
	void (*write)(void *arg, const struct hook_outcome *outcome);
	/* from now on this is in the slot; NULL: nothing */
	void (*store)(void *arg, uint32_t slot, const struct hook_outcome *outcome);
	void *arg;
	/* the last one, in slot 0; in the lists, where an entry's slot is its index, are the others
	 */
	struct hook_outcome latest;
	uint64_t latest_comm;
	int32_t latest_tag;
	uint32_t used; /* entries */
	uint32_t first, last;
	uint32_t free_entry, free_run, free_group; /* used once, and left again */
	uint32_t entries, runs, groups; /* ever used: memory that is not is not touched */
	uint32_t hash[WINDOW_ENTRIES];
	struct hook_window_entry entry[WINDOW_ENTRIES + 1];
	struct hook_window_run run[WINDOW_ENTRIES + 1];
	struct hook_window_group group[WINDOW_ENTRIES + 1];
};

bool hook_window_is_full(const struct hook_window *w);

void hook_window_move_latest(struct hook_window *w);

/*
 * The program saw an outcome of a receive for (comm, tag). There must be room; store slot 0. One
 * that follows the last one is added to it.
 */
static inline void hook_window_add(struct hook_window *w, uint64_t comm, int32_t tag,
				   const struct hook_outcome *outcome)
{
	struct hook_outcome *latest = &w->latest;
	uint32_t n = latest->count;

	if (n && n != UINT32_MAX && latest->source == outcome->source &&
	    latest->key == outcome->key && latest->number + n == outcome->number &&
	    latest->done + n == outcome->done && w->latest_comm == comm && w->latest_tag == tag) {
		latest->count = n + 1;
		return;
	}
	if (n)
		hook_window_move_latest(w);
	*latest = *outcome;
	latest->count = 1;
	w->latest_comm = comm;
	w->latest_tag = tag;
}

void hook_window_compare(struct hook_window *w, uint64_t comm, int32_t tag, uint32_t source,
			 uint64_t key, uint64_t covers);

/* A message came to a receive with this key, and covers so many outcomes: what raced with it? */
static inline void hook_window_message(struct hook_window *w, uint64_t comm, int32_t tag,
				       uint32_t source, uint64_t key, uint64_t covers)
{
	if (w->used || (w->latest.count && w->latest.source != source))
		hook_window_compare(w, comm, tag, source, key, covers);
}

/* Did it race with all that is in the last entry, and is that the only one? */
static inline bool hook_window_races_latest(const struct hook_window *w, uint64_t comm, int32_t tag,
					    uint32_t source, uint64_t key, uint64_t covers)
{
	const struct hook_outcome *latest = &w->latest;

	return !w->used && latest->count && latest->source != source && w->latest_comm == comm &&
	       (w->latest_tag == tag || w->latest_tag == WINDOW_ANY_TAG) && latest->key <= key &&
	       latest->done > covers;
}

/* Forgets what the floor (hook_clock_floor) decides. */
void hook_window_retire(struct hook_window *w, uint64_t lowest, uint32_t who, uint64_t second);

/* Writes the n oldest entries, and the last one if there are fewer. */
void hook_window_evict(struct hook_window *w, uint32_t n);

#endif
