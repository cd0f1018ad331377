/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels are lists. Invariant: at most one of `unsent` and `unclaimed` is not NULL. A receive
 * takes the first message that has no receive; a send serves the first receive that waits.
 */
#include "graph/match.h"

#include <stdlib.h>

#include "base/mem.h"

/* Empty channels stay for their next message, unless there are too many (tags that count up). */
#define CHANNELS_KEPT 65536

static uint64_t pair(uint32_t a, uint32_t b)
{
	return (uint64_t)a << 32 | b;
}

struct graph_port *graph_match_port(const struct graph_match *m, uint32_t comm, unsigned receiver)
{
	return rp_map_get(&m->ports, comm, receiver);
}

static struct graph_port *make_port(struct graph_match *m, uint32_t comm, unsigned receiver)
{
	struct graph_port *port = graph_match_port(m, comm, receiver);

	if (port)
		return port;
	port = rp_alloc(1, sizeof(*port));
	port->comm = comm;
	port->receiver = receiver;
	rp_map_put(&m->ports, comm, receiver, port);
	return port;
}

struct graph_lane *graph_match_lane(struct graph_match *m, uint32_t comm, unsigned sender,
				    unsigned receiver)
{
	struct graph_lane *lane = rp_map_get(&m->lanes, comm, pair(sender, receiver));
	struct graph_port *port;

	if (lane)
		return lane;
	port = make_port(m, comm, receiver);
	lane = rp_alloc(1, sizeof(*lane));
	lane->comm = comm;
	lane->sender = sender;
	lane->receiver = receiver;
	lane->slot = port->lanes;
	port->lane = rp_realloc(port->lane, port->lanes + 1, sizeof(lane));
	port->lane[port->lanes++] = lane;
	rp_map_put(&m->lanes, comm, pair(sender, receiver), lane);
	return lane;
}

bool graph_match_has_lane(const struct graph_match *m, uint32_t comm, unsigned sender,
			  unsigned receiver)
{
	return rp_map_get(&m->lanes, comm, pair(sender, receiver));
}

struct graph_channel *graph_match_find(const struct graph_match *m, const struct graph_lane *lane,
				       int32_t tag)
{
	return rp_map_get(&m->channels, pair(lane->comm, (uint32_t)tag),
			  pair(lane->sender, lane->receiver));
}

struct graph_channel *graph_match_channel(struct graph_match *m, uint32_t comm, unsigned sender,
					  unsigned receiver, int32_t tag)
{
	uint64_t a = pair(comm, (uint32_t)tag), b = pair(sender, receiver);
	struct graph_channel *channel = rp_map_get(&m->channels, a, b);
	struct graph_lane *lane;

	if (channel)
		return channel;
	lane = rp_map_get(&m->lanes, comm, b);
	if (!lane)
		return NULL;
	channel = rp_alloc(1, sizeof(*channel));
	channel->lane = lane;
	channel->tag = tag;
	rp_map_put(&m->channels, a, b, channel);
	return channel;
}

static struct graph_message *append(struct graph_match *m, struct graph_channel *channel)
{
	struct graph_message *message = m->spare;

	if (message)
		m->spare = message->next;
	else
		message = rp_alloc(1, sizeof(*message));
	*message = (struct graph_message){.channel = channel, .prev = channel->last};
	if (channel->last)
		channel->last->next = message;
	else
		channel->first = message;
	channel->last = message;
	return message;
}

struct graph_message *graph_match_claim(struct graph_match *m, struct graph_channel *channel,
					uint32_t post)
{
	struct graph_message *message = channel->unclaimed;

	if (message) {
		channel->unclaimed = message->next;
	} else {
		message = append(m, channel);
		if (!channel->unsent)
			channel->unsent = message;
	}
	message->post = post;
	return message;
}

struct graph_message *graph_match_claim_silently(struct graph_match *m, uint32_t comm,
						 unsigned sender, unsigned receiver, uint32_t post)
{
	struct graph_lane *lane = rp_map_get(&m->lanes, comm, pair(sender, receiver));
	struct graph_message *message = lane->first;

	while (message && message->post)
		message = message->later;
	/* It is the first of its channel that has no receive, too. */
	if (message)
		return graph_match_claim(m, message->channel, post);
	lane->silent = rp_realloc(lane->silent, lane->silents + 1, sizeof(post));
	lane->silent[lane->silents++] = post;
	return NULL;
}

/* Does an older post that takes any tag come before the receive that waits for this message? */
static bool is_silent(struct graph_lane *lane, const struct graph_message *waiting, uint32_t *post)
{
	if (!lane->silents || (waiting && waiting->post < lane->silent[0]))
		return false;
	*post = lane->silent[0];
	for (size_t i = 1; i < lane->silents; i++)
		lane->silent[i - 1] = lane->silent[i];
	lane->silents--;
	return true;
}

static void insert_before(struct graph_message *message, struct graph_message *place)
{
	struct graph_channel *channel = message->channel;

	if (!place)
		return;
	/* append() has put it last. */
	channel->last = message->prev;
	channel->last->next = NULL;
	message->next = place;
	message->prev = place->prev;
	place->prev = message;
	if (message->prev)
		message->prev->next = message;
	else
		channel->first = message;
}

struct graph_message *graph_match_send(struct graph_match *m, struct graph_channel *channel,
				       uint32_t index)
{
	struct graph_message *message = channel->unsent;
	struct graph_lane *lane = channel->lane;
	uint32_t post;

	if (is_silent(lane, message, &post)) {
		message = append(m, channel);
		insert_before(message, channel->unsent);
		message->post = post;
	} else if (message) {
		channel->unsent = message->next;
	} else {
		message = append(m, channel);
		if (!channel->unclaimed)
			channel->unclaimed = message;
	}
	message->sent = index;
	message->sooner = lane->last;
	if (lane->last)
		lane->last->later = message;
	else
		lane->first = message;
	lane->last = message;
	if (lane->remaining)
		lane->remaining--;
	return message;
}

static void leave_lane(struct graph_message *message)
{
	struct graph_lane *lane = message->channel->lane;

	if (message->sooner)
		message->sooner->later = message->later;
	else
		lane->first = message->later;
	if (message->later)
		message->later->sooner = message->sooner;
	else
		lane->last = message->sooner;
}

static void drop_clocks(struct graph_message *message)
{
	graph_clock_drop(message->clock);
	graph_hand_drop(message->hand);
	graph_hand_drop(message->begun);
}

void graph_match_release(struct graph_match *m, struct graph_message *message)
{
	struct graph_channel *channel = message->channel;
	struct graph_lane *lane = channel->lane;

	leave_lane(message);
	if (message->prev)
		message->prev->next = message->next;
	else
		channel->first = message->next;
	if (message->next)
		message->next->prev = message->prev;
	else
		channel->last = message->prev;
	drop_clocks(message);
	message->next = m->spare;
	m->spare = message;
	if (!channel->first && m->channels.used > CHANNELS_KEPT) {
		rp_map_remove(&m->channels, pair(lane->comm, (uint32_t)channel->tag),
			      pair(lane->sender, lane->receiver));
		free(channel);
	}
}

void graph_match_free(struct graph_match *m)
{
	struct graph_message *message, *next;
	struct graph_channel *channel;
	struct graph_lane *lane;
	struct graph_port *port;
	size_t place;

	for (place = 0; (channel = rp_map_next(&m->channels, &place)); free(channel)) {
		for (message = channel->first; message; message = next) {
			next = message->next;
			drop_clocks(message);
			free(message);
		}
	}
	for (message = m->spare; message; message = next) {
		next = message->next;
		free(message);
	}
	for (place = 0; (lane = rp_map_next(&m->lanes, &place)); free(lane))
		free(lane->silent);
	for (place = 0; (port = rp_map_next(&m->ports, &place)); free(port))
		free(port->lane);
	rp_map_free(&m->channels);
	rp_map_free(&m->lanes);
	rp_map_free(&m->ports);
}
