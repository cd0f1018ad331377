/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All messages of a run with their receives, from one walk of the event graph. The reduction of a
 * trace and its replay in the order of arrival are computed from them. This is held in memory:
 * about 60 bytes per message.
 */
#ifndef GRAPH_TRAFFIC_H
#define GRAPH_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "graph/source.h"
#include "graph/walk.h"

#define GRAPH_NEVER UINT32_MAX

enum {
	GRAPH_WILD = 1,    /* its receive takes any source */
	GRAPH_POSTED = 2,  /* its receive is not a blocking one */
	GRAPH_PINNED = 4,  /* made by a call that cannot hold it back */
	GRAPH_RACING = 8,  /* its receive could have got another one */
	GRAPH_HELD = 16,   /* held back in replay */
	GRAPH_TRACED = 32, /* the source of its receive is traced */
};

/* A message to one process. Indices count the events of a process, numbers those of a thread. */
struct graph_traffic_message {
	uint32_t sender, sent, number, thread;
	uint32_t comm; /* place in graph_traffic.comm */
	int32_t tag;
	uint32_t knows; /* events of the receiver that the sender knew of */
	/* its receive; GRAPH_NEVER if there is none */
	uint32_t post, done;
	uint32_t post_number, post_thread;
	uint32_t nth;  /* among the receives of its event */
	uint32_t wild; /* number among the posted wildcards of its process */
	int32_t want_tag;
	uint32_t flags;
};

/* A probe that saw a message and left it. */
struct graph_traffic_probe {
	uint32_t message; /* its place in the process's list */
	uint32_t index, number, thread;
	int32_t want_tag;
	uint32_t flags;
};

struct graph_traffic_process {
	struct graph_traffic_message *message; /* to it, in no useful order */
	uint32_t messages, message_room;
	struct graph_traffic_probe *probe; /* in their order */
	uint32_t probes, probe_room;
	uint32_t wilds; /* posted wildcards */
	bool threaded;  /* several threads communicate */
	/* while the graph is walked */
	struct graph_traffic_sent *sent; /* by it, in their order */
	uint32_t sents, sent_room;
	uint32_t last_number, last_thread, nth;
	uint32_t first_thread;
	bool seen;
};

/* Where each process got to know of a communicator. */
struct graph_traffic_comm {
	uint64_t name;
	uint32_t size,
		born;      /* members, and those of them that have it: some may have died before */
	bool made_by_call; /* in all processes the event is the call that made it */
	bool is_idup;
	bool held; /* it carries messages that are held back */
};

struct graph_traffic_birth {
	uint32_t comm, rank, thread, number;
};

struct graph_traffic {
	unsigned ranks;
	bool threaded; /* a process is */
	struct graph_traffic_process *process;
	struct graph_traffic_comm *comm;
	uint32_t comms, comm_room;
	struct graph_traffic_birth *birth;
	uint32_t births, birth_room;
	struct rp_map names; /* of communicators: place + 1 */
	struct rp_map here;  /* (rank, number in that process): place + 1 */
};

/* A shadow is made by all members, in the call that makes the communicator. */
bool graph_traffic_can_shadow(const struct graph_traffic_comm *comm);

/* 0, or the exit code after saying what is wrong. */
int graph_traffic_gather(struct graph_traffic *traffic, const struct graph_source *source)
	__attribute__((warn_unused_result));
void graph_traffic_free(struct graph_traffic *traffic);

#endif
