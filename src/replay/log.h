/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TRACE/log: what each rank received, as the front sees it (trace/log.h, hook/mpi/log/). The hooks
 * write streams as they are; the front packs them with zstd when the pass is over, and unpacks
 * those of the ranks that are to be served into a session.
 */
#ifndef REPLAY_LOG_H
#define REPLAY_LOG_H

#include "replay/front.h"
#include "trace/log.h"

/*
 * After the pass, in the session: streams are cut to what counts, and packed. A rank that does what
 * cannot be served to it alone is named, and has no log. 0, or -errno after saying why.
 */
int replay_log_finish(const struct replay_front *f) __attribute__((warn_unused_result));

/* Why the rank cannot be served from a log ("it uses …"); the caller frees. NULL: it can be. */
char *replay_log_refusal(const struct replay_front *f, size_t i);

/*
 * log-end.c: logs that end early. The positions of a rank up to which it can be served, "2@500" or
 * several, from a session or a trace; the caller frees. NULL: up to its end.
 */
#define REPLAY_LOG_ENDED "ended"
char *replay_log_end(int dirfd, unsigned rank);

/* Where the thread stops at last, by the places of a rank (halt.h); UINT64_MAX: it does not. */
uint64_t replay_log_stop(const char *places, const char *thread, size_t length);

/* Can the rank be served up to these places (NULL: to its end)? 0, or the exit code after saying
 * so. */
int replay_log_check_end(const struct replay_front *f, size_t i, const char *places)
	__attribute__((warn_unused_result));

/* The log of a thread, to be read. 0, or -errno: there is none, or it is damaged. */
int replay_log_open(const struct trace_run *run, unsigned rank, const char *thread,
		    struct trace_log_reader *reader) __attribute__((warn_unused_result));

/* What a message held: bytes, and numbers; the caller frees. */
char *replay_log_text(const struct trace_log_rec *rec);

/*
 * Into S/log, for the rank with that index: what it reads from its image on, and up to where it
 * stops if it does. 0, or the exit code after saying why not.
 */
int replay_log_serve(const struct replay_front *f, size_t i) __attribute__((warn_unused_result));

/* Before those that have stopped go on: the rest. The same; else nobody must go on. */
int replay_log_serve_rest(const struct replay_front *f) __attribute__((warn_unused_result));

#endif
