/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay: what the threads have yet to do. The end of a recording that was cut off is where every
 * thread has done all that it did, and the front, which knows of it by the slot, ends the process
 * no sooner.
 */
#ifndef HOOK_DONE_H
#define HOOK_DONE_H

#include "hook/common/hook.h"

/* Opens the recording of t, which counts from now on as one that has something to do. */
void hook_done_expect(struct hook_thread *t);

/* Has t done all that it did? Only for t itself, outside of events but the last one. */
void hook_done_look(struct hook_thread *t);

/* The thread has ended. */
void hook_done_forget(struct hook_thread *t);

/* Are there threads that have something to do? */
bool hook_done_is_all(void);

#endif
