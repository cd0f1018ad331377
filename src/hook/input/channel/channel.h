/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels: descriptors that the program made and whose data come from outside. In replay a channel
 * is a placeholder of the recorded number on which nothing ever happens; but a pipe or pair of
 * sockets is a real one, kept in step (as many bytes go through as were recorded), because a child
 * process that was started again may be at its other end.
 */
#ifndef HOOK_INPUT_CHANNEL_H
#define HOOK_INPUT_CHANNEL_H

#include <stdio.h>
#include <sys/uio.h>

#include "hook/input/channel/io.h"

enum hook_channel_kind {
	HOOK_CHANNEL_NONE,
	HOOK_CHANNEL_SOCKET,
	HOOK_CHANNEL_PIPE,    /* real in replay */
	HOOK_CHANNEL_PACKETS, /* the same, with bounds between messages */
	HOOK_CHANNEL_OTHER,   /* of events, timers, signals */
};

#define HOOK_CHANNEL_MOST 65536

/* How many channels there are: the only thing a read or write looks at in most programs. */
extern int hook_channels;
extern uint8_t hook_channel_kinds[HOOK_CHANNEL_MOST];

static inline enum hook_channel_kind hook_channel_kind(int fd)
{
	return (unsigned int)fd < HOOK_CHANNEL_MOST ? (enum hook_channel_kind)hook_channel_kinds[fd]
						    : HOOK_CHANNEL_NONE;
}

/* Is this a call of the program on a channel? */
static inline bool hook_channel_has(int fd, const void *site)
{
	return __builtin_expect(hook_channels != 0, 0) && hook_channel_kind(fd) &&
	       hook_io_is_programs(site);
}

/* The same for a call that makes one. */
bool hook_channel_may_make(const void *site);

/* Of a call on a socket that is no channel: the program was started with it. That is told. */
void hook_channel_is_foreign(int fd, const void *site);

/*
 * A call has made a channel: io->result, or the given one. In replay the channel is made here.
 * `flags` has O_CLOEXEC and O_NONBLOCK.
 */
void hook_channel_made(struct hook_io *io, int fd, enum hook_channel_kind kind, int flags);

/* Replay: `made` gets the number that was recorded, as soon as that is free. */
void hook_channel_move(struct hook_io *io, int made, int fd);

/* The same, now or not at all; and out of the way of the numbers that were recorded. */
bool hook_channel_renumber(int made, int fd);
int hook_channel_lift(int made);

void hook_channel_mark(int fd, enum hook_channel_kind kind);
void hook_channel_forget(int fd);

/* Replay: what a call on a pipe did is done to the real one. */
void hook_channel_step_in(const struct hook_io *io, int fd, int flags);
void hook_channel_step_out(const struct hook_io *io, int fd, const struct iovec *parts, size_t n);

/* The calls that have wrappers elsewhere. */
ssize_t hook_channel_read(int fd, const char *call, void *buffer, size_t n);
/* `flags` are those of preadv2 and pwritev2. */
ssize_t hook_channel_readv(int fd, const struct iovec *parts, int n, int flags);
ssize_t hook_channel_preadv(int fd, const struct iovec *parts, int n, off64_t at);
ssize_t hook_channel_write(int fd, const void *p, size_t n);
ssize_t hook_channel_writev(int fd, const struct iovec *parts, int n, int flags);
int hook_channel_close(int fd);
int hook_channel_dup(int fd, int lowest, int flags);
int hook_channel_dup_to(int fd, int to, int flags);

/*
 * Is it the path of a file that the kernel writes when it is read, or of the terminal, which may
 * be written, too? Opens it.
 */
bool hook_channel_is_told(const char *path, bool writes);
int hook_channel_open_told(const char *path, int flags);

/* The same for one that the program has opened by a path that is not from the root. */
void hook_channel_opened_from(int fd, const char *path, int flags);

/* A FILE on a channel that libc has made: one whose reads and writes are recorded. */
FILE *hook_channel_file(FILE *inner, const char *mode);

#endif
