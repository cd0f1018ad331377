/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation: which operations a thread did on which objects, and from where. See account.c. */
#ifndef HOOK_SYNC_ACCOUNT_H
#define HOOK_SYNC_ACCOUNT_H

#include "hook/thread/sync/sync.h"

/* It has been done; `bytes` of the trace were its record, -1 if it was predicted. */
void hook_account_note(struct hook_thread *t, const struct hook_sync_call *c, uint64_t id,
		       const struct trace_sync_outcome *out, int bytes);

/* Writes the account of a thread, if anything has come since it was last written. */
void hook_account_write(struct hook_thread *t);

/* The same for all threads; nobody may come back. */
void hook_account_write_all(void);

/* The thread ends. */
void hook_account_close(struct hook_thread *t);

/* The thread goes on in a process that was restored: it is not evaluated any more. */
void hook_account_forget(struct hook_thread *t);

#endif
