/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between an operation and its record. A stream is made when the thread begins, so that no
 * operation has to look whether there is one.
 */
#include "hook/thread/sync/streams.h"

#include <errno.h>
#include <string.h>

#include "hook/common/done.h"
#include "hook/kit/text.h"
#include "hook/session/halt.h"
#include "hook/thread/atomic/atom.h"
#include "hook/thread/call/real.h"
#include "hook/thread/evaluate/account.h"
#include "hook/thread/race/race.h"
#include "hook/thread/serial/baton.h"
#include "hook/thread/sync/quick.h"
#include "hook/thread/sync/replay.h"
#include "trace/shelf.h"

static void record_open(struct hook_thread *t)
{
	char name[TRACE_NAME_BYTES + 16];
	int rc;

	hook_stream_name(t, "sync", name, sizeof(name));
	rc = trace_shelf_create(&t->record.sync.stream, hook_process.rank_fd, name,
				TRACE_STREAM_SYNC, hook_process.rank, hook_process.process,
				t->name);
	trace_sync_writer_init(&t->record.sync);
	hook_sync_wrote(t, rc);
}

/* A thread that was killed before its first operation may have no stream. */
static void replay_open(struct hook_thread *t)
{
	char name[TRACE_NAME_BYTES + 16];
	const char *why = "makes no sense";
	int rc;

	hook_stream_name(t, "sync", name, sizeof(name));
	rc = trace_view_open(&t->replay.sync_view, hook_process.rank_fd, name, &why);
	if (rc == -ENOENT)
		memset(&t->replay.sync_view, 0, sizeof(t->replay.sync_view));
	if (!rc || rc == -ENOENT)
		rc = trace_sync_reader_init(&t->replay.sync_reader, &t->replay.sync_view);
	if (!rc) {
		hook_done_expect(t);
		return;
	}
	hook_failed_by(t, name, " ", why);
}

void hook_sync_open(struct hook_thread *t)
{
	for (const char *p = t->name; *p && hook_process.noise; p++)
		t->noise = (t->noise ^ (uint8_t)*p) * 0x100000001b3ull;
	if (t->passive)
		return;
	if (hook_process.mode == HOOK_RECORD)
		record_open(t);
	else
		replay_open(t);
}

bool hook_sync_ends_alike(struct hook_thread *t)
{
	struct trace_sync_rec rec;

	while (trace_sync_next(&t->replay.sync_reader, TRACE_SYNC_PLAIN, &rec) == 2) {
		if (rec.kind != TRACE_SYNC_STOP && !trace_sync_is_digest(&rec, t->sync.digest))
			return false;
	}
	return true;
}

static void __attribute__((noreturn))
diverged(struct hook_thread *t, const char *call, const char *expected, const char *found)
{
	char text[320];
	struct hook_text out = hook_text_in(text, sizeof(text));

	hook_text_add(&out, found);
	hook_text_add(&out, " as operation ");
	hook_text_number(&out, (int64_t)t->replay.sync_reader.ops);
	hook_text_add(&out, " of the thread");
	hook_text_add(&out, hook_sync_hint());
	hook_diverged(t, call, expected, text);
}

void hook_sync_close(struct hook_thread *t)
{
	char text[96];
	struct hook_text out = hook_text_in(text, sizeof(text));

	hook_atoms_close(t);
	if (hook_process.mode == HOOK_RECORD) {
		trace_sync_close(&t->record.sync);
		return;
	}
	if (hook_race_obeys)
		hook_baton_leave(t);
	if (!t->passive && t->replay.sync_reader.ops < t->replay.sync_reader.total) {
		hook_text_number(&out, (int64_t)t->replay.sync_reader.total);
		hook_text_add(&out, " synchronisation operations");
		diverged(t, "end of the thread", text, "its end");
	}
	if (!t->passive && !hook_sync_ends_alike(t))
		diverged(t, "end of the thread", HOOK_SYNC_SAME, "others");
	hook_account_close(t);
	trace_view_close(&t->replay.sync_view);
}

void hook_sync_wrote(struct hook_thread *t, int rc)
{
	if (__builtin_expect(!rc, 1))
		return;
	hook_stop_growing(t, rc);
}

void hook_sync_halt(struct hook_thread *t, uint32_t reason, uint32_t detail)
{
	hook_sync_quick = HOOK_QUICK_NEVER;
	trace_sync_put_stop(&t->record.sync, reason, detail);
	trace_sync_close(&t->record.sync);
}

static void check(struct hook_thread *t, const struct hook_sync_call *c,
		  const struct trace_sync_rec *rec)
{
	if (!trace_sync_is_digest(rec, t->sync.digest))
		diverged(t, hook_sync_name(c->op), HOOK_SYNC_SAME, "others");
}

/* The record of this operation; true if it is a predicted one. */
static bool next(struct hook_thread *t, const struct hook_sync_call *c, struct trace_sync_rec *rec)
{
	for (;;) {
		int rc = trace_sync_next(&t->replay.sync_reader, hook_sync_class(c->op), rec);

		if (rc < 0)
			hook_failed(t, "the recorded synchronisation makes no sense");
		if (rc == 1)
			return true;
		if (rc == 2 && rec->kind < TRACE_SYNC_CHECK)
			return false;
		if (rc == 2 && rec->kind != TRACE_SYNC_STOP)
			check(t, c, rec);
		else
			hook_sync_at_end(t, c);
	}
}

void hook_sync_expect(struct hook_thread *t, const struct hook_sync_call *c, uint64_t id,
		      struct trace_sync_outcome *out)
{
	struct trace_sync_rec rec;
	bool predicted;

	if (__builtin_expect(t->replay.sync_reader.ops + 1 == t->replay.halt_op, 0))
		hook_halt(t, t->replay.halt_op);
	while (c->op != SYNC_BATON && hook_baton_on && hook_baton_parks_next(t)) {
		hook_baton_park(t);
		hook_baton_give(t);
	}
	t->wait.in = hook_sync_name(c->op);
	t->wait.at = c->site;
	predicted = next(t, c, &rec);
	t->evaluate.bytes = predicted ? -1 : (int)rec.bytes;
	if (!trace_sync_expect(&t->replay.sync_reader, hook_sync_class(c->op), id,
			       predicted ? NULL : &rec, out))
		diverged(t, hook_sync_name(c->op),
			 "another operation, or one on an object the thread has used before",
			 "this one");
}

static void account(struct hook_thread *t, const struct hook_sync_call *c, uint64_t id,
		    const struct trace_sync_outcome *out)
{
	int saved = errno;

	hook_account_note(t, c, id, out, t->evaluate.bytes);
	/* The recording goes no further: whoever kills us now does not ask. */
	if (t->replay.sync_reader.ops == t->replay.sync_reader.total)
		hook_account_write(t);
	errno = saved;
}

/*
 * Up to where nobody has to look at what was recorded, or wants to know how far the thread is. A
 * debugger that lets threads take turns sees each operation begin.
 */
static void foresee(struct hook_thread *t)
{
	uint64_t ops = t->replay.sync_reader.ops, calm = trace_sync_calm(&t->replay.sync_reader);
	uint64_t unit = REPLAY_SYNC_UNIT - 1 - ops % REPLAY_SYNC_UNIT;

	t->replay.quick_until = ops + (calm < unit ? calm : unit);
	if (t->replay.halt_op > ops && t->replay.halt_op <= t->replay.quick_until)
		t->replay.quick_until = t->replay.halt_op - 1;
	if (hook_halt_in_turns())
		t->replay.quick_until = ops;
}

void hook_sync_done(struct hook_thread *t, const struct hook_sync_call *c, uint64_t id,
		    const struct trace_sync_outcome *out)
{
	trace_sync_expected(&t->replay.sync_reader, hook_sync_class(c->op), id, out);
	t->sync.digest = trace_sync_digest(t->sync.digest, c->op, out->nameless ? 0 : id);
	if (t->replay.sync_reader.ops % REPLAY_SYNC_UNIT == 0)
		hook_slot->sync++;
	if (__builtin_expect(hook_process.replay.evaluate, 0))
		account(t, c, id, out);
	foresee(t);
	if (t->replay.sync_reader.ops < t->replay.sync_reader.total)
		return;
	hook_done_look(t);
	if (__atomic_load_n(&t->life.cancel_at_end, __ATOMIC_SEQ_CST))
		hook_sync_real.pthread_cancel(pthread_self());
}
