/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed logs (trace/log.h): how a stream becomes one, and how parts of it are unpacked. Nothing of
 * a block is given away unless all of that block is right.
 */
#ifndef REPLAY_PACKED_H
#define REPLAY_PACKED_H

#include <stddef.h>
#include <stdint.h>

#include "trace/log.h"

/* The stream `name` below `from`, into `result` below `to`, which is not there yet; 0 or -errno. */
int replay_packed_make(int from, const char *name, int to, const char *result)
	__attribute__((warn_unused_result));

struct replay_packed {
	int fd;
	struct trace_log_index_entry *block;
	size_t blocks;
	uint64_t raw; /* bytes of the stream */
};

/* 0 or -errno; -EBADMSG: it is damaged. */
int replay_packed_open(struct replay_packed *p, int dirfd, const char *name)
	__attribute__((warn_unused_result));
void replay_packed_close(struct replay_packed *p);

/*
 * The blocks that hold what a thread reads between two of its events: the first that is wanted, and
 * the one behind the last.
 */
size_t replay_packed_first(const struct replay_packed *p, uint64_t event);
size_t replay_packed_behind(const struct replay_packed *p, uint64_t event);

/* Blocks [first, behind) to their places in the file; 0 or -errno, -EBADMSG if one is damaged. */
int replay_packed_unpack(const struct replay_packed *p, size_t first, size_t behind, int out)
	__attribute__((warn_unused_result));

#endif
