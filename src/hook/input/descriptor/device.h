/* SPDX-License-Identifier: Apache-2.0 */
/* Which descriptors of the program refer to /dev/random or /dev/urandom. */
#ifndef HOOK_INPUT_DEVICE_H
#define HOOK_INPUT_DEVICE_H

#include <stdbool.h>
#include <sys/types.h>

#include "hook/session/private.h"

/* How many descriptors are marked: the only thing a read looks at in most programs. */
extern int hook_input_devices;

/* Marks fd, just opened by this path, if it is such a device; true if so. */
bool hook_input_device_opened(int fd, const char *path);

/* True if fd is such a device and the calling code is the program's. */
bool hook_input_device_is(int fd);

void hook_input_device_forget(int fd);

/* read() from such a device: a recorded input. */
ssize_t hook_input_device_read(int fd, const char *call, void *buffer, size_t n);

/*
 * Where a file is that the program is about to open so, in a process that leaves alone what the run
 * has left (session/private.h).
 */
const char *hook_device_own(int dir, const char *path, int flags, const void *site,
			    char buffer[HOOK_MOVED_PATH]);

/* Opens a file of that name that must not be there (O_EXCL), as open() does for the program. */
int hook_device_make(const char *path, int flags, const void *site);

#endif
