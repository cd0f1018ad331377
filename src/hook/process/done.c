/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread has something to do while its order of events, its operations or its inputs have records
 * that it has not come to. Invariant: hook_slot->todo counts the threads with t->todo, except the
 * main thread, which has a word of its own.
 */
#include "hook/common/done.h"

#include "hook/common/thread.h"
#include "hook/input/value/input.h"
#include "hook/session/session.h"

/* A rank's process that became another one, or started it, counts no longer. */
static void count(const struct hook_thread *t, uint32_t by)
{
	uint32_t *word = hook_thread_is_main(t) ? &hook_slot->todo_main : &hook_slot->todo;

	if (hook_slot->pid == hook_process.pid)
		__atomic_add_fetch(word, by, __ATOMIC_RELEASE);
}

void hook_done_expect(struct hook_thread *t)
{
	hook_thread_open(t);
	hook_input_open(t);
	if (!t->replay.todo)
		count(t, 1);
	t->replay.todo = true;
	hook_done_look(t);
}

/* Polls that failed are told by their number; what else is behind the last event are posts. */
static bool has_events(struct hook_thread *t)
{
	while (t->replay.more && trace_kind_is_keyed(t->replay.next.kind))
		hook_thread_advance(t);
	return t->replay.events < t->replay.order_view.events ||
	       (t->replay.more && t->replay.next.kind == TRACE_FAIL);
}

/* Notes are no inputs, and a signal may have come where the thread did nothing any more. */
static bool has_inputs(const struct hook_thread *t)
{
	struct trace_input_reader rest = t->replay.input_reader;
	struct trace_input_rec rec;

	while (trace_input_next(&rest, &rec) == 1) {
		if (rec.kind != TRACE_IN_MODULE && rec.kind != TRACE_IN_NOTE &&
		    rec.kind != TRACE_IN_SIGNAL)
			return true;
	}
	return false;
}

void hook_done_look(struct hook_thread *t)
{
	if (!t->replay.todo || t->replay.sync_reader.ops < t->replay.sync_reader.total ||
	    has_events(t) || has_inputs(t))
		return;
	hook_done_forget(t);
}

void hook_done_forget(struct hook_thread *t)
{
	if (t->replay.todo)
		count(t, UINT32_MAX);
	t->replay.todo = false;
}
