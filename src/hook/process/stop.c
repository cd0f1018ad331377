/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording ends: with the program, or before it because there is no room. Its streams are then
 * complete up to here, and the program runs on.
 */
#include "hook/process/ends.h"

#include <errno.h>
#include <string.h>

#include "hook/common/thread.h"
#include "hook/heap/heap.h"
#include "hook/input/file/infile.h"
#include "hook/thread/life/stuck.h"
#include "hook/thread/serial/baton.h"
#include "hook/thread/sync/streams.h"
#include "trace/shelf.h"

void hook_end_put_digest(struct hook_thread *t)
{
	if (t->record.order.events)
		trace_order_put_last(&t->record.order, TRACE_CHECK, (uint32_t)t->mpi.digest, 0);
}

void hook_end_finish_record(struct hook_thread *t, uint32_t how, uint64_t value)
{
	if (hook_is_stopped(t))
		return;
	if (!t->record.order.stream.header && !t->passive)
		hook_thread_open(t);
	if (!t->record.order.stream.header)
		return;
	hook_end_put_digest(t);
	trace_order_put_last(&t->record.order, TRACE_END, how, value);
	trace_stream_close(&t->record.order.stream);
	trace_stream_close(&t->record.input.stream);
	hook_sync_close(t);
	hook_heap_close();
	hook_infile_close();
	trace_shelf_end();
	hook_baton_leave(t);
	t->passive = 1;
	t->record.attention = t->record.quick = 0;
}

/* Its next event is looked at. */
static void pay_attention(struct hook_thread *t)
{
	__atomic_store_n(&t->record.attention, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&t->record.quick, 0, __ATOMIC_RELAXED);
}

void hook_stop_too(struct hook_thread *t)
{
	if (!t->passive)
		hook_stop_recording(t, hook_process.record.stopped, hook_process.record.stop_detail,
				    "");
}

void hook_stop_recording(struct hook_thread *t, uint32_t reason, uint64_t detail, const char *what)
{
	static bool said;
	char rank[16], event[24];
	struct hook_text text = hook_text_in(rank, sizeof(rank));
	struct hook_text number = hook_text_in(event, sizeof(event));

	trace_order_put_last(&t->record.order, TRACE_STOP, reason, detail);
	trace_stream_close(&t->record.order.stream);
	trace_stream_close(&t->record.input.stream);
	hook_sync_halt(t, reason, (uint32_t)detail);
	hook_process.record.stop_detail = detail;
	__atomic_store_n(&hook_process.record.stopped, reason, __ATOMIC_RELEASE);
	hook_sync_list_each(pay_attention);
	hook_heap_close();
	hook_baton_leave(t);
	t->passive = 1;
	t->record.attention = t->record.quick = 0;
	if (__atomic_exchange_n(&said, true, __ATOMIC_ACQ_REL))
		return;
	hook_text_number(&text, hook_process.rank);
	hook_text_number(&number, (int64_t)t->record.order.events);
	hook_say("rank ", rank, ": recording ends", t->record.order.events ? " at event " : "",
		 t->record.order.events ? event : "", ": ", what,
		 "; the program runs on, a replay will stop there", NULL);
}

void hook_table_is_full(struct hook_thread *t, const char *what)
{
	char text[128];
	struct hook_text out = hook_text_in(text, sizeof(text));

	hook_text_add(&out, "there is no memory for a table of ");
	hook_text_add(&out, what);
	if (hook_process.mode == HOOK_REPLAY)
		hook_failed(t, text);
	hook_stop_recording(t, TRACE_STOP_TABLE, 0, text);
}

const char *hook_no_room(int rc)
{
	if (rc == -ENOSPC || rc == -EDQUOT)
		return "the disk is full";
	return rc == -EFBIG ? "files may not become larger (ulimit -f)" : strerror(-rc);
}

void hook_stop_growing(struct hook_thread *t, int rc)
{
	hook_stop_recording(t, TRACE_STOP_NOSPACE, (uint64_t)-rc, hook_no_room(rc));
}
