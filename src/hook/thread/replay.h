/* SPDX-License-Identifier: Apache-2.0 */
/* Replay of synchronisation: see replay.c. */
#ifndef HOOK_SYNC_REPLAY_H
#define HOOK_SYNC_REPLAY_H

#include "hook/common/session.h"
#include "hook/thread/sync.h"

/* The thread's recording ends before this operation; does not return. */
void hook_sync_at_end(struct hook_thread *t, const struct hook_sync_call *c)
	__attribute__((noreturn));

#endif
