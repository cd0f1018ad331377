/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files child processes of a rank, which are not recorded, may have written: the file
 * "theirs" of the rank, in a replay of the session. A bit stands for each, by a hash of the path
 * that the kernel knows; a file without its bit was not theirs. It is mapped by all of them.
 */
#ifndef TRACE_THEIRS_H
#define TRACE_THEIRS_H

#include <stdint.h>

#define TRACE_THEIRS "theirs"  /* its name in the directory of the rank */
#define TRACE_THEIRS_VERSION 1 /* raised if anything here gets another meaning */
#define TRACE_THEIRS_WORDS 31  /* of 64 bits */

struct trace_theirs {
	uint64_t version; /* 0: not begun */
	uint64_t word[TRACE_THEIRS_WORDS];
};

/* By the hash (XXH3, 64 bits) of the path without its zero byte. */
static inline uint64_t trace_theirs_bit(uint64_t hash, unsigned *word)
{
	*word = (unsigned)(hash % TRACE_THEIRS_WORDS);
	return 1ull << hash / TRACE_THEIRS_WORDS % 64;
}

#endif
