/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of files among threads. Files are read and written in replay as ever, but which
 * number a descriptor gets depends on what other threads have open just then, and a server's
 * connections and files share one row of numbers. So, once there are threads, opening and closing
 * are steps of the order of io.h, and the number is the outcome.
 */
#ifndef HOOK_INPUT_FILE_H
#define HOOK_INPUT_FILE_H

#include "hook/input/channel/io.h"
#include "hook/thread/sync/sync.h"

static inline bool hook_file_has_number(const void *site)
{
	return __builtin_expect(hook_sync_mode != NULL, 0) && hook_io_is_programs(site);
}

/* The same, before a function of libc that opens one and allocates: hook_file_opened follows. */
static inline bool hook_file_opens(const void *site)
{
	return hook_file_has_number(site) && (hook_thread_self()->serial.whole = true);
}

/*
 * A call has opened a descriptor, or failed: -1 and errno. Returns the same; in replay what the
 * recorded call returned, with that number if it can be had.
 */
int hook_file_opened(const char *call, int fd);

/* Before and after a call that closes one. */
void hook_file_closes(void);
void hook_file_closed(void);

#endif
