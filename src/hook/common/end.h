/* SPDX-License-Identifier: Apache-2.0 */
/* Ends: of the process, of the recording, of a replay that cannot go on. */
#ifndef HOOK_END_H
#define HOOK_END_H

#include "hook/common/hook.h"
#include "hook/kit/text.h"

/* The program exits by itself; also called for _exit. Only the first call counts. */
void hook_end_by_exit(int status);

/* The program calls exit: in replay another thread of it may be the one that did. */
void hook_end_exits(int status);

/* A thread of the program ends: its last calls of MPI are noted, or compared. */
void hook_end_of_thread(struct hook_thread *t);

/* MPI_Abort is about to be called. */
void hook_end_by_abort(struct hook_thread *t, int code);

/*
 * Watches signals that kill. To be called when the MPI library has set its own handlers. A signal
 * for which the program has a handler is left alone: the program may recover.
 */
void hook_end_watch_signals(void);

struct sigaction;

/*
 * A handler is set for a signal that kills, by a runtime that reports the fault: ours stays, and
 * hands on to it. False: it is to be set.
 */
bool hook_end_keeps(int sig, const struct sigaction *new, struct sigaction *old);

/* The program does not see our handler for a signal that kills: it sees the one before. */
void hook_end_hide(int sig, struct sigaction *action);

/* While a replayed rank waits for the others, MPI must go on moving messages. */
extern void (*hook_end_progress)(void);
extern bool hook_end_multiple; /* any thread may call it, not only the main one */

/* Writes what a mode keeps in memory, before a last word: the front may kill us after it. */
extern void (*hook_end_flush)(void);

/* Sleeps for a moment, in which MPI moves messages. */
void hook_end_nap(const struct hook_thread *t);

/*
 * Replay: all threads have come to the end of their recordings, or wait for threads that have. t
 * speaks for all.
 */
void hook_end_speak(struct hook_thread *t, const char *call);

/* Threads beside t, all or those that have come to their end, for its last word: see
 * replay/session.h. */
void hook_sync_tell(const struct hook_thread *t, bool all, struct hook_text *out);

/* Replay, at the end of its operations: was it this thread that ended the process? */
bool hook_end_is_own(struct hook_thread *t);

/* How a process ends, in words: `how` is enum trace_end. */
void hook_end_describe(struct hook_text *out, uint32_t how, int64_t value);

/*
 * Replay: the thread is past its recorded inputs or failed polls. Returns only if it may go on
 * without them: a helper thread may while the main thread goes on, which alone knows when to stop
 * it.
 */
void hook_end_past(struct hook_thread *t, const char *call);

/* Replay: the thread sits in the last call of its recording; the front may know it. */
void hook_end_announce(struct hook_thread *t, const char *call);

/* Replay: before a call that never returned. The others come to their ends first. */
void hook_end_let_others(struct hook_thread *t);

#endif
