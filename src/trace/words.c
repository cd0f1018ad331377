/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records in words. Values come from files and are printed whatever they are: none of them is used
 * as an index before it was checked.
 */
#include "trace/words.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/varint.h"
#include "trace/calls.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const kind_words[] = {
	[TRACE_SRC] = "source",    [TRACE_POST] = "post", [TRACE_INDEX] = "index",
	[TRACE_FAIL] = "fail",     [TRACE_HIT] = "hit",   [TRACE_SOME] = "some",
	[TRACE_FLAG] = "flag",     [TRACE_TURN] = "turn", [TRACE_CHECK] = "check",
	[TRACE_CANCEL] = "cancel", [TRACE_STOP] = "stop", [TRACE_END] = "end",
	[TRACE_WORLD] = "world",   [TRACE_LOOK] = "look", [TRACE_GOT] = "got",
};

static const char *const input_words[] = {
	[TRACE_IN_REALTIME] = "realtime", [TRACE_IN_MONOTONIC] = "monotonic",
	[TRACE_IN_CPUTIME] = "cputime",   [TRACE_IN_OTHERCLOCK] = "clock",
	[TRACE_IN_WTIME] = "wtime",       [TRACE_IN_PID] = "pid",
	[TRACE_IN_PPID] = "ppid",         [TRACE_IN_ERRNO] = "errno",
	[TRACE_IN_RANDOM] = "random",     [TRACE_IN_STRUCT] = "struct",
	[TRACE_IN_MODULE] = "module",     [TRACE_IN_NOTE] = "note",
	[TRACE_IN_RESULT] = "result",     [TRACE_IN_DATA] = "data",
	[TRACE_IN_SIGNAL] = "signal",     [TRACE_IN_TID] = "tid",
	[TRACE_IN_CHILD] = "child",       [TRACE_IN_GROUP] = "group",
	[TRACE_IN_GAVE] = "gave",         [TRACE_IN_SENT] = "sent",
};

static const char *word(const char *const *words, size_t n, uint32_t i)
{
	return i < n && words[i] ? words[i] : "unknown";
}

const char *trace_kind_word(uint32_t kind)
{
	return word(kind_words, COUNT(kind_words), kind);
}

const char *trace_input_word(uint32_t kind)
{
	return word(input_words, COUNT(input_words), kind);
}

const char *trace_stream_word(uint32_t kind)
{
	static const char *const words[] = {
		[TRACE_STREAM_ORDER] = "order",     [TRACE_STREAM_INPUT] = "input",
		[TRACE_STREAM_STDIN] = "stdin",     [TRACE_STREAM_EVENTS] = "events",
		[TRACE_STREAM_SITES] = "sites",     [TRACE_STREAM_GUIDE] = "guide",
		[TRACE_STREAM_SYNC] = "sync",       [TRACE_STREAM_HEAP] = "heap",
		[TRACE_STREAM_OBJECTS] = "objects", [TRACE_STREAM_THREADS] = "threads",
		[TRACE_STREAM_LIVE] = "live",       [TRACE_STREAM_FILES] = "files",
		[TRACE_STREAM_OUTPUT] = "output",   [TRACE_STREAM_WRITTEN] = "written"};

	return word(words, COUNT(words), kind);
}

const char *trace_sync_word(uint32_t kind)
{
	static const char *const words[TRACE_SYNC_KINDS] = {
		[TRACE_SYNC_TAKE] = "take",     [TRACE_SYNC_TAKE_CODE] = "take-code",
		[TRACE_SYNC_CODE] = "code",     [TRACE_SYNC_CODE_NEW] = "code-new",
		[TRACE_SYNC_RESULT] = "result", [TRACE_SYNC_CHECK] = "check",
		[TRACE_SYNC_STOP] = "stop",     [TRACE_SYNC_END] = "end"};

	return word(words, COUNT(words), kind);
}

char *trace_sync_words(const struct trace_sync_rec *rec)
{
	switch (rec->kind) {
	case TRACE_SYNC_TAKE:
		return rp_format("took the object at %" PRIu32 " after the version it saw last",
				 rec->step);
	case TRACE_SYNC_TAKE_CODE:
		return rp_format("took the object at %" PRIu32
				 " after the version it saw last, result %" PRIu32,
				 rec->step, rec->code);
	case TRACE_SYNC_CODE:
	case TRACE_SYNC_RESULT:
		return rp_format("result %" PRIu32, rec->code);
	case TRACE_SYNC_CODE_NEW:
		return rp_format("result %" PRIu32 " of an object nobody had taken", rec->code);
	case TRACE_SYNC_CHECK:
		return rp_format("check %03" PRIx32, rec->code);
	case TRACE_SYNC_END:
		return rp_format("end, check %08" PRIx32, rec->code);
	default:
		return trace_stop_words(rec->code, rec->step);
	}
}

static const char *const mode_words[TRACE_MODES] = {
	[TRACE_MODE_ORDER] = "order",
	[TRACE_MODE_ALL] = "all",
	[TRACE_MODE_RACING_FIXED] = "racing",
	[TRACE_MODE_RACING_INCREMENTAL] = "racing, incremental clocks",
	[TRACE_MODE_RACING_FULL] = "racing, full clocks",
	[TRACE_MODE_REDUCED] = "reduced",
	[TRACE_MODE_GUIDED] = "reduced, guided",
};

const char *trace_mode_words(uint32_t mode)
{
	return word(mode_words, COUNT(mode_words), mode);
}

static const char *const threads_names[TRACE_THREADS_KINDS] = {
	[TRACE_THREADS_PARALLEL] = "parallel",
	[TRACE_THREADS_SERIAL] = "serial",
	[TRACE_THREADS_AUTO] = "auto",
};

const char *trace_threads_name(uint32_t threads)
{
	return word(threads_names, COUNT(threads_names), threads);
}

bool trace_threads_parse(const char *name, uint32_t *threads)
{
	for (uint32_t i = 0; i < COUNT(threads_names); i++) {
		if (strcmp(name, threads_names[i]) == 0) {
			*threads = i;
			return true;
		}
	}
	return false;
}

static char *signal_words(uint64_t sig)
{
	const char *name = sig < 128 ? sigabbrev_np((int)sig) : NULL;

	return name ? rp_format("killed by SIG%s", name)
		    : rp_format("killed by signal %" PRIu64, sig);
}

char *trace_end_words(uint64_t end, uint64_t value)
{
	switch (end) {
	case TRACE_END_EXIT:
		return rp_format("exit %d", (int)value);
	case TRACE_END_EARLY:
		return rp_format("exit %d without MPI_Finalize", (int)value);
	case TRACE_END_SIGNAL:
		return signal_words(value);
	case TRACE_END_ABORT:
		return rp_format("MPI_Abort %d", (int)value);
	default:
		return rp_format("unknown end %" PRIu64, end);
	}
}

char *trace_stop_words(uint64_t stop, uint64_t value)
{
	switch (stop) {
	case TRACE_STOP_NOSPACE:
		return rp_format("the trace could not grow: %s", strerror((int)value));
	case TRACE_STOP_STDIN:
		return value ? rp_format("standard input is recorded only up to byte %" PRIu64,
					 value)
			     : rp_strdup("standard input is not recorded");
	case TRACE_STOP_CALL:
		return rp_format(
			"%s cannot be replayed",
			trace_call_name(value > UINT32_MAX ? UINT32_MAX : (uint32_t)value));
	case TRACE_STOP_TABLE:
		return rp_strdup("too many requests were open at once");
	case TRACE_STOP_CLONE:
		return rp_strdup("clone() began a thread that is not one of pthreads");
	case TRACE_STOP_FILTER:
		return rp_strdup("a filter of system calls (seccomp) forbade what recording needs");
	default:
		return rp_format("unknown reason %" PRIu64, stop);
	}
}

static char *post_words(const struct trace_rec *rec, uint64_t *post)
{
	*post += 1 + (uint64_t)rp_unzigzag(rec->b);
	switch (rec->a) {
	case TRACE_POST_UNKNOWN:
		return rp_format("posted receive %" PRIu64 " never got a message", *post);
	case TRACE_POST_CANCELLED:
		return rp_format("posted receive %" PRIu64 " was cancelled", *post);
	default:
		return rp_format("posted receive %" PRIu64 " got from %" PRIu64, *post,
				 rec->a - TRACE_POST_SOURCE);
	}
}

static char *counted_words(const struct trace_rec *rec)
{
	switch (rec->kind) {
	case TRACE_INDEX:
		return rec->a ? rp_format("index %" PRIu64 " completed", rec->a - 1)
			      : rp_strdup("index undefined");
	case TRACE_HIT:
		return rec->a ? rp_format("poll succeeded, from %" PRIu64, rec->a - 1)
			      : rp_strdup("poll succeeded");
	case TRACE_SOME:
		return rec->a ? rp_format("%" PRIu64 " completed", rec->a - 1)
			      : rp_strdup("outcount undefined");
	default:
		return rp_format("%" PRIu64 " polls failed", rec->a);
	}
}

static char *world_words(const struct trace_rec *rec)
{
	return rp_format("world of %" PRIu64 " ranks, thread level %" PRIu64 ", trace %s", rec->a,
			 rec->b & 255, trace_mode_words(trace_world_mode(rec->b)));
}

static char *rare_words(const struct trace_rec *rec)
{
	switch (rec->kind) {
	case TRACE_FLAG:
		return rp_strdup(rec->a ? "cancelled" : "not cancelled");
	case TRACE_TURN:
		return rp_format("after %" PRIu64 " turns of other threads", rec->a);
	case TRACE_CHECK:
		return rp_format("check: digest %" PRIx64, rec->a);
	case TRACE_CANCEL:
		return rp_format("receive %" PRIu64 " cancelled", rec->a);
	case TRACE_WORLD:
		return world_words(rec);
	case TRACE_GOT:
		return rp_format("got from %" PRIu64 ", tag %" PRIu64, rec->a, rec->b);
	default:
		return rp_format("unknown record %" PRIu32 ": %" PRIu64 ", %" PRIu64, rec->kind,
				 rec->a, rec->b);
	}
}

static char *prefixed(const char *prefix, char *words)
{
	char *both = rp_format("%s%s", prefix, words);

	free(words);
	return both;
}

char *trace_rec_words(const struct trace_rec *rec, uint64_t *post)
{
	switch (rec->kind) {
	case TRACE_SRC:
	case TRACE_LOOK:
		return rp_format("received from %" PRIu64, rec->a);
	case TRACE_POST:
		return post_words(rec, post);
	case TRACE_INDEX:
	case TRACE_FAIL:
	case TRACE_HIT:
	case TRACE_SOME:
		return counted_words(rec);
	case TRACE_STOP:
		return prefixed("recording stopped: ", trace_stop_words(rec->a, rec->b));
	case TRACE_END:
		return prefixed("ended: ", trace_end_words(rec->a, rec->b));
	default:
		return rare_words(rec);
	}
}
