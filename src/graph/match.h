/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which receive gets which message. On a channel (communicator, sender, receiver, tag) messages do
 * not overtake: the n-th receive, in the order of posts, whose outcome is that channel got the n-th
 * message sent on it. So a message and its receive find each other by order alone, whichever of the
 * two is walked first.
 *
 * A lane is all channels from one sender to one receiver on one communicator. It lists what was
 * sent and not yet received, in the order of sends: what a receive of any tag chooses from.
 */
#ifndef GRAPH_MATCH_H
#define GRAPH_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "graph/clock.h"
#include "graph/hand.h"

struct graph_lane;
struct graph_channel;

/* Lives from its send or the post of its receive, whichever comes first, until it is received. */
struct graph_message {
	struct graph_message *next, *prev;    /* in its channel */
	struct graph_message *later, *sooner; /* in its lane, once it is sent */
	struct graph_channel *channel;
	struct graph_clock *clock; /* what its sender knew, but for the sender's own entry */
	/* Where threads are told apart: what the sending thread knew, and the receiving one. */
	struct graph_hand *hand, *begun;
	struct graph_walk_request *sync; /* ends when the receive has begun, which it has not yet */
	uint64_t number;                 /* of the sender's event */
	uint64_t bytes;
	uint64_t time; /* of that event, as graph_event has it */
	uint32_t sent; /* index of the send among the events of its process; 0: not yet */
	uint32_t post; /* index of the post of its receive in the receiver; 0: not yet */
	uint32_t site;
	uint16_t thread;
	bool arrived; /* the receiver knows that it is there, and has not posted its receive */
};

struct graph_channel {
	struct graph_lane *lane;
	int32_t tag;
	struct graph_message *first, *last;
	struct graph_message *unsent;    /* the first that has a receive and is not sent */
	struct graph_message *unclaimed; /* the first that is sent and has no receive yet */
};

struct graph_lane {
	uint32_t comm;
	unsigned sender, receiver;
	uint32_t slot;      /* its number among the lanes of the same communicator and receiver */
	uint64_t remaining; /* messages still to be sent */
	uint32_t arrived;   /* the receiver knows of what was sent up to that index */
	struct graph_message *first, *last;
	/* posts that take whatever comes next here, unseen by the program: indices, in order */
	uint32_t *silent;
	size_t silents;
};

/* Lanes that end in one receiver on one communicator. */
struct graph_port {
	uint32_t comm;
	unsigned receiver;
	struct graph_lane **lane;
	uint32_t lanes;
	struct graph_race_port *races; /* of race.c */
};

struct graph_match {
	struct rp_map channels;
	struct rp_map lanes;
	struct rp_map ports;
	struct graph_message *spare;
};

void graph_match_free(struct graph_match *m);

/* All lanes are made before the first message is sent. */
struct graph_lane *graph_match_lane(struct graph_match *m, uint32_t comm, unsigned sender,
				    unsigned receiver);
/* Does it send anything there? */
bool graph_match_has_lane(const struct graph_match *m, uint32_t comm, unsigned sender,
			  unsigned receiver);
/* NULL if nobody sends there. */
struct graph_port *graph_match_port(const struct graph_match *m, uint32_t comm, unsigned receiver);

/* NULL if there is no such lane, which is so if the sender sends nothing there. */
struct graph_channel *graph_match_channel(struct graph_match *m, uint32_t comm, unsigned sender,
					  unsigned receiver, int32_t tag);
/* As above, NULL also if there is nothing in it. */
struct graph_channel *graph_match_find(const struct graph_match *m, const struct graph_lane *lane,
				       int32_t tag);

/* The post with that index gets the next message of the channel, which may not be sent yet. */
struct graph_message *graph_match_claim(struct graph_match *m, struct graph_channel *channel,
					uint32_t post);
/* The same for a receive of any tag that the program never sees completed; NULL: not sent yet. */
struct graph_message *graph_match_claim_silently(struct graph_match *m, uint32_t comm,
						 unsigned sender, unsigned receiver, uint32_t post);

/* The next message of the channel is sent: its members are the caller's to fill in. */
struct graph_message *graph_match_send(struct graph_match *m, struct graph_channel *channel,
				       uint32_t index);

/* The message was received: forgets it. */
void graph_match_release(struct graph_match *m, struct graph_message *message);

/* What the sender knew of its receiver: its events up to that index happened before the send. */
static inline uint32_t graph_message_knows(const struct graph_message *m)
{
	const struct graph_lane *lane = m->channel->lane;

	return lane->sender == lane->receiver ? m->sent : m->clock->entry[lane->receiver];
}

#endif
