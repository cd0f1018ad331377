/* SPDX-License-Identifier: Apache-2.0 */
/* The same for scripts: one object. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cmd/hang.h"
#include "cmd/show.h"
#include "trace/calls.h"

static json_t *ranks_json(const unsigned *rank, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_integer(rank[i]));
	return list;
}

static json_t *text_json(char *text)
{
	json_t *value = text ? cmd_show_json(text) : json_null();

	free(text);
	return value;
}

static json_t *wish_json(struct cmd_hang *h, const struct graph_stuck_op *op,
			 const struct graph_wish *w)
{
	static const char *const needs[] = {
		[GRAPH_NEED_MESSAGE] = "message",
		[GRAPH_NEED_TAKER] = "receiver",
		[GRAPH_NEED_ALL] = "collective",
	};
	json_t *wish = json_pack("{s:s, s:b, s:b, s:I, s:o, s:o}", "need", needs[w->need], "stuck",
				 (int)w->stuck, "on_its_way", (int)w->on_its_way, "event",
				 (json_int_t)w->number, "of", ranks_json(w->whom, w->whoms), "text",
				 text_json(cmd_hang_wish_text(h, op, w)));

	if (w->need != GRAPH_NEED_ALL) {
		json_object_set_new(wish, "peer", json_integer(w->peer));
		json_object_set_new(wish, "tag", json_integer(w->tag));
	}
	return wish;
}

static json_t *needs_json(struct cmd_hang *h, const struct graph_stuck_op *op)
{
	json_t *needs = json_array();

	for (size_t i = 0; i < op->wishes; i++)
		json_array_append_new(needs, wish_json(h, op, &op->wish[i]));
	return needs;
}

/* Of a living rank; its threads are listed anyway. */
static json_t *live_op_json(struct cmd_hang *h, const struct graph_stuck_op *op)
{
	return json_pack("{s:I, s:b, s:o, s:o}", "rank", (json_int_t)op->rank, "stuck",
			 (int)op->stuck, "needs", needs_json(h, op), "text",
			 text_json(cmd_hang_op_text(h, op)));
}

static json_t *op_json(struct cmd_hang *h, const struct graph_stuck_op *op)
{
	char **frame;
	json_t *value;

	if (h->live)
		return live_op_json(h, op);
	frame = cmd_graph_stack(&h->graph, op->rank, op->thread, op->site);
	value = json_pack(
		"{s:I, s:s, s:I, s:s, s:b, s:b, s:o, s:o, s:o}", "rank", (json_int_t)op->rank,
		"thread", h->graph.source.thread(h->graph.source.context, op->rank, op->thread),
		"event", (json_int_t)op->number, "call", trace_call_name(op->call), "stuck",
		(int)op->stuck, "one_of", (int)op->one_of, "stack", cmd_show_json_list(frame),
		"needs", needs_json(h, op), "text", text_json(cmd_hang_op_text(h, op)));
	rp_strings_free(frame);
	return value;
}

static json_t *stray_json(const struct graph_stray *s)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "from", (json_int_t)s->sender, "to",
			 (json_int_t)s->receiver, "tag", (json_int_t)s->tag, "messages",
			 (json_int_t)s->count, "event", (json_int_t)s->number);
}

static json_t *thread_json(const struct replay_seen *s)
{
	return json_pack("{s:I, s:s, s:o, s:o, s:o, s:o, s:o}", "rank", (json_int_t)s->rank,
			 "thread", s->thread, "call",
			 s->call ? cmd_show_json(s->call) : json_null(), "place",
			 cmd_show_json(s->place), "waits_for", text_json(cmd_hang_object(s)),
			 "held_by", s->holder ? cmd_show_json(s->holder) : json_null(), "partner",
			 s->partner ? cmd_show_json(s->partner) : json_null());
}

static json_t *thread_cycles_json(const struct cmd_hang *h)
{
	json_t *all = json_array();

	for (size_t i = 0; i < h->ranks; i++) {
		size_t n;
		struct cmd_hang_thread *list = cmd_hang_threads(h, h->rank[i].rank, &n);
		json_t *texts = json_array();

		for (size_t k = 0; k < n; k++)
			json_array_append_new(texts, text_json(cmd_hang_thread_text(&list[k])));
		if (n)
			json_array_append_new(all, json_pack("{s:I, s:O}", "rank",
							     (json_int_t)h->rank[i].rank, "threads",
							     texts));
		json_decref(texts);
		free(list);
	}
	return all;
}

static json_t *standings_json(const struct cmd_hang *h)
{
	static const char *const words[] = {
		[GRAPH_RUNS] = "runs",
		[GRAPH_WAITS] = "waits",
		[GRAPH_STUCK] = "stuck",
		[GRAPH_ENDED] = "ended",
	};
	json_t *list = json_array();

	/* Of living ranks only those that are here are seen. */
	for (unsigned i = 0; i < h->stuck.ranks; i++)
		json_array_append_new(list, h->live && !cmd_hang_main(h, i)
						    ? json_null()
						    : json_string(words[h->stuck.standing[i]]));
	return list;
}

void cmd_hang_print_json(struct cmd_hang *h)
{
	json_t *cycles = json_array(), *ops = json_array(), *strays = json_array();
	json_t *threads = json_array();

	for (size_t i = 0; i < h->stuck.cycles; i++)
		json_array_append_new(cycles,
				      ranks_json(h->stuck.cycle[i].rank, h->stuck.cycle[i].ranks));
	for (size_t i = 0; i < h->stuck.ops; i++)
		json_array_append_new(ops, op_json(h, &h->stuck.op[i]));
	for (size_t i = 0; i < h->stuck.strays; i++)
		json_array_append_new(strays, stray_json(&h->stuck.stray[i]));
	for (size_t i = 0; i < h->look.n; i++)
		json_array_append_new(threads, thread_json(&h->look.seen[i]));
	cmd_show_json_line(json_pack("{s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "hangs",
				     (int)cmd_hang_is_one(h), "standing", standings_json(h),
				     "cycles", cycles, "waiting", ops, "unreceived", strays,
				     "threads", threads, "thread_waits", thread_cycles_json(h)),
			   JSON_INDENT(2));
}
