/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay: waiting for the turn on an object, and handing it over to the one thread whose turn it
 * is.
 */
#ifndef HOOK_SYNC_WAIT_H
#define HOOK_SYNC_WAIT_H

#include "hook/thread/sync/sync.h"

/* Returns when *version is `turn`. */
void hook_sync_await(struct hook_thread *t, uint32_t *version, uint32_t turn);

/* Sets *version and wakes who waits for it; the object may be gone as soon as it is set. */
void hook_sync_pass(uint32_t *version, uint32_t turn);

/* The second half of that. A locked instruction has come after *version was set. */
void hook_sync_wake(const uint32_t *version, uint32_t turn);

#endif
