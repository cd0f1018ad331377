/* SPDX-License-Identifier: Apache-2.0 */
/* Serial mode on top of recording or replaying synchronisation. */
#ifndef HOOK_SYNC_SERIAL_H
#define HOOK_SYNC_SERIAL_H

#include "hook/thread/sync/sync.h"

/* The same mode, with the baton. */
const struct hook_sync_mode *hook_sync_serial(const struct hook_sync_mode *mode);

/*
 * The futex system call, by syscall(): it may make the thread wait, and its result is an outcome.
 * False if that is not recorded: neither is this serial mode, nor are atomic operations recorded.
 */
bool hook_serial_futex(const long arg[6], long *result);

#endif
