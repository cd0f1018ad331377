/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/transfer.h"

static bool is_late(uint64_t sent, uint64_t sender_start, uint64_t taken, uint64_t receiver_start)
{
	return sent - sender_start > taken - receiver_start;
}

static uint32_t flags_of(const struct graph_ckpts *c, unsigned sender,
			 const struct graph_message *message, const struct graph_event *event,
			 uint32_t number)
{
	unsigned p = event->rank;
	uint32_t flags = 0;

	if (graph_ckpts_of_event(c, sender, message->sent) != number)
		return GRAPH_CROSSING;
	if (is_late(message->time, graph_ckpts_get(c, sender, number)->time, event->time,
		    graph_ckpts_get(c, p, number)->time))
		flags |= GRAPH_LATE;
	if (is_late(message->time, graph_ckpts_shared_start(c, sender, number), event->time,
		    graph_ckpts_shared_start(c, p, number)))
		flags |= GRAPH_LATE_SHARED;
	return flags;
}

bool graph_transfer_see(const struct graph_ckpts *ckpts, const struct graph_event *event,
			const struct graph_receive *receive, const struct graph_message *message,
			struct graph_transfer *transfer)
{
	unsigned sender = message->channel->lane->sender;
	uint32_t number = graph_ckpts_of_event(ckpts, event->rank, event->index);

	if (receive->kind == TRACE_EVENT_PROBE)
		return false;
	*transfer = (struct graph_transfer){
		.sender = sender,
		.receiver = event->rank,
		.sent = message->sent,
		.taken = event->index,
		.sending = message->number,
		.number = number,
		.flags = flags_of(ckpts, sender, message, event, number),
		.bytes = message->bytes,
	};
	return true;
}
