/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay: has the program done all that was recorded, and does it end as it did? Of the main thread
 * all is compared; what a helper asked for beyond its calls may vary.
 */
#include "hook/process/ends.h"

#include "hook/common/thread.h"
#include "hook/input/value/input.h"
#include "hook/thread/life/stuck.h"
#include "hook/thread/sync/streams.h"

void hook_end_describe(struct hook_text *out, uint32_t how, int64_t value)
{
	static const char *const ends[] = {
		[TRACE_END_EXIT] = "the end of the program with status ",
		[TRACE_END_EARLY] = "the end of the program with status ",
		[TRACE_END_SIGNAL] = "the program to die of signal ",
		[TRACE_END_ABORT] = "MPI_Abort with code ",
	};

	if (how < TRACE_END_EXIT || how > TRACE_END_ABORT) {
		hook_text_add(out, "an end of the program of unknown kind");
		return;
	}
	hook_text_add(out, ends[how]);
	hook_text_number(out, value);
}

static void skip_posts(struct hook_thread *t)
{
	while (t->replay.more && trace_kind_is_keyed(t->replay.next.kind))
		hook_thread_advance(t);
}

static bool has_other_digest(const struct hook_thread *t, struct hook_text *expected)
{
	if (!t->replay.more || t->replay.next.kind != TRACE_CHECK ||
	    t->replay.next_event != t->replay.events || t->replay.next.a == (uint32_t)t->mpi.digest)
		return false;
	hook_text_add(expected, "the recorded calls and arguments from event ");
	hook_text_number(expected, (int64_t)t->replay.checked + 1);
	hook_text_add(expected, " on");
	return true;
}

/* The main thread must have done all that was recorded; a helper's inputs and polls may vary. */
static bool has_calls_left(struct hook_thread *t, struct hook_text *expected)
{
	if (t->replay.events < t->replay.order_view.events) {
		hook_text_add(expected, "event ");
		hook_text_number(expected, (int64_t)t->replay.events + 1);
		hook_text_add(expected, " of ");
		hook_text_number(expected, (int64_t)t->replay.order_view.events);
		return true;
	}
	if (t->replay.more && t->replay.next.kind == TRACE_FAIL) {
		hook_text_number(expected, (int64_t)t->replay.next.a);
		hook_text_add(expected, " more polls that fail");
		return true;
	}
	return has_other_digest(t, expected);
}

void hook_end_of_thread(struct hook_thread *t)
{
	char expected[96];
	struct hook_text out = hook_text_in(expected, sizeof(expected));

	if (hook_process.mode == HOOK_RECORD) {
		hook_end_put_digest(t);
		return;
	}
	if (!t->opened || t->replay.final || t->passive)
		return;
	while (t->replay.more &&
	       (t->replay.next.kind == TRACE_FAIL || trace_kind_is_keyed(t->replay.next.kind)))
		hook_thread_advance(t);
	if (has_other_digest(t, &out))
		hook_diverged(t, "end of the thread", expected, "others");
}

static bool has_inputs_left(struct hook_thread *t, struct hook_text *expected)
{
	struct trace_input_rec rec;

	hook_input_view();
	while (trace_input_next(&t->replay.input_reader, &rec) == 1) {
		if (rec.kind == TRACE_IN_MODULE || rec.kind == TRACE_IN_NOTE ||
		    rec.kind == TRACE_IN_SIGNAL)
			continue;
		hook_text_add(expected, "more inputs (clocks, process ids, random bytes)");
		return true;
	}
	return false;
}

static bool is_recorded_end(const struct hook_thread *t, uint32_t how, int64_t value)
{
	uint32_t recorded = (uint32_t)t->replay.next.a;

	if (recorded == TRACE_END_EARLY)
		recorded = TRACE_END_EXIT;
	if (how == TRACE_END_EARLY)
		how = TRACE_END_EXIT;
	return recorded == how && (int64_t)t->replay.next.b == value;
}

static bool has_other_operations(struct hook_thread *t, struct hook_text *expected)
{
	if (t->replay.sync_reader.ops < t->replay.sync_reader.total) {
		hook_text_number(expected, (int64_t)t->replay.sync_reader.total);
		hook_text_add(expected, " synchronisation operations, not ");
		hook_text_number(expected, (int64_t)t->replay.sync_reader.ops);
		return true;
	}
	if (!hook_sync_ends_alike(t)) {
		hook_text_add(expected, HOOK_SYNC_SAME);
		return true;
	}
	return false;
}

bool hook_end_is_other(struct hook_thread *t, uint32_t how, int64_t value,
		       struct hook_text *expected)
{
	bool is_main = hook_thread_is_main(t);

	if (!t->opened || t->replay.final)
		return false;
	skip_posts(t);
	if (is_main && has_calls_left(t, expected))
		return true;
	while (t->replay.more && t->replay.next.kind != TRACE_END)
		hook_thread_advance(t);
	if (t->replay.more && !is_recorded_end(t, how, value)) {
		hook_end_describe(expected, (uint32_t)t->replay.next.a, (int64_t)t->replay.next.b);
		return true;
	}
	return is_main && how != TRACE_END_SIGNAL && has_inputs_left(t, expected);
}

void hook_end_check(struct hook_thread *t, const char *call, uint32_t how, int64_t value)
{
	char expected[96], found[192];
	struct hook_text e = hook_text_in(expected, sizeof(expected));
	struct hook_text f = hook_text_in(found, sizeof(found));
	bool threads = has_other_operations(t, &e);

	if (!threads && !hook_end_is_other(t, how, value, &e))
		return;
	hook_end_describe(&f, how, value);
	if (threads)
		hook_text_add(&f, hook_sync_hint());
	hook_diverged(t, call, expected, found);
}
