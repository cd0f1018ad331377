/* SPDX-License-Identifier: Apache-2.0 */
/* Locks on files: see lock.c. */
#ifndef HOOK_INPUT_LOCK_H
#define HOOK_INPUT_LOCK_H

#include <fcntl.h>

/* A call of flock, or of fcntl for a range of the file. */
struct hook_lock {
	int fd, how;
	struct flock *range;
};

int hook_lock_do(const struct hook_lock *l, const void *site);
int hook_lock_ask(int fd, int how, struct flock *range, const void *site);

#endif
