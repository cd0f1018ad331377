/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outcome of a call is a number (or an errno), then the bytes it put in the program's memory.
 * All such calls are ordered by one object, as if they took one lock, but nobody waits for it when
 * recording. A call in which the thread was cancelled has an errno of its own.
 */
#include "hook/input/channel/io.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "hook/common/end.h"
#include "hook/common/signal.h"
#include "hook/input/descriptor/file.h"
#include "hook/program/residue.h"
#include "hook/thread/serial/baton.h"
#include "hook/thread/sync/sync.h"

#define CANCELLED 4095

void hook_io_step(struct hook_thread *t)
{
	static char object;
	struct hook_sync_call c = {.op = SYNC_IO, .object = &object};

	if (hook_sync_mode && !t->passive)
		hook_sync_mode->step(t, &c);
}

static void load_result(struct hook_io *io)
{
	struct trace_input_rec rec;

	if (!hook_input_take(io->t, TRACE_IN_RESULT, io->call, &rec))
		hook_end_of_recording(io->t, io->call);
	if (rec.kind != TRACE_IN_RESULT)
		hook_diverged(io->t, io->call, "another input, which failed", "this call");
	io->result = (int64_t)rec.value;
	/* The caller has no `io` yet that would be left by unwinding. */
	if (io->result == -CANCELLED) {
		hook_io_leave(io);
		pthread_exit(PTHREAD_CANCELED);
	}
}

struct hook_io hook_io_begin(const char *call, enum hook_io_way way)
{
	struct hook_io io = {.call = call, .way = way, .error = errno};

	hook_depth = HOOK_CLOSED;
	io.t = hook_thread_self();
	io.live = hook_process.mode == HOOK_RECORD;
	hook_signal_point(io.t);
	hook_baton_lend(io.t);
	if (way == HOOK_IO_GIVES)
		hook_io_step(io.t);
	io.at_work = io.live;
	/* From here on, when recording, the handler of a signal runs when it comes. */
	if (io.live)
		hook_depth = 1;
	hook_signal_point_of_call(io.t);
	if (io.live)
		return io;
	if (way == HOOK_IO_GETS)
		hook_io_step(io.t);
	load_result(&io);
	return io;
}

static void put_result(struct hook_io *io)
{
	hook_depth = HOOK_CLOSED;
	if (io->way == HOOK_IO_GETS)
		hook_io_step(io->t);
	hook_input_put_number(io->t, TRACE_IN_RESULT, (uint64_t)io->result);
}

/* By cancellation, too, in the middle of the real call. */
void hook_io_leave(struct hook_io *io)
{
	if (io->at_work) {
		io->result = -CANCELLED;
		put_result(io);
	}
	hook_baton_enter(io->t);
	hook_signal_point(io->t);
	hook_depth = io->t->passive;
	hook_residue_end();
}

void hook_io_did(struct hook_io *io, int64_t result)
{
	io->result = result < 0 ? -errno : result;
	io->at_work = false;
	put_result(io);
}

int64_t hook_io_result(struct hook_io *io)
{
	errno = io->result < 0 ? (int)-io->result : io->error;
	return io->result < 0 ? -1 : io->result;
}

size_t hook_io_part(struct hook_io *io, void *p, size_t n, size_t room)
{
	struct trace_input_rec rec;
	size_t done = 0;

	if (io->live) {
		hook_input_put_bytes(io->t, TRACE_IN_DATA, p, n);
		return n;
	}
	do {
		if (!hook_input_take(io->t, TRACE_IN_DATA, io->call, &rec))
			hook_end_of_recording(io->t, io->call);
		if (rec.kind != TRACE_IN_DATA)
			hook_diverged(io->t, io->call, "a call that fails", "one that does not");
		if (rec.length > room - done)
			hook_input_diverged_by_size(io->t, io->call, done + rec.length, room);
		if (rec.length)
			memcpy((char *)p + done, rec.bytes, rec.length);
		done += rec.length;
	} while (rec.length == TRACE_INPUT_CHUNK);
	return done;
}

static ssize_t told_in_turn(const char *call, hook_input_bytes_fn *fetch, void *ctx, void *buffer,
			    size_t size)
{
	ssize_t n = 0;
	HOOK_IO(io, call, HOOK_IO_GETS);

	if (io.live) {
		n = fetch(ctx, buffer, size);
		errno = n < 0 ? (int)-n : io.error;
		hook_io_did(&io, n < 0 ? -1 : 0);
	}
	if (io.result < 0)
		return hook_io_result(&io);
	n = (ssize_t)hook_io_part(&io, buffer, (size_t)n, size);
	errno = io.error;
	return n;
}

ssize_t hook_io_told(const char *call, const void *site, hook_input_bytes_fn *fetch, void *ctx,
		     void *buffer, size_t size)
{
	return hook_file_has_number(site)
		       ? told_in_turn(call, fetch, ctx, buffer, size)
		       : hook_input_bytes(TRACE_IN_STRUCT, call, fetch, ctx, buffer, size);
}
