/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `rank-NNNN/unseen`: what a rank's recording does not hold, and since when. The file is made when
 * there is something to say. Every process of the rank maps it, and it has its full length from the
 * start. A header page, then slots; a slot is taken by one compare-and-swap, filled, and published
 * by the check of its bytes; only its count changes afterwards. Two writers may take two slots for
 * one key: readers add them up.
 */
#ifndef TRACE_UNSEEN_H
#define TRACE_UNSEEN_H

#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

#define TRACE_UNSEEN_NAME "unseen"
#define TRACE_UNSEEN_SLOTS 64

/* The key of a program that a process became, and that could not be recorded. */
#define TRACE_UNSEEN_EXEC "exec"

struct trace_unseen {
	uint64_t state; /* 0: free; 1: taken, not filled; else a check of what is below `count` */
	uint64_t count;
	uint64_t event; /* of the thread, 0 before its first one */
	uint64_t ns;    /* since the process began */
	uint32_t process;
	uint32_t pad;
	char thread[TRACE_NAME_BYTES]; /* "" if that is not known */
	char key[32];                  /* "io-uring" */
	char what[176];                /* "io_uring: what comes through its rings" */
	char remedy[200];              /* a sentence part, or "" */
};

/* The mapped slots, or NULL if the file cannot be made. No malloc. */
struct trace_unseen *trace_unseen_map(int dirfd, const char *name);

/* The slot of `fill->key`, a new one with what is filled in if there is none; NULL if all are
 * taken. */
struct trace_unseen *trace_unseen_take(struct trace_unseen *slots, const struct trace_unseen *fill);

/*
 * Reads all slots that are in use into out[TRACE_UNSEEN_SLOTS], one per key. How many,
 * 0 if there is no such file, or -EBADMSG and *why, a sentence part.
 */
int trace_unseen_read(int rankfd, struct trace_unseen *out, const char **why)
	__attribute__((warn_unused_result));

#endif
