/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program gives to be written, in a few bits: they are taken before the call is made,
 * because whoever gets the bytes may give the memory another use at once. In replay others are told
 * of at the end: the program goes on, since nobody is there to read.
 */
#ifndef HOOK_INPUT_GIVEN_H
#define HOOK_INPUT_GIVEN_H

#include <sys/socket.h>
#include <sys/uio.h>

#include "hook/input/channel/io.h"

/*
 * Of all parts, also what the call will not take, and of the descriptor, whose number is the same
 * in replay. `flags` are those of send(). Where no more can be taken than there is room for, it is
 * the first 256 KiB. Memory that cannot be read counts as none.
 */
uint32_t hook_given(int fd, int flags, const struct iovec *parts, size_t n);

uint32_t hook_given_message(int fd, int flags, const struct msghdr *m);
uint32_t hook_given_messages(int fd, int flags, const struct mmsghdr *m, unsigned int n);

/* That was given to a call that has succeeded, and took so many bytes. */
void hook_io_gave(struct hook_io *io, uint32_t given, size_t taken);

#endif
