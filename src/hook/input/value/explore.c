/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which values of a thread come from the prelude is known by its events: inputs carry no event
 * numbers. A thread without events follows the prelude to the end of its inputs.
 * Invariant: `ahead` is what to add to a real clock of the kind so that it goes on from the last
 * value that the prelude gave.
 */
#include "hook/input/value/explore.h"

#include <errno.h>
#include <string.h>

static struct {
	uint64_t given, ahead;
	double ahead_s; /* of TRACE_IN_WTIME */
	bool known;
} last[TRACE_IN_NUMBERS];

static double seconds_of(uint64_t bits)
{
	double seconds;

	memcpy(&seconds, &bits, sizeof(seconds));
	return seconds;
}

static void open_prelude(struct hook_thread *t)
{
	char name[TRACE_NAME_BYTES + 16];
	const char *why;
	int rc;

	if (t->replay.input_reader.view)
		return;
	hook_stream_name(t, "input", name, sizeof(name));
	rc = trace_view_open(&t->replay.input_view, hook_process.explore.prelude_fd, name, &why);
	if (rc && rc != -ENOENT)
		hook_failed(t, why);
	trace_input_reader_init(&t->replay.input_reader, &t->replay.input_view);
}

/* Descriptors and signals are real ones here, all the way, and recorded anew. */
static bool is_left_out(uint32_t kind)
{
	return kind == TRACE_IN_MODULE || kind == TRACE_IN_NOTE || kind == TRACE_IN_RESULT ||
	       kind == TRACE_IN_DATA || kind == TRACE_IN_GAVE || kind == TRACE_IN_SENT ||
	       kind == TRACE_IN_SIGNAL || kind == TRACE_IN_CHILD;
}

/* false: past the cut, or there are no more. */
static bool take(const struct hook_explore_input *s, struct trace_input_rec *rec)
{
	struct hook_thread *t = s->thread;
	int rc;

	if (t->explore.past)
		return false;
	open_prelude(t);
	do
		rc = trace_input_next(&t->replay.input_reader, rec);
	while (rc == 1 && is_left_out(rec->kind));
	if (rc < 0)
		hook_failed(t, "the recorded inputs make no sense");
	if (rc == 1 && rec->kind != s->kind && rec->kind != TRACE_IN_ERRNO)
		hook_diverged(t, s->call, "another kind of input (clock, process id, random bytes)",
			      s->call);
	return rc == 1;
}

static int error_of(const struct trace_input_rec *rec)
{
	return rec->value > 0 && rec->value < 4096 ? -(int)rec->value : -EINVAL;
}

static void remember(const struct hook_explore_input *s, uint64_t given)
{
	uint64_t real;

	last[s->kind].given = given;
	last[s->kind].known = true;
	if (s->kind == TRACE_IN_PID || s->kind == TRACE_IN_PPID || s->kind == TRACE_IN_TID ||
	    s->number(s->ctx, &real))
		return;
	last[s->kind].ahead = given - real;
	last[s->kind].ahead_s = seconds_of(given) - seconds_of(real);
}

static uint64_t go_on(uint32_t kind, uint64_t real)
{
	double seconds;

	if (!last[kind].known)
		return real;
	if (kind == TRACE_IN_PID || kind == TRACE_IN_PPID)
		return last[kind].given;
	if (kind != TRACE_IN_WTIME)
		return real + last[kind].ahead;
	seconds = seconds_of(real) + last[kind].ahead_s;
	memcpy(&real, &seconds, sizeof(real));
	return real;
}

int hook_explore_number(void *ctx, uint64_t *value)
{
	const struct hook_explore_input *s = ctx;
	struct trace_input_rec rec;
	int rc;

	if (take(s, &rec)) {
		if (rec.kind == TRACE_IN_ERRNO)
			return error_of(&rec);
		remember(s, rec.value);
		*value = rec.value;
		return 0;
	}
	rc = s->number(s->ctx, value);
	if (!rc && s->kind != TRACE_IN_TID)
		*value = go_on(s->kind, *value);
	else if (!rc && s->thread->replay.tid_given)
		*value = (uint64_t)s->thread->replay.tid_given;
	return rc;
}

ssize_t hook_explore_bytes(void *ctx, void *buffer, size_t size)
{
	const struct hook_explore_input *s = ctx;
	struct trace_input_rec rec;
	size_t n = 0;

	do {
		if (!take(s, &rec))
			return n ? (ssize_t)n : s->bytes(s->ctx, buffer, size);
		if (rec.kind == TRACE_IN_ERRNO)
			return error_of(&rec);
		if (rec.length > size - n)
			hook_diverged(s->thread, s->call, "more bytes", "room for fewer");
		if (rec.length)
			memcpy((char *)buffer + n, rec.bytes, rec.length);
		n += rec.length;
	} while (rec.length == TRACE_INPUT_CHUNK);
	return (ssize_t)n;
}
