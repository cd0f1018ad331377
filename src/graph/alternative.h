/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alternatives: which other message a wildcard could have got (graph/race.h), or which other
 * receive could have completed (graph/choice.h), as something that can be made to happen. For
 * receive r that is, besides the sender, the cut up to which the run is to be repeated: all that
 * happened without knowing what r got.
 */
#ifndef GRAPH_ALTERNATIVE_H
#define GRAPH_ALTERNATIVE_H

#include <stdbool.h>

#include "graph/source.h"

/* Just before this event of the thread, by its number in the source. */
struct graph_position {
	unsigned rank;
	uint32_t thread;
	uint64_t event;
	bool inside; /* no: after it has posted its receive, and before that completes */
};

/*
 * Has it a number among the receives that the program posts? Where threads take turns a blocking
 * receive is a post and its completion, too.
 */
bool graph_is_post(uint8_t kind, uint16_t call);

struct graph_alternative {
	struct graph_position at; /* the receive; of a posted one the event that decides it */
	bool is_post;
	uint64_t post;      /* its number among the wildcards that its process posted, from 0 */
	bool is_choice;     /* not a receive, but a choice among requests: `at` */
	uint64_t receive;   /* of a choice: the other one, numbered among all posted receives */
	uint64_t posted_by; /* of a choice: the event that posted it */
	int32_t got;        /* whose message it got; a rank of MPI_COMM_WORLD */
	int32_t other;      /* whose it could have got */
	int32_t source;     /* the other as a rank of the communicator */
	uint32_t thread;    /* of the post */
	uint32_t site;      /* of the post */
	uint16_t call;
	uint32_t decided; /* index of `at` in its process */
	uint32_t index;   /* of the post */
	int32_t tag;      /* of the other message */
	/*
	 * Posted wildcards, by number, whose outcome the program has not learnt at the cut, and
	 * that would take the other message if they were free. They must get what they got.
	 */
	uint64_t *kept;
	size_t keeps;
	struct graph_position *cut;
	size_t cuts;
};

struct graph_alternatives {
	struct graph_alternative *item;
	size_t n;
	uint64_t others; /* alternatives that were left out because there is one like it */
};

struct graph_alternatives_wanted {
	bool all;     /* or one for each place in the program and pair of senders */
	size_t limit; /* 0: none */
	/* May be NULL: is this place wanted? */
	bool (*is_wanted)(void *context, unsigned rank, uint32_t thread, uint32_t site);
	void *context;
};

/* Walks over all events twice. 0, or -EBADMSG after saying what is wrong with them. */
int graph_alternatives_find(const struct graph_source *source,
			    const struct graph_alternatives_wanted *wanted,
			    struct graph_alternatives *found) __attribute__((warn_unused_result));
void graph_alternatives_free(struct graph_alternatives *found);

#endif
