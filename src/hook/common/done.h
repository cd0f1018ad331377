/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay: what the threads still have to do. A recording that was cut off ends where every thread
 * has done all that it did. The front knows of it by the slot, and ends the process no sooner.
 */
#ifndef HOOK_DONE_H
#define HOOK_DONE_H

#include "hook/common/hook.h"

/* Opens the recording of t. From now on t counts as a thread that has something to do. */
void hook_done_expect(struct hook_thread *t);

/* Has t done all that it did? Only for t itself, outside of events but the last one. */
void hook_done_look(struct hook_thread *t);

/* The thread has ended. */
void hook_done_forget(struct hook_thread *t);

#endif
