/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of a stream of kind TRACE_STREAM_HEAP, see trace/format.h. In replay the next record is
 * held ready. A record that does not fit means that the program does something else than recorded.
 * Then the heap goes on without records, and says that addresses may differ from there on.
 */
#include "hook/heap/note.h"

#include <errno.h>
#include <string.h>

#include "base/varint.h"
#include "hook/common/hook.h"
#include "hook/heap/heap.h"
#include "hook/session/unseen.h"
#include "hook/thread/life/stuck.h"
#include "hook/thread/sync/sync.h"
#include "trace/shelf.h"

#define NEVER UINT64_MAX
#define SHORT_WAITS 40
#define LONG_WAITS 40000 /* more than a minute */

static __thread struct {
	struct trace_stream out;
	struct trace_view in;
	uint64_t pos;
	bool opened;
	uint64_t last;     /* refill of the last record of a list */
	uint32_t kind;     /* of the record to come */
	uint64_t a, b;     /* its values */
	uint64_t due;      /* the child it belongs to */
	uint64_t children; /* since the last record of one */
	uint32_t slot;     /* of the last one */
	uint64_t refill;   /* where it is due; NEVER if it is no list */
} note;

static void record(uint32_t kind, uint64_t a, uint64_t b, uint64_t c)
{
	struct hook_thread *t = hook_thread_self();
	uint8_t bytes[1 + 3 * RP_VARINT_MAX];
	char name[TRACE_NAME_BYTES + 16];
	int error = errno, rc = 0;
	size_t n = 0;

	if (t->passive)
		return;
	if (!note.out.header) {
		hook_stream_name(t, "heap", name, sizeof(name));
		rc = trace_shelf_create(&note.out, hook_process.rank_fd, name, TRACE_STREAM_HEAP,
					hook_process.rank, hook_process.process, t->name);
	}
	if (!rc)
		rc = trace_stream_reserve(&note.out, sizeof(bytes));
	if (rc) {
		hook_stop_growing(t, rc);
		errno = error;
		return;
	}
	bytes[n++] = (uint8_t)kind;
	n += rp_varint_put(bytes + n, a);
	n += rp_varint_put(bytes + n, b);
	n += rp_varint_put(bytes + n, c);
	trace_stream_append(&note.out, bytes, n);
	errno = error;
}

static uint64_t number(void)
{
	uint64_t v = 0;
	size_t n = rp_varint_get(note.in.bytes + note.pos, note.in.bytes + note.in.length, &v);

	note.pos = n ? note.pos + n : note.in.length;
	return v;
}

static void advance(void)
{
	uint64_t since;

	note.kind = 0;
	note.refill = NEVER;
	if (note.pos >= note.in.length)
		return;
	note.kind = note.in.bytes[note.pos++];
	since = number();
	if (note.kind == TRACE_HEAP_LIST)
		note.refill = note.last + since;
	else
		note.due = since;
	note.a = number();
	note.b = number();
}

/* A thread that had nothing to record has no stream. */
static void replay_open(void)
{
	struct hook_thread *t = hook_thread_self();
	char name[TRACE_NAME_BYTES + 16];
	const char *why;
	int error = errno;

	if (note.opened)
		return;
	note.opened = true;
	hook_stream_name(t, "heap", name, sizeof(name));
	if (trace_view_open(&note.in, hook_process.rank_fd, name, &why) != 0)
		note.in = (struct trace_view){0}; /* damage was told before anything ran */
	errno = error;
	advance();
}

static void say_changed(void)
{
	static bool said;

	if (said)
		return;
	said = true;
	hook_say("thread ", hook_thread_self()->name,
		 " does not use memory as it did when it was "
		 "recorded: addresses may differ from here on",
		 NULL);
}

static bool record_due(struct heap *h)
{
	return h->arrived || atomic_load_explicit(&h->inbox, memory_order_relaxed);
}

static bool record_take(struct heap *h, uintptr_t *info)
{
	if (!h->arrived)
		return false;
	*info = h->arrived->key;
	hook_depth++;
	record(TRACE_HEAP_LIST, h->refills - note.last, heap_info_from(*info),
	       heap_info_number(*info));
	note.last = h->refills;
	hook_depth = hook_thread_self()->passive;
	return true;
}

static bool replay_due(struct heap *h)
{
	return h->refills == note.refill;
}

static bool replay_take(struct heap *h, uintptr_t *info)
{
	if (h->refills != note.refill)
		return false;
	note.last = note.refill;
	*info = (uintptr_t)note.a << 48 | (uint32_t)note.b;
	advance();
	return true;
}

/*
 * Seen by the other threads: if all wait, the end has come, and one of them says so. Where there is
 * none nothing can come.
 */
static bool replay_wait(uint32_t turn)
{
	struct hook_thread *t = hook_thread_self();

	if (!hook_sync_mode)
		return false;
	if (turn < SHORT_WAITS)
		return heap_pages_wait(turn);
	t->wait.in = "malloc";
	t->wait.state = HOOK_THREAD_WAITS;
	hook_sync_nap(t);
	t->wait.state = HOOK_THREAD_RUNS;
	return turn < LONG_WAITS;
}

static const struct heap_order recording = {record_due, record_take, NULL, NULL};
static const struct heap_order replaying = {replay_due, replay_take, say_changed, replay_wait};

void heap_note_start(void)
{
	heap_order = hook_process.mode == HOOK_RECORD ? &recording : &replaying;
}

void heap_note_open(const struct heap *h)
{
	bool ready = note.opened;

	note.last = h->refills;
	if (hook_process.mode != HOOK_REPLAY)
		return;
	hook_depth++;
	replay_open();
	if (ready && note.kind == TRACE_HEAP_LIST)
		note.refill += note.last;
	hook_depth--;
}

static bool prepare(uint32_t slot, const void *wish)
{
	return slot != HEAP_NO_SLOT && heap_slot_also && heap_slot_also->prepare(slot, wish);
}

static struct heap_use record_child(const void *wish, bool *has)
{
	static struct hook_unseen places = {
		.key = "places", .what = "addresses in threads beyond the first 8703 at one time"};
	struct heap_use use = heap_slot_take();

	if (use.slot == HEAP_NO_SLOT)
		hook_unseen(&places);
	*has = prepare(use.slot, wish);
	if (use.slot == note.slot + 1 && !use.turn && *has) {
		note.children++;
	} else {
		record(TRACE_HEAP_CHILD, note.children, use.slot, (uint64_t)use.turn << 1 | *has);
		note.children = 0;
	}
	note.slot = use.slot;
	return use;
}

/* Of a slot that has been taken: its last user was through with it, when it was recorded. */
static bool await_free(uint32_t slot)
{
	for (uint32_t turn = 0; !heap_slot_is_free(slot); turn++) {
		if (!heap_wait(turn))
			return false;
	}
	return true;
}

static struct heap_use replay_child(const void *wish, bool *has)
{
	struct heap_use use = {note.slot + 1, 0};

	*has = true;
	replay_open();
	if (note.kind == TRACE_HEAP_CHILD && note.due == note.children) {
		use = (struct heap_use){(uint32_t)note.a, (uint32_t)(note.b >> 1)};
		*has = note.b & 1;
		note.children = 0;
		advance();
	} else {
		note.children++;
	}
	note.slot = use.slot;
	if (use.slot != HEAP_NO_SLOT && !heap_slot_take_this(use)) {
		say_changed();
		*has = false;
		return heap_slot_take();
	}
	if (*has && !(await_free(use.slot) && prepare(use.slot, wish))) {
		say_changed();
		*has = false;
	}
	return use;
}

struct heap_use heap_note_child(const void *wish, bool *has)
{
	return hook_process.mode == HOOK_RECORD ? record_child(wish, has) : replay_child(wish, has);
}

void hook_heap_close(void)
{
	trace_stream_close(&note.out);
}

void hook_heap_forget(void)
{
	trace_stream_forget(&note.out);
}

void heap_note_close(void)
{
	hook_heap_close();
	if (note.in.header)
		trace_view_close(&note.in);
	memset(&note, 0, sizeof(note));
}
