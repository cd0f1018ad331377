/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why nobody went on at the end of a run: the operations that ranks were inside of, what each would
 * have needed, and from whom. A rank is stuck if what it needs can only come from ranks that have
 * ended or are stuck themselves; the largest such set is found. An operation that needs one of
 * several things is stuck only if all of them are. Nothing is stuck whose message was on its way.
 */
#ifndef GRAPH_STUCK_H
#define GRAPH_STUCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/source.h"
#include "graph/stuck-order.h"

enum graph_need {
	GRAPH_NEED_MESSAGE, /* that the peer sends */
	GRAPH_NEED_TAKER,   /* the peer receives what is sent */
	GRAPH_NEED_ALL,     /* others enter the collective operation */
};

/* One thing that an operation waits for. */
struct graph_wish {
	enum graph_need need;
	int32_t peer, tag; /* TRACE_ANY */
	uint32_t comm;     /* the same number in all processes, MPI_COMM_WORLD is 0 */
	uint64_t nth;      /* of a collective operation: among those on its communicator */
	int32_t root;
	/* where it was begun: the operation itself, or that of its request */
	uint64_t number;
	uint32_t site;
	uint16_t call;
	unsigned *whom; /* ranks that it needs: all of them, or one if the peer is TRACE_ANY */
	size_t whoms;
	bool on_its_way, stuck;
	/* of a collective operation that all have entered: one that was another in rank `other` */
	bool differs;
	unsigned other;
	struct graph_entry mine, its;
};

/* An operation that did not end. */
struct graph_stuck_op {
	unsigned rank;
	uint32_t thread;
	uint64_t number;
	uint32_t site;
	uint16_t call;
	bool one_of; /* one wish is enough */
	bool stuck;
	struct graph_wish *wish;
	size_t wishes;
};

/* Messages of one channel that were sent and that no receive got; the last of them. */
struct graph_stray {
	unsigned sender, receiver;
	uint32_t comm;
	int32_t tag;
	uint64_t count;
	uint64_t number;
	uint32_t thread, site;
};

enum graph_standing {
	GRAPH_RUNS,  /* in no operation */
	GRAPH_WAITS, /* for one that runs, or a message that was on its way */
	GRAPH_STUCK,
	GRAPH_ENDED,
};

/* Ranks, each of which needs the next, and the last the first. */
struct graph_cycle {
	unsigned *rank;
	size_t ranks;
};

struct graph_stuck {
	unsigned ranks;
	enum graph_standing *standing; /* by rank */
	struct graph_stuck_op *op;     /* by rank and thread */
	size_t ops;
	struct graph_stray *stray;
	size_t strays;
	struct graph_cycle *cycle;
	size_t cycles;
};

/* ended[rank]: the process has ended. 0, or -EBADMSG after saying what is wrong. */
int graph_stuck_find(struct graph_stuck *s, const struct graph_source *source, const bool ended[])
	__attribute__((warn_unused_result));
void graph_stuck_free(struct graph_stuck *s);
/* What is in it. */
void graph_stuck_op_free(struct graph_stuck_op *op);

/* A part of that: who has ended is known, and what each operation needs (stuck-judge.c). */
void graph_stuck_judge(struct graph_stuck *s);

/* The rank that keeps the operation from going on: ended rather than stuck. -1: none does. */
int graph_stuck_blocker(const struct graph_stuck *s, const struct graph_stuck_op *op);

/* Would the receive have taken that one? */
bool graph_wish_admits(const struct graph_wish *w, unsigned sender, int32_t tag, uint32_t comm);

#endif
