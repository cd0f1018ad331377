/* SPDX-License-Identifier: Apache-2.0 */
/* For people: first why, then where everybody is. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/hang.h"
#include "cmd/show.h"
#include "trace/calls.h"

#define STRAYS 4 /* shown of one rank */

static void put(const char *indent, char *text)
{
	char *clean = cmd_show_text(text);

	printf("%s%s\n", indent, clean);
	free(clean);
	free(text);
}

static bool is_in(const struct graph_cycle *c, unsigned rank)
{
	for (size_t i = 0; i < c->ranks; i++) {
		if (c->rank[i] == rank)
			return true;
	}
	return false;
}

static bool is_in_cycle(const struct cmd_hang *h, unsigned rank)
{
	for (size_t i = 0; i < h->stuck.cycles; i++) {
		if (is_in(&h->stuck.cycle[i], rank))
			return true;
	}
	return false;
}

/* What was sent to the rank, and is not what it waits for. */
static void print_strays(struct cmd_hang *h, unsigned rank)
{
	size_t shown = 0;

	for (size_t i = 0; i < h->stuck.strays && shown < STRAYS; i++) {
		if (h->stuck.stray[i].receiver != rank)
			continue;
		put("    ", cmd_hang_stray_text(h, &h->stuck.stray[i]));
		shown++;
	}
}

static void print_ops(struct cmd_hang *h, unsigned rank, const char *indent)
{
	for (size_t i = 0; i < h->stuck.ops; i++) {
		if (h->stuck.op[i].rank == rank)
			put(indent, cmd_hang_op_text(h, &h->stuck.op[i]));
	}
	print_strays(h, rank);
}

static int compare(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return x < y ? -1 : x > y;
}

static char *sorted_ranks(const unsigned *rank, size_t n)
{
	unsigned *copy = rp_alloc(n + 1, sizeof(*copy));
	char *text;

	memcpy(copy, rank, n * sizeof(*copy));
	qsort(copy, n, sizeof(*copy), compare);
	text = cmd_show_ranks(copy, n);
	free(copy);
	return text;
}

static void print_cycles(struct cmd_hang *h)
{
	for (size_t i = 0; i < h->stuck.cycles; i++) {
		const struct graph_cycle *c = &h->stuck.cycle[i];
		char *ranks = sorted_ranks(c->rank, c->ranks);

		if (c->ranks == 1)
			printf("Deadlock: rank %s waits for itself.\n", ranks);
		else
			printf("Deadlock: ranks %s wait for each other, a cycle.\n", ranks);
		for (size_t k = 0; k < c->ranks; k++)
			print_ops(h, c->rank[k], "  ");
		free(ranks);
	}
}

static int blocker_of(const struct cmd_hang *h, unsigned rank)
{
	for (size_t i = 0; i < h->stuck.ops; i++) {
		if (h->stuck.op[i].rank == rank && h->stuck.op[i].stuck)
			return graph_stuck_blocker(&h->stuck, &h->stuck.op[i]);
	}
	return -1;
}

static char *end_of(const struct cmd_hang *h, unsigned rank)
{
	for (size_t i = 0; i < h->run.ranks; i++) {
		if (h->run.rank[i].rank == rank && !cmd_hang_was_killed(&h->run.rank[i]))
			return trace_run_rank_end(&h->run, &h->run.rank[i], false);
	}
	return rp_strdup("it has left MPI");
}

static void print_missing(struct cmd_hang *h)
{
	for (unsigned q = 0; q < h->stuck.ranks; q++) {
		int by = h->stuck.standing[q] == GRAPH_STUCK ? blocker_of(h, q) : -1;

		if (by < 0 || h->stuck.standing[by] != GRAPH_ENDED || is_in_cycle(h, q))
			continue;
		put("", rp_format("Rank %u waits for rank %d, which has ended: %s.", q, by,
				  end_of(h, (unsigned)by)));
		print_ops(h, q, "  ");
	}
}

static void print_behind(struct cmd_hang *h)
{
	bool head = false;

	for (unsigned q = 0; q < h->stuck.ranks; q++) {
		int by = h->stuck.standing[q] == GRAPH_STUCK ? blocker_of(h, q) : -1;

		if (h->stuck.standing[q] != GRAPH_STUCK || is_in_cycle(h, q) ||
		    (by >= 0 && h->stuck.standing[by] == GRAPH_ENDED))
			continue;
		if (!head)
			puts("Behind that:");
		head = true;
		print_ops(h, q, "  ");
	}
}

/* Ranks that were in no call of MPI, and those who wait for them. */
static void print_running(struct cmd_hang *h)
{
	for (unsigned q = 0; q < h->stuck.ranks; q++) {
		const struct replay_seen *seen = cmd_hang_main(h, q);

		if (h->stuck.standing[q] != GRAPH_RUNS)
			continue;
		if (seen && seen->call)
			put("", rp_format("Rank %u is in no call of MPI that waits: in %s%s.", q,
					  seen->call, seen->place));
		else
			put("", rp_format("Rank %u is in no call of MPI: it runs%s.", q,
					  seen ? seen->place : ""));
	}
	for (unsigned q = 0; q < h->stuck.ranks; q++) {
		if (h->stuck.standing[q] == GRAPH_WAITS)
			print_ops(h, q, "  ");
	}
}

static void print_threads(const struct cmd_hang *h)
{
	for (size_t i = 0; i < h->ranks; i++) {
		unsigned rank = h->rank[i].rank;
		size_t n, cycle = 0;
		struct cmd_hang_thread *list = cmd_hang_threads(h, rank, &n);

		for (size_t k = 0; k < n; k++)
			cycle += list[k].in_cycle;
		if (n && cycle)
			printf("Deadlock: threads of rank %u wait for each other, a cycle.\n",
			       rank);
		else if (n)
			printf("All threads of rank %u wait, and nobody is left to wake them.\n",
			       rank);
		for (size_t pass = 0; pass < 2; pass++) {
			for (size_t k = 0; k < n; k++) {
				if (list[k].in_cycle == (pass == 0))
					put("  ", cmd_hang_thread_text(&list[k]));
			}
		}
		free(list);
	}
}

/* Ranks, and other threads than their main ones, that have a text in common. */
struct group {
	char *text;
	unsigned *rank;
	size_t ranks;
	char *threads; /* "0.0.1, 0.0.2" */
};

/* thread is NULL for the main one. */
static void add_to_group(struct group **group, size_t *groups, char *text, unsigned rank,
			 const char *thread)
{
	struct group *g = NULL;

	for (size_t i = 0; i < *groups && !g; i++) {
		if (strcmp((*group)[i].text, text) == 0)
			g = &(*group)[i];
	}
	if (g) {
		free(text);
	} else {
		*group = rp_widen(*group, *groups, *groups + 1, sizeof(**group));
		g = &(*group)[(*groups)++];
		g->text = text;
	}
	if (thread) {
		char *before = g->threads;

		g->threads = rp_format("%s%s%u.%s", before ? before : "", before ? "," : "", rank,
				       thread);
		free(before);
		return;
	}
	g->rank = rp_widen(g->rank, g->ranks, g->ranks + 1, sizeof(*g->rank));
	g->rank[g->ranks++] = rank;
}

static char *stack_text(struct cmd_hang *h, const struct graph_stuck_op *op)
{
	char **frame = cmd_graph_stack(&h->graph, op->rank, op->thread, op->site);
	char *text = rp_strdup(trace_call_name(op->call));

	for (size_t i = 0; frame[i] && strcmp(frame[i], "_start") != 0; i++) {
		char *longer = rp_format("%s%s%s", text, i ? ", called at " : " at ", frame[i]);

		free(text);
		text = longer;
	}
	rp_strings_free(frame);
	return text;
}

/* Whom a rank waits for is not said again. */
static char *standing_text(const struct cmd_hang *h, const struct replay_seen *s)
{
	const char *with = s->call && strstr(s->call, "end") ? " to " : " from ";
	bool said = s->rank < h->stuck.ranks && h->stuck.standing[s->rank] == GRAPH_STUCK;

	if (!s->call)
		return rp_format("runs%s", s->place);
	if (!s->partner || said)
		return rp_format("%s%s", s->call, s->place);
	return rp_format("%s%s%s%s", s->call, s->place, with, s->partner);
}

static void gather(struct cmd_hang *h, struct group **group, size_t *groups)
{
	for (size_t i = 0; i < h->stuck.ops && !h->live; i++) {
		const struct graph_stuck_op *op = &h->stuck.op[i];
		const char *thread =
			h->graph.source.thread(h->graph.source.context, op->rank, op->thread);

		add_to_group(group, groups, stack_text(h, op), op->rank,
			     strcmp(thread, "0") == 0 ? NULL : thread);
	}
	for (size_t i = 0; i < h->look.n; i++) {
		const struct replay_seen *s = &h->look.seen[i];
		bool main = i == 0 || s[-1].rank != s->rank;

		if (main && h->messages && h->stuck.standing[s->rank] != GRAPH_RUNS)
			continue;
		add_to_group(group, groups, standing_text(h, s), s->rank, main ? NULL : s->thread);
	}
}

static void print_groups(struct cmd_hang *h)
{
	struct group *group = NULL;
	size_t groups = 0;

	gather(h, &group, &groups);
	if (groups)
		puts(h->live ? "Where they are:" : "\nWhere they are:");
	for (size_t i = 0; i < groups; i++) {
		char *ranks = sorted_ranks(group[i].rank, group[i].ranks);

		put("  ", rp_format("[%s%s%s] %s", ranks, *ranks && group[i].threads ? "," : "",
				    group[i].threads ? group[i].threads : "", group[i].text));
		free(ranks);
		free(group[i].threads);
		free(group[i].text);
		free(group[i].rank);
	}
	free(group);
}

/* Nothing is guessed of living ranks. */
static void print_limit(const struct cmd_hang *h)
{
	bool any = false;

	for (size_t i = 0; i < h->look.n; i++) {
		const struct replay_seen *s = &h->look.seen[i];

		any |= cmd_hang_is_in_mpi(s) &&
		       (s->rank >= h->stuck.ranks || h->stuck.standing[s->rank] != GRAPH_STUCK);
	}
	if (h->unwatched)
		printf("Whether they do so for ever cannot be watched here (perf_event_open: "
		       "%s).\n",
		       strerror(-h->unwatched));
	if (h->gave_up)
		puts("Whether they do so for ever was not found out: for as much memory as they "
		     "have, they get "
		     "too little of the processor.");
	if (any)
		puts("Who waits for whom in MPI is known of recorded runs: 'reprise hang TRACE'.");
}

void cmd_hang_print(struct cmd_hang *h)
{
	if (h->live) {
		print_cycles(h);
		print_behind(h);
		print_threads(h);
		print_groups(h);
		print_limit(h);
		return;
	}
	if (!cmd_hang_is_one(h)) {
		char *end = h->run.ranks ? trace_run_rank_end(&h->run, &h->run.rank[0], false)
					 : rp_strdup("");

		put("", rp_format("Nothing hangs in %s (rank 0: %s).", h->run.dir.show, end));
		free(end);
		print_groups(h);
		return;
	}
	print_cycles(h);
	print_missing(h);
	print_behind(h);
	print_running(h);
	print_threads(h);
	print_groups(h);
}
