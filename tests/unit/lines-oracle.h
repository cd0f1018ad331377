/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What graph/line and graph/logging must find, from the truth of a simulated run and by definition:
 * all recovery lines of a breakpoint, the smallest log with which all breakpoints have one, and the
 * time of a replay. And the times of random runs.
 */
#ifndef TESTS_LINES_ORACLE_H
#define TESTS_LINES_ORACLE_H

#include "graph-oracle.h"
#include "graph-random.h"

#include "graph/line.h"

#define LINES_CUTS 4096
#define LINES_GROUPS 12

/* A message that was received. */
struct lines_message {
	int from, to, sent, taken;
	enum graph_logging_rule rule;
};

struct lines {
	const struct sim_program *p;
	const struct sim_state *s;
	const struct sim_log *log;
	const struct graph_ckpts *ckpts;
	int messages;
	struct lines_message message[SIM_MESSAGES];
	int cuts;
	uint32_t cut[LINES_CUTS][SIM_RANKS];
};

/* Clocks that agree with each other, drift, or have nothing to do with each other. */
static inline void random_times(const struct sim_program *p, struct sim_log *log, uint64_t *seed)
{
	int style = random_below(seed, 4);

	for (int rank = 0; rank < p->ranks; rank++) {
		uint64_t rate = style == 1 ? 500 + (uint64_t)random_below(seed, 1000) : 1000;
		uint64_t time = style == 0 ? 0 : (uint64_t)random_below(seed, 20000);

		for (int i = 1; i <= log->events[rank]; i++) {
			struct trace_event *e = &log->event[rank][i].e;

			if (style < 2) {
				e->time = time + e->time * rate;
				continue;
			}
			time += (uint64_t)random_below(seed, 2000);
			if (style == 3 && random_below(seed, 20) == 0)
				time += (uint64_t)random_below(seed, 40000);
			e->time = time;
		}
	}
}

static inline bool lines_takes(const struct sim_event *e)
{
	return e->message >= 0 && (e->e.kind == TRACE_EVENT_RECV || e->e.kind == TRACE_EVENT_DONE ||
				   e->e.kind == TRACE_EVENT_MPROBE);
}

static inline void lines_messages(struct lines *l)
{
	l->messages = 0;
	for (int rank = 0; rank < l->p->ranks; rank++) {
		for (int i = 1; i <= l->log->events[rank]; i++) {
			const struct sim_event *e = &l->log->event[rank][i];
			struct lines_message *m = &l->message[l->messages];
			const struct sim_message *truth;

			if (!lines_takes(e))
				continue;
			truth = &l->s->message[e->message];
			*m = (struct lines_message){truth->from, rank, truth->sent, i, 0};
			l->messages++;
		}
	}
}

static inline bool lines_is_consistent(const struct lines *l, const struct oracle *o,
				       const uint32_t *count)
{
	for (int p = 0; p < l->p->ranks; p++) {
		for (int q = 0; q < l->p->ranks; q++) {
			int missing = (int)count[q] + 1;

			if (p != q && count[p] && missing <= l->log->events[q] &&
			    oracle_before(o, oracle_begin(q, missing),
					  oracle_node(p, (int)count[p])))
				return false;
		}
	}
	return true;
}

/* All consistent cuts; false if there are too many. */
static inline bool lines_cuts(struct lines *l, const struct oracle *o)
{
	uint32_t count[SIM_RANKS] = {0};
	int rank = 0;

	l->cuts = 0;
	while (rank < l->p->ranks) {
		if (lines_is_consistent(l, o, count)) {
			if (l->cuts == LINES_CUTS)
				return false;
			memcpy(l->cut[l->cuts++], count, sizeof(count));
		}
		for (rank = 0; rank < l->p->ranks; rank++) {
			if ((int)++count[rank] <= l->log->events[rank])
				break;
			count[rank] = 0;
		}
	}
	return true;
}

/* Of one of the 2^n lines of a breakpoint: where the process is restarted. */
static inline uint32_t lines_start(const struct lines *l, const uint32_t *cut, int rank,
				   unsigned back)
{
	uint32_t k = graph_ckpts_of_place(l->ckpts, (unsigned)rank, cut[rank]);

	if (back >> rank & 1)
		k = k ? k - 1 : 0;
	return graph_ckpts_count(l->ckpts, (unsigned)rank, k);
}

/* Does it do without the messages that are not in the log? */
static inline bool lines_is_line(const struct lines *l, const uint32_t *cut, unsigned back,
				 const bool *logged)
{
	for (int i = 0; i < l->messages; i++) {
		const struct lines_message *m = &l->message[i];

		if (!logged[i] && m->sent <= (int)lines_start(l, cut, m->from, back) &&
		    m->taken > (int)lines_start(l, cut, m->to, back))
			return false;
	}
	return true;
}

static inline bool lines_all_have(const struct lines *l, const bool *logged)
{
	for (int c = 0; c < l->cuts; c++) {
		unsigned back = 0;

		while (back < 1u << l->p->ranks && !lines_is_line(l, l->cut[c], back, logged))
			back++;
		if (back == 1u << l->p->ranks)
			return false;
	}
	return true;
}

/* Could a breakpoint do with nothing but a line that needs this message? */
static inline bool lines_is_needed(const struct lines *l, int message)
{
	bool logged[SIM_MESSAGES];

	for (int i = 0; i < l->messages; i++)
		logged[i] = i != message;
	return !lines_all_have(l, logged);
}

/*
 * The size of the smallest log with which all breakpoints have a line; -1 if it is too much to
 * search. Only messages that some line needs count, and those that all lines need are in it.
 */
static inline int lines_smallest(const struct lines *l)
{
	bool logged[SIM_MESSAGES] = {false};
	int free_one[SIM_MESSAGES], n = 0, least = 0;

	for (int i = 0; i < l->messages; i++) {
		logged[i] = lines_is_needed(l, i);
		least += logged[i];
		if (!logged[i])
			free_one[n++] = i;
	}
	if (n > LINES_GROUPS)
		return -1;
	for (int extra = 0; extra <= n; extra++) {
		for (unsigned set = 0; set < 1u << n; set++) {
			if (__builtin_popcount(set) != extra)
				continue;
			for (int i = 0; i < n; i++)
				logged[free_one[i]] = set >> i & 1;
			if (lines_all_have(l, logged))
				return least + extra;
		}
	}
	return -1;
}

static inline uint64_t lines_time(const struct lines *l, int rank, int index)
{
	return l->log->event[rank][index ? index : 1].e.time;
}

/* When the replay has done each event, by relaxation until nothing changes. */
static inline uint64_t lines_replay(const struct lines *l, const struct graph_line *line,
				    const uint32_t *cut)
{
	static uint64_t at[SIM_RANKS][SIM_EVENTS + 1];
	uint64_t last = 0;
	bool changed = true;

	memset(at, 0, sizeof(at));
	while (changed) {
		changed = false;
		for (int rank = 0; rank < l->p->ranks; rank++) {
			for (int i = (int)line->count[rank] + 1; i <= (int)cut[rank]; i++) {
				uint64_t t = at[rank][i - 1] + lines_time(l, rank, i) -
					     lines_time(l, rank, i - 1);

				for (int k = 0; k < l->messages; k++) {
					const struct lines_message *m = &l->message[k];

					if (m->to == rank && m->taken == i &&
					    m->rule == GRAPH_LOGGED_NOT &&
					    m->sent > (int)line->count[m->from] &&
					    at[m->from][m->sent] > t)
						t = at[m->from][m->sent];
				}
				if (t > at[rank][i])
					changed = true;
				at[rank][i] = t > at[rank][i] ? t : at[rank][i];
			}
		}
	}
	for (int rank = 0; rank < l->p->ranks; rank++) {
		uint64_t t = at[rank][cut[rank]];

		last = cut[rank] > line->count[rank] && t > last ? t : last;
	}
	return last;
}

#endif
