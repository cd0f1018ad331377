/* SPDX-License-Identifier: Apache-2.0 */
/* Replay of synchronisation: see replay.c. */
#ifndef HOOK_SYNC_REPLAY_H
#define HOOK_SYNC_REPLAY_H

#include "hook/session/session.h"
#include "hook/thread/sync/sync.h"

/* The thread's recording ends before this operation; does not return. */
void hook_sync_at_end(struct hook_thread *t, const struct hook_sync_call *c)
	__attribute__((noreturn));

/*
 * The recorded run ended while this thread was still in pthread_barrier_wait. Others that met it
 * there may have gone on.
 */
void hook_barrier_at_end(const struct hook_sync_call *c);

/*
 * The recorded run ended while this thread was still in pthread_create. A child that had begun by
 * then has its part in the replay.
 */
void hook_create_at_end(struct hook_thread *parent, const struct hook_sync_call *c);

#endif
