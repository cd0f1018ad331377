/* SPDX-License-Identifier: Apache-2.0 */
/* pthread_once by mode: see once.c. */
#ifndef HOOK_SYNC_ONCE_H
#define HOOK_SYNC_ONCE_H

#include "hook/thread/sync/sync.h"

void hook_sync_record_once(struct hook_thread *t, const struct hook_sync_call *c);
void hook_sync_replay_once(struct hook_thread *t, const struct hook_sync_call *c);

#endif
