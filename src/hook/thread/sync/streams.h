/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's stream of synchronisation records, written or read. */
#ifndef HOOK_SYNC_STREAMS_H
#define HOOK_SYNC_STREAMS_H

#include "hook/thread/sync/sync.h"

/* The thread begins, or begins to be one of several. */
void hook_sync_open(struct hook_thread *t);

/* The thread has run its last code; in replay it must have done all that was recorded. */
void hook_sync_close(struct hook_thread *t);

/* Replay, after the last recorded operation: were they all on the recorded objects? */
bool hook_sync_ends_alike(struct hook_thread *t);

/* Recording: `rc` of a record that was put. */
void hook_sync_wrote(struct hook_thread *t, int rc);

/* Recording stops in this thread, and the others are to notice at their next operation. */
void hook_sync_halt(struct hook_thread *t, uint32_t reason, uint32_t detail);

/* Replay: what the operation has to do. Does not return at the end of the recording. */
void hook_sync_expect(struct hook_thread *t, const struct hook_sync_call *c, uint64_t id,
		      struct trace_sync_outcome *out);

/* Replay: it has done so. */
void hook_sync_done(struct hook_thread *t, const struct hook_sync_call *c, uint64_t id,
		    const struct trace_sync_outcome *out);

/* What the end of a thread's recording tells. */
#define HOOK_SYNC_SAME "the recorded operations on the recorded objects"

#endif
