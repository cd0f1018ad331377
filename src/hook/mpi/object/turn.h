/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which the threads of a process post to MPI: one sequence of turns for the whole
 * process. A thread writes only how many turns others took since its last one, and only if any did.
 */
#ifndef HOOK_TURN_H
#define HOOK_TURN_H

#include "hook/common/hook.h"

/* Recording: keeps others from posting; the number of the turn that would be taken. */
uint64_t hook_turn_lock(void);
/* taken: the turn is used up. */
void hook_turn_unlock(bool taken);
/* t has jumped out of MPI: the turn that it may hold is over. */
void hook_turn_left(const struct hook_thread *t);

/* Replay: t waits for the turn; taken back by hook_turn_done. */
void hook_turn_wait(struct hook_thread *t, uint64_t turn);
void hook_turn_done(void);

#endif
