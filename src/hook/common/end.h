/* SPDX-License-Identifier: Apache-2.0 */
/* Ends: of the process, of the recording, of a replay that cannot go on. */
#ifndef HOOK_END_H
#define HOOK_END_H

#include "hook/common/hook.h"

/* The program exits by itself; also called for _exit. Only the first call counts. */
void hook_end_by_exit(int status);

/* MPI_Abort is about to be called. */
void hook_end_by_abort(struct hook_thread *t, int code);

/* Watches signals that kill; to be called when the MPI library has set its own handlers. */
void hook_end_watch_signals(void);

/* While a replayed rank waits for the others, MPI must go on moving messages. */
extern void (*hook_end_progress)(void);

/* Replay: the thread sits in the last call of its recording; the front may know it. */
void hook_end_announce(struct hook_thread *t, const char *call);

#endif
