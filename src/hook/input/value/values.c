/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs by mode. Recording fetches a value, appends it to the thread's input stream and hands it
 * on; replaying takes the next record instead and fetches only past the end of the records, where
 * a helper thread may run on (hook_end_past). The stream is made, or opened,
 * when the thread asks for its first input.
 * Invariant: a value reaches the program only after its record is in the stream.
 */
#include "hook/input/value/input.h"

#include <errno.h>
#include <string.h>

#include "hook/common/done.h"
#include "hook/common/end.h"
#include "hook/common/signal.h"
#include "hook/input/value/explore.h"
#include "hook/kit/text.h"
#include "hook/program/residue.h"
#include "hook/thread/serial/baton.h"
#include "trace/shelf.h"

struct mode {
	int (*number)(struct hook_thread *t, uint32_t kind, const char *call,
		      hook_input_number_fn *fetch, void *ctx, uint64_t *value);
	ssize_t (*bytes)(struct hook_thread *t, uint32_t kind, const char *call,
			 hook_input_bytes_fn *fetch, void *ctx, void *buffer, size_t size);
	uint32_t (*given)(struct hook_thread *t, uint32_t kind, const char *call, uint32_t value);
};

static const char *const kind_names[TRACE_IN_KINDS] = {
	[TRACE_IN_REALTIME] = "a reading of the real-time clock",
	[TRACE_IN_MONOTONIC] = "a reading of the monotonic clock",
	[TRACE_IN_CPUTIME] = "a reading of a CPU clock",
	[TRACE_IN_OTHERCLOCK] = "a reading of another clock",
	[TRACE_IN_WTIME] = "MPI_Wtime",
	[TRACE_IN_PID] = "getpid",
	[TRACE_IN_PPID] = "getppid",
	[TRACE_IN_TID] = "gettid",
	[TRACE_IN_CHILD] = "a new process",
	[TRACE_IN_GROUP] = "getpgid or getsid",
	[TRACE_IN_ERRNO] = "a call that fails",
	[TRACE_IN_RANDOM] = "random bytes",
	[TRACE_IN_STRUCT] = "what the system tells (getrusage, times, stat, uname)",
	[TRACE_IN_MODULE] = "nothing",
	[TRACE_IN_NOTE] = "nothing",
	[TRACE_IN_RESULT] = "a call on a descriptor",
	[TRACE_IN_DATA] = "bytes from a descriptor",
	[TRACE_IN_GAVE] = "bytes for a descriptor",
	[TRACE_IN_SENT] = "a signal to be sent",
	[TRACE_IN_SIGNAL] = "a signal",
};

static int record_open(struct hook_thread *t)
{
	char name[TRACE_NAME_BYTES + 16];

	if (t->record.input.stream.header)
		return 0;
	hook_stream_name(t, "input", name, sizeof(name));
	return trace_shelf_create(&t->record.input.stream, hook_process.rank_fd, name,
				  TRACE_STREAM_INPUT, hook_process.rank, hook_process.process,
				  t->name);
}

static void record_done(struct hook_thread *t, int rc)
{
	if (rc)
		hook_stop_growing(t, rc);
}

static int record_number(struct hook_thread *t, uint32_t kind, const char *call,
			 hook_input_number_fn *fetch, void *ctx, uint64_t *value)
{
	int rc = fetch(ctx, value);
	int put;

	(void)call;
	if (hook_is_stopped(t))
		return rc;
	put = record_open(t);
	if (!put)
		put = rc ? trace_input_put_number(&t->record.input, TRACE_IN_ERRNO, (uint64_t)-rc)
			 : trace_input_put_number(&t->record.input, kind, *value);
	record_done(t, put);
	return rc;
}

static ssize_t record_bytes(struct hook_thread *t, uint32_t kind, const char *call,
			    hook_input_bytes_fn *fetch, void *ctx, void *buffer, size_t size)
{
	ssize_t n = fetch(ctx, buffer, size);
	int put;

	(void)call;
	if (hook_is_stopped(t))
		return n;
	put = record_open(t);
	if (!put)
		put = n < 0 ? trace_input_put_number(&t->record.input, TRACE_IN_ERRNO, (uint64_t)-n)
			    : trace_input_put_bytes(&t->record.input, kind, buffer, (size_t)n);
	record_done(t, put);
	return n;
}

void hook_input_put_number(struct hook_thread *t, uint32_t kind, uint64_t value)
{
	int rc;

	if (t->passive || hook_is_stopped(t))
		return;
	rc = record_open(t);
	record_done(t, rc ? rc : trace_input_put_number(&t->record.input, kind, value));
}

void hook_input_put_bytes(struct hook_thread *t, uint32_t kind, const void *bytes, size_t n)
{
	int rc;

	if (t->passive || hook_is_stopped(t))
		return;
	rc = record_open(t);
	record_done(t, rc ? rc : trace_input_put_bytes(&t->record.input, kind, bytes, n));
}

static uint32_t record_given(struct hook_thread *t, uint32_t kind, const char *call, uint32_t value)
{
	(void)call;
	hook_input_put_bytes(t, kind, &value, sizeof(value));
	return value;
}

/* A thread that asked for no input has no stream: its view stays empty. */
void hook_input_open(struct hook_thread *t)
{
	char name[TRACE_NAME_BYTES + 16];
	const char *why;
	int rc;

	if (t->replay.input_reader.view)
		return;
	hook_stream_name(t, "input", name, sizeof(name));
	rc = trace_view_open(&t->replay.input_view, hook_process.rank_fd, name, &why);
	if (rc && rc != -ENOENT)
		hook_failed_by(t, name, " ", why);
	trace_input_reader_init(&t->replay.input_reader, &t->replay.input_view);
}

/* Behind the last input there may be notes and signals. */
static bool may_be_last(const struct hook_thread *t)
{
	const struct trace_view *view = &t->replay.input_view;
	uint64_t pos = t->replay.input_reader.pos;

	return pos >= view->length || view->bytes[pos] == TRACE_IN_MODULE ||
	       view->bytes[pos] == TRACE_IN_NOTE || view->bytes[pos] == TRACE_IN_SIGNAL;
}

bool hook_input_take(struct hook_thread *t, uint32_t kind, const char *call,
		     struct trace_input_rec *rec)
{
	int rc;

	hook_input_open(t);
	do
		rc = trace_input_next(&t->replay.input_reader, rec);
	while (rc == 1 && (rec->kind == TRACE_IN_MODULE || rec->kind == TRACE_IN_NOTE));
	if (rc < 0)
		hook_failed(t, "the recorded inputs make no sense");
	if (rc == 1 && rec->kind != kind && rec->kind != TRACE_IN_ERRNO)
		hook_diverged(t, call, kind_names[rec->kind], kind_names[kind]);
	if (rc == 1 && may_be_last(t))
		hook_done_look(t);
	return rc == 1;
}

/* false: there are no more, and the thread may go on with real values. */
static bool replay_next(struct hook_thread *t, uint32_t kind, const char *call,
			struct trace_input_rec *rec)
{
	if (hook_input_take(t, kind, call, rec))
		return true;
	hook_end_past(t, call);
	return false;
}

static int replay_error(const struct trace_input_rec *rec)
{
	return rec->value > 0 && rec->value < 4096 ? -(int)rec->value : -EINVAL;
}

static int replay_number(struct hook_thread *t, uint32_t kind, const char *call,
			 hook_input_number_fn *fetch, void *ctx, uint64_t *value)
{
	struct trace_input_rec rec;

	if (!replay_next(t, kind, call, &rec))
		return fetch(ctx, value);
	if (rec.kind == TRACE_IN_ERRNO)
		return replay_error(&rec);
	*value = rec.value;
	return 0;
}

void hook_input_diverged_by_size(struct hook_thread *t, const char *call, size_t recorded,
				 size_t asked)
{
	char expected[48], found[48];
	struct hook_text out = hook_text_in(expected, sizeof(expected));

	hook_text_number(&out, (int64_t)recorded);
	hook_text_add(&out, " bytes");
	out = hook_text_in(found, sizeof(found));
	hook_text_add(&out, "room for ");
	hook_text_number(&out, (int64_t)asked);
	hook_diverged(t, call, expected, found);
}

static ssize_t replay_bytes(struct hook_thread *t, uint32_t kind, const char *call,
			    hook_input_bytes_fn *fetch, void *ctx, void *buffer, size_t size)
{
	struct trace_input_rec rec;
	size_t n = 0;

	do {
		if (!replay_next(t, kind, call, &rec))
			return fetch(ctx, buffer, size);
		if (rec.kind == TRACE_IN_ERRNO)
			return replay_error(&rec);
		if (rec.length > size - n)
			hook_input_diverged_by_size(t, call, n + rec.length, size);
		if (rec.length)
			memcpy((char *)buffer + n, rec.bytes, rec.length);
		n += rec.length;
	} while (rec.length == TRACE_INPUT_CHUNK);
	return (ssize_t)n;
}

static uint32_t replay_given(struct hook_thread *t, uint32_t kind, const char *call, uint32_t value)
{
	struct trace_input_rec rec;

	if (!replay_next(t, kind, call, &rec))
		return value;
	if (rec.kind != kind || rec.length != sizeof(value))
		hook_diverged(t, call, "a call that fails", "one that does not");
	memcpy(&value, rec.bytes, sizeof(value));
	return value;
}

static uint32_t inert_given(struct hook_thread *t, uint32_t kind, const char *call, uint32_t value)
{
	(void)t;
	(void)kind;
	(void)call;
	return value;
}

static int inert_number(struct hook_thread *t, uint32_t kind, const char *call,
			hook_input_number_fn *fetch, void *ctx, uint64_t *value)
{
	(void)t;
	(void)kind;
	(void)call;
	return fetch(ctx, value);
}

static ssize_t inert_bytes(struct hook_thread *t, uint32_t kind, const char *call,
			   hook_input_bytes_fn *fetch, void *ctx, void *buffer, size_t size)
{
	(void)t;
	(void)kind;
	(void)call;
	return fetch(ctx, buffer, size);
}

static int explore_number(struct hook_thread *t, uint32_t kind, const char *call,
			  hook_input_number_fn *fetch, void *ctx, uint64_t *value)
{
	struct hook_explore_input s = {
		.thread = t, .kind = kind, .call = call, .number = fetch, .ctx = ctx};

	return record_number(t, kind, call, hook_explore_number, &s, value);
}

static ssize_t explore_bytes(struct hook_thread *t, uint32_t kind, const char *call,
			     hook_input_bytes_fn *fetch, void *ctx, void *buffer, size_t size)
{
	struct hook_explore_input s = {
		.thread = t, .kind = kind, .call = call, .bytes = fetch, .ctx = ctx};

	return record_bytes(t, kind, call, hook_explore_bytes, &s, buffer, size);
}

static const struct mode explore = {explore_number, explore_bytes, record_given};
static const struct mode modes[] = {
	[HOOK_INERT] = {inert_number, inert_bytes, inert_given},
	[HOOK_RECORD] = {record_number, record_bytes, record_given},
	[HOOK_REPLAY] = {replay_number, replay_bytes, replay_given},
};

static const struct mode *mode(void)
{
	return hook_process.explore.on ? &explore : &modes[hook_process.mode];
}

int hook_input_number(uint32_t kind, const char *call, hook_input_number_fn *fetch, void *ctx,
		      uint64_t *value)
{
	int depth = hook_depth, error = errno, rc;
	struct hook_thread *t;

	hook_depth = HOOK_CLOSED;
	t = hook_thread_self();
	hook_signal_point(t);
	rc = mode()->number(t, kind, call, fetch, ctx, value);
	if (!depth)
		hook_baton_point(t);
	hook_signal_point(t);
	hook_return_to(t, depth);
	hook_residue_end();
	errno = rc ? -rc : error;
	return rc ? -1 : 0;
}

ssize_t hook_input_bytes(uint32_t kind, const char *call, hook_input_bytes_fn *fetch, void *ctx,
			 void *buffer, size_t size)
{
	int depth = hook_depth, error = errno;
	struct hook_thread *t;
	ssize_t n;

	hook_depth = HOOK_CLOSED;
	t = hook_thread_self();
	hook_signal_point(t);
	if (!depth)
		hook_baton_lend(t);
	n = mode()->bytes(t, kind, call, fetch, ctx, buffer, size);
	if (!depth)
		hook_baton_enter(t);
	hook_signal_point(t);
	hook_return_to(t, depth);
	hook_residue_end();
	errno = n < 0 ? (int)-n : error;
	return n < 0 ? -1 : n;
}

uint32_t hook_input_given(struct hook_thread *t, uint32_t kind, const char *call, uint32_t value)
{
	return mode()->given(t, kind, call, value);
}

void hook_input_note(uint32_t kind, const char *text)
{
	struct hook_thread *t = hook_thread_self();
	int rc;

	if (t->passive || hook_is_stopped(t))
		return;
	rc = record_open(t);
	if (!rc)
		rc = trace_input_put_bytes(&t->record.input, kind, text, strlen(text));
	record_done(t, rc);
}

const struct trace_view *hook_input_view(void)
{
	struct hook_thread *t = hook_thread_self();

	hook_input_open(t);
	return &t->replay.input_view;
}
