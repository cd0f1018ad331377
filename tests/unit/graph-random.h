/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs and random runs of them for the small MPI of graph-sim.h. */
#ifndef TESTS_GRAPH_RANDOM_H
#define TESTS_GRAPH_RANDOM_H

#include "graph-sim.h"
#include "scratch.h"

struct sim_style {
	int ranks;   /* at most */
	int ops;     /* at most, point to point, for each rank */
	int colls;   /* at most */
	bool simple; /* one communicator; no requests but receives, no wildcard tags beside fixed */
};

/* GRAPH_SEEDS and GRAPH_FIRST choose other seeds than the usual ones. */
static inline int seed_count(int usual)
{
	const char *more = getenv("GRAPH_SEEDS");

	return more ? atoi(more) : usual;
}

static inline uint64_t first_seed(uint64_t usual)
{
	const char *first = getenv("GRAPH_FIRST");

	return first ? strtoull(first, NULL, 10) : usual;
}

static inline int random_below(uint64_t *seed, int n)
{
	return (int)(random_next(seed) % (uint64_t)n);
}

static inline void random_comms(struct sim_program *p, uint64_t *seed, bool simple)
{
	struct sim_comm *c = &p->comm[p->comms++];

	*c = (struct sim_comm){.name = 100, .size = p->ranks};
	for (int i = 0; i < p->ranks; i++)
		c->member[i] = i;
	if (simple)
		return;
	/* Some of them, in another order, with neighbours. */
	c = &p->comm[p->comms++];
	*c = (struct sim_comm){.name = 200};
	for (int i = 0; i < p->ranks; i++) {
		int at = random_below(seed, c->size + 1);

		if (p->ranks > 2 && random_below(seed, 4) == 0)
			continue;
		memmove(&c->member[at + 1], &c->member[at],
			sizeof(c->member[0]) * (size_t)(c->size - at));
		c->member[at] = i;
		c->size++;
	}
	if (!c->size)
		c->member[c->size++] = 0;
	for (int i = 0; i < c->size; i++) {
		for (int k = 0; k < c->size; k++) {
			if (random_below(seed, 2))
				c->neighbour[i][c->neighbours[i]++] = c->member[k];
		}
	}
	/* Two groups. */
	c = &p->comm[p->comms++];
	*c = p->comm[0];
	c->name = 300;
	c->remote = 1 + random_below(seed, p->ranks - 1);
}

static inline void random_receive(struct sim_op *op, const struct sim_program *p, uint64_t *seed,
				  int wild_tags)
{
	op->peer = random_below(seed, 3) ? TRACE_ANY : random_below(seed, p->ranks);
	op->tag = random_below(seed, 2);
	if (wild_tags == 1 || (wild_tags < 0 && random_below(seed, 2)))
		op->tag = TRACE_ANY;
}

static inline void random_op(struct sim_program *p, int rank, uint64_t *seed,
			     const struct sim_style *style, int wild_tags)
{
	/* The first of them make simple programs. */
	static const enum sim_kind kinds[] = {
		SIM_SEND,   SIM_SEND,    SIM_SEND,   SIM_SEND,  SIM_RECV,  SIM_RECV,
		SIM_IRECV,  SIM_IRECV,   SIM_WAIT,   SIM_PROBE, SIM_ISEND, SIM_ISEND,
		SIM_MPROBE, SIM_WAITANY, SIM_CANCEL, SIM_FREE,
	};
	int n = p->ops[rank], range = style->simple ? 10 : 16;
	struct sim_op *op = &p->op[rank][n];

	*op = (struct sim_op){.kind = kinds[random_below(seed, range)],
			      .tag = random_below(seed, 2)};
	if (!style->simple && random_below(seed, 4) == 0 && sim_place(&p->comm[1], rank) >= 0)
		op->comm = 1;
	switch (op->kind) {
	case SIM_SEND:
	case SIM_ISEND:
		op->peer = p->comm[op->comm].member[random_below(seed, p->comm[op->comm].size)];
		break;
	case SIM_RECV:
	case SIM_IRECV:
	case SIM_PROBE:
	case SIM_MPROBE:
		random_receive(op, p, seed, wild_tags);
		break;
	case SIM_WAIT:
	case SIM_CANCEL:
	case SIM_FREE:
		for (int i = 0; i < n * 2; i++) {
			enum sim_kind kind;

			op->ref = random_below(seed, n);
			kind = p->op[rank][op->ref].kind;
			if (kind == SIM_IRECV ||
			    (op->kind == SIM_WAIT && (kind == SIM_ISEND || kind == SIM_ICOLL))) {
				p->ops[rank]++;
				return;
			}
		}
		return;
	default:
		break;
	}
	p->ops[rank]++;
}

static inline void random_coll(struct sim_op *op, const struct sim_program *p, uint64_t *seed,
			       bool simple)
{
	static const char *const names[] = {"MPI_Barrier",
					    "MPI_Bcast",
					    "MPI_Reduce",
					    "MPI_Allreduce",
					    "MPI_Scan",
					    "MPI_Gather",
					    "MPI_Scatter",
					    "MPI_Alltoall",
					    "MPI_Comm_dup",
					    "MPI_Exscan",
					    "MPI_Ibarrier",
					    "MPI_Iallreduce",
					    "MPI_Ibcast",
					    "MPI_Iscan",
					    "MPI_Comm_idup",
					    "MPI_Igather",
					    "MPI_Neighbor_allgather",
					    "MPI_Alltoallv",
					    "MPI_Comm_free"};

	*op = (struct sim_op){.kind = SIM_COLL, .root = TRACE_NO_PEER};
	op->comm = simple ? 0 : random_below(seed, p->comms);
	do
		op->call = names[random_below(seed, simple ? 5 : 19)];
	while ((strstr(op->call, "Neigh") && op->comm != 1) ||
	       (p->comm[op->comm].remote && strstr(op->call, "can")));
	if (op->call[4] == 'I' || !strcmp(op->call, "MPI_Comm_idup"))
		op->kind = SIM_ICOLL;
	op->bytes = random_below(seed, 4) ? 8 : 0;
	if (strstr(op->call, "cast") || strstr(op->call, "educe") || strstr(op->call, "ather") ||
	    strstr(op->call, "catter"))
		op->root = p->comm[op->comm].member[random_below(seed, p->comm[op->comm].size)];
	if (strstr(op->call, "llreduce") || strstr(op->call, "Neigh"))
		op->root = TRACE_NO_PEER;
}

static inline void random_program(struct sim_program *p, uint64_t *seed,
				  const struct sim_style *style)
{
	struct sim_op coll[16];
	int wild_tags = style->simple ? random_below(seed, 2) : -1;
	int length = 1 + random_below(seed, style->ops);

	memset(p, 0, sizeof(*p));
	p->ranks = 2 + random_below(seed, style->ranks - 1);
	random_comms(p, seed, style->simple);
	p->colls = random_below(seed, style->colls + 1);
	for (int i = 0; i < p->colls; i++) {
		random_coll(&coll[i], p, seed, style->simple);
		coll[i].coll = i;
	}
	for (int rank = 0; rank < p->ranks; rank++) {
		int next = 0;

		for (int i = 0; i < length; i++) {
			while (next < p->colls && random_below(seed, length) < p->colls) {
				if (sim_place(&p->comm[coll[next].comm], rank) >= 0)
					p->op[rank][p->ops[rank]++] = coll[next];
				next++;
			}
			random_op(p, rank, seed, style, wild_tags);
		}
	}
}

/* What a blocked rank waits for is sent by one that has nothing else to do, if there is one. */
static inline bool random_help(struct sim_program *p, const struct sim_state *s, uint64_t *seed)
{
	for (int rank = 0; rank < p->ranks; rank++) {
		const struct sim_op *op = &p->op[rank][s->pc[rank]];
		int from;

		if (s->pc[rank] >= p->ops[rank])
			continue;
		if (op->kind == SIM_WAIT)
			op = &p->op[rank][op->ref];
		if (op->kind != SIM_RECV && op->kind != SIM_IRECV && op->kind != SIM_PROBE &&
		    op->kind != SIM_MPROBE)
			continue;
		from = op->peer == TRACE_ANY ? random_below(seed, p->ranks) : op->peer;
		if (s->pc[from] < p->ops[from] || p->ops[from] == SIM_OPS ||
		    sim_place(&p->comm[op->comm], from) < 0)
			continue;
		p->op[from][p->ops[from]++] = (struct sim_op){
			.kind = SIM_SEND,
			.peer = rank,
			.tag = op->tag == TRACE_ANY ? random_below(seed, 2) : op->tag,
			.comm = op->comm};
		return true;
	}
	return false;
}

/* Or the blocked rank does something else: a receive goes on without it, a probe was never made. */
static inline bool random_go_on(struct sim_program *p, struct sim_state *s, struct sim_log *log,
				uint64_t *seed)
{
	int start = random_below(seed, p->ranks);

	for (int i = 0; i < p->ranks; i++) {
		int rank = (start + i) % p->ranks, pc = s->pc[rank];
		struct sim_op *op = &p->op[rank][pc];

		if (pc >= p->ops[rank])
			continue;
		if (op->kind == SIM_RECV) {
			op->kind = SIM_IRECV;
			sim_log_receive(p, log, rank, pc, TRACE_EVENT_POST);
		} else if (op->kind != SIM_PROBE && op->kind != SIM_MPROBE &&
			   op->kind != SIM_WAIT) {
			continue;
		}
		s->begun[rank] = false;
		s->pc[rank]++;
		return true;
	}
	return false;
}

/* With `help` the program is changed where it does not come to its end. */
static inline void random_run(struct sim_program *p, struct sim_state *s, struct sim_log *log,
			      uint64_t *seed, bool help)
{
	int lazy = random_below(seed, 8);

	sim_start(p, s, log);
	for (;;) {
		int can[SIM_RANKS + SIM_MESSAGES], n = 0, pick;

		for (int i = 0; i < s->messages; i++) {
			/* Now and then messages are slow. */
			if (sim_can_deliver(s, i) && random_below(seed, 8) >= lazy)
				can[n++] = SIM_RANKS + i;
		}
		for (int rank = 0; rank < p->ranks; rank++) {
			if (sim_can_step(p, s, rank))
				can[n++] = rank;
		}
		for (int i = 0; !n && i < s->messages; i++) {
			if (sim_can_deliver(s, i))
				can[n++] = SIM_RANKS + i;
		}
		if (!n && help && (random_help(p, s, seed) || random_go_on(p, s, log, seed)))
			continue;
		if (!n)
			break;
		pick = can[random_below(seed, n)];
		if (pick >= SIM_RANKS)
			sim_deliver(p, s, pick - SIM_RANKS);
		else
			sim_step(p, s, log, pick, random_below(seed, 1000));
	}
	sim_end(p, s, log);
}

#endif
