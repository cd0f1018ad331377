/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gathers. The evaluation knows what ranks wanted of each other. Threads, and ranks that were in no
 * call, have to be looked at: that takes another replay, which is left out if there are none.
 */
#include "cmd/hang.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/show.h"
#include "trace/calls.h"

bool cmd_hang_was_killed(const struct trace_run_rank *rank)
{
	const struct trace_run_stream *last = rank->last;

	if (!last || !last->end)
		return true;
	return last->end == TRACE_END_SIGNAL &&
	       (last->end_value == SIGINT || last->end_value == SIGTERM ||
		last->end_value == SIGQUIT || last->end_value == SIGHUP ||
		last->end_value == SIGKILL);
}

static bool any_was_killed(const struct cmd_hang *h)
{
	for (size_t i = 0; i < h->run.ranks; i++) {
		if (cmd_hang_was_killed(&h->run.rank[i]))
			return true;
	}
	return false;
}

static int find_messages(struct cmd_hang *h)
{
	bool *ended;
	int code = cmd_graph_open(&h->graph, h->run.dir.path);

	if (code)
		return code;
	h->messages = true;
	ended = rp_alloc(h->graph.source.ranks + 1, sizeof(*ended));
	for (size_t i = 0; i < h->run.ranks && i < h->graph.source.ranks; i++)
		ended[i] = !cmd_hang_was_killed(&h->run.rank[i]);
	code = graph_stuck_find(&h->stuck, &h->graph.source, ended) == 0 ? 0 : RP_EXIT_BAD_INPUT;
	free(ended);
	return code;
}

/* Is there more to know than what ranks are inside of? */
static bool needs_look(const struct cmd_hang *h)
{
	struct trace_run_rank sum;

	trace_run_total(&h->run, &sum);
	if (sum.syncs)
		return true;
	for (unsigned i = 0; i < h->stuck.ranks; i++) {
		if (h->stuck.standing[i] == GRAPH_RUNS)
			return true;
	}
	return !h->messages;
}

int cmd_hang_open(struct cmd_hang *h, const char *trace, double patience)
{
	int code;

	*h = (struct cmd_hang){0};
	code = trace_run_open(&h->run, trace);
	if (code)
		return code;
	for (size_t i = 0; i < h->run.ranks; i++) {
		h->rank = rp_widen(h->rank, i, i + 1, sizeof(*h->rank));
		h->rank[h->ranks++].rank = h->run.rank[i].rank;
	}
	if (!any_was_killed(h))
		return 0;
	for (size_t i = 0; i < h->run.ranks && !code && !h->messages; i++) {
		if (h->run.rank[i].world)
			code = find_messages(h);
	}
	if (!code && needs_look(h))
		code = replay_look(&h->run, patience, &h->look);
	if (code)
		cmd_hang_close(h);
	return code;
}

void cmd_hang_close(struct cmd_hang *h)
{
	cmd_hang_doubt(h);
	if (h->messages)
		cmd_graph_close(&h->graph);
	replay_look_free(&h->look);
	free(h->rank);
	if (!h->live)
		trace_run_close(&h->run);
}

bool cmd_hang_is_one(const struct cmd_hang *h)
{
	for (unsigned i = 0; i < h->stuck.ranks; i++) {
		if (h->stuck.standing[i] == GRAPH_STUCK || h->stuck.standing[i] == GRAPH_WAITS)
			return true;
	}
	for (size_t i = 0; i < h->ranks; i++) {
		size_t n;

		free(cmd_hang_threads(h, h->rank[i].rank, &n));
		if (n)
			return true;
	}
	for (size_t i = 0; h->live && i < h->look.n; i++) {
		if (cmd_hang_is_in_mpi(&h->look.seen[i]))
			return true;
	}
	return false;
}

const struct replay_seen *cmd_hang_main(const struct cmd_hang *h, unsigned rank)
{
	for (size_t i = 0; i < h->look.n; i++) {
		if (h->look.seen[i].rank == rank)
			return &h->look.seen[i];
	}
	return NULL;
}

char *cmd_hang_who(const struct cmd_hang *h, unsigned rank, uint32_t thread)
{
	const char *name =
		h->live ? "0" : h->graph.source.thread(h->graph.source.context, rank, thread);

	if (strcmp(name, "0") == 0)
		return rp_format("rank %u", rank);
	return rp_format("rank %u, thread %s,", rank, name);
}

static char *peer_text(int32_t peer)
{
	return peer == TRACE_ANY ? rp_strdup("any rank") : rp_format("rank %" PRId32, peer);
}

static char *tag_text(int32_t tag)
{
	return tag == TRACE_ANY ? rp_strdup("any tag") : rp_format("tag %" PRId32, tag);
}

/* All are in as many operations, but not in the same ones. */
static char *differs_text(struct cmd_hang *h, unsigned rank, const struct graph_wish *w)
{
	const struct graph_entry *mine = &w->mine, *its = &w->its;
	char *place = rp_strdup(cmd_graph_place(&h->graph, w->other, its->thread, its->site));
	char *text;

	if (mine->nth == w->nth)
		text = rp_format("but rank %u has entered %s at %s in its place", w->other,
				 trace_call_name(its->call), place);
	else
		text = rp_format("but before, it entered %s at %s, and rank %u %s at %s",
				 trace_call_name(mine->call),
				 cmd_graph_place(&h->graph, rank, mine->thread, mine->site),
				 w->other, trace_call_name(its->call), place);
	free(place);
	return text;
}

char *cmd_hang_wish_text(struct cmd_hang *h, const struct graph_stuck_op *op,
			 const struct graph_wish *w)
{
	char *peer = peer_text(w->peer), *tag = tag_text(w->tag);
	char *whom = cmd_show_ranks(w->whom, w->whoms);
	char *comm = w->comm ? rp_format(", communicator %" PRIu32, w->comm) : rp_strdup("");
	char *differs =
		w->differs ? differs_text(h, op->rank, w) : rp_strdup("all have entered it");
	char *begun = rp_strdup(""), *text;

	if (w->number != op->number) {
		free(begun);
		begun = rp_format(" (%s at %s)", trace_call_name(w->call),
				  cmd_graph_place(&h->graph, op->rank, op->thread, w->site));
	}
	if (w->need == GRAPH_NEED_MESSAGE)
		text = rp_format("a message from %s, %s%s%s", peer, tag, comm, begun);
	else if (w->need == GRAPH_NEED_TAKER)
		text = rp_format("%s to receive its message, %s%s%s", peer, tag, comm, begun);
	else if (w->whoms)
		text = rp_format("rank%s %s to enter it%s%s", w->whoms > 1 ? "s" : "", whom, comm,
				 begun);
	else
		text = rp_format("its end%s%s; %s", comm, begun, differs);
	free(differs);
	free(peer);
	free(tag);
	free(whom);
	free(comm);
	free(begun);
	return text;
}

static char *append(char *text, const char *between, char *more)
{
	char *both = rp_format("%s%s%s", text, *text ? between : "", more);

	free(text);
	free(more);
	return both;
}

/* "MPI_Recv at file.c:12 (function)" */
static char *call_text(struct cmd_hang *h, const struct graph_stuck_op *op)
{
	const struct replay_seen *seen = h->live ? cmd_hang_main(h, op->rank) : NULL;

	if (seen)
		return rp_format("%s%s", seen->call, seen->place);
	return rp_format("%s at %s", trace_call_name(op->call),
			 cmd_graph_place(&h->graph, op->rank, op->thread, op->site));
}

/* A send beside something else that is missing may well have gone. */
static bool says_something(const struct graph_stuck_op *op, const struct graph_wish *w)
{
	for (size_t i = 0; i < op->wishes && w->need == GRAPH_NEED_TAKER; i++) {
		if (op->wish[i].stuck && op->wish[i].need != GRAPH_NEED_TAKER)
			return false;
	}
	return true;
}

char *cmd_hang_op_text(struct cmd_hang *h, const struct graph_stuck_op *op)
{
	char *who = cmd_hang_who(h, op->rank, op->thread), *call = call_text(h, op);
	char *needs = rp_strdup(""), *text;
	const char *between = op->one_of ? ", or for " : ", and for ";

	for (size_t i = 0; i < op->wishes; i++) {
		if ((op->wish[i].stuck || !op->stuck) && says_something(op, &op->wish[i]))
			needs = append(needs, between, cmd_hang_wish_text(h, op, &op->wish[i]));
	}
	text = rp_format("%s waits in %s%s%s", who, call, *needs ? " for " : "", needs);
	free(who);
	free(call);
	free(needs);
	return text;
}

char *cmd_hang_stray_text(struct cmd_hang *h, const struct graph_stray *stray)
{
	char *at = cmd_graph_position(&h->graph, stray->sender, stray->thread, stray->number);
	char *comm = stray->comm ? rp_format(", communicator %" PRIu32, stray->comm) : NULL;
	char *text;

	if (stray->count == 1)
		text = rp_format(
			"rank %u sent it a message with tag %" PRId32
			"%s at %s (%s), and nobody received that",
			stray->sender, stray->tag, comm ? comm : "",
			cmd_graph_place(&h->graph, stray->sender, stray->thread, stray->site), at);
	else
		text = rp_format(
			"rank %u sent it %" PRIu64 " messages with tag %" PRId32
			"%s, the last at %s (%s), and nobody received those",
			stray->sender, stray->count, stray->tag, comm ? comm : "",
			cmd_graph_place(&h->graph, stray->sender, stray->thread, stray->site), at);
	free(at);
	free(comm);
	return text;
}
