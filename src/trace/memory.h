/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which order threads of a process used memory, as far as it has to be kept: memory/order-NNNN-K
 * of a trace, of process K of a rank. A file is this head, its threads, and then their waits, those
 * of a thread in a row and in ascending order. Made of a replay one thread at a time, obeyed by one
 * in parallel (hook/race/obey.c). memory/evaluation says to which recording and which checked twin
 * it belongs.
 */
#ifndef TRACE_MEMORY_H
#define TRACE_MEMORY_H

#include <stdint.h>

#include "trace/format.h"

#define TRACE_MEMORY "memory"
#define TRACE_MEMORY_MAGIC 0x5250524d454d4f31ull
#define TRACE_MEMORY_VERSION 1 /* raised if anything here gets another meaning */

struct trace_memory {
	uint64_t magic;
	uint32_t version, threads;
	uint64_t waits;
	uint64_t check; /* XXH3 of all that follows */
};

/*
 * What a thread does has numbers from 1 on: each access that its code tells of, and each operation
 * of synchronisation. What lets others know of a thread (to release, to make a thread) takes one
 * number more, which nothing waits for.
 */
struct trace_memory_thread {
	char name[TRACE_NAME_BYTES];
	uint64_t first, waits;
	uint32_t last;  /* number of the last thing it did */
	uint32_t ended; /* 1: and then it ended; 0: the run did */
};

/*
 * Before a thread does this, another one must have done that. If it is the same thread, others ran
 * here: all that it did before is done.
 */
struct trace_memory_wait {
	uint32_t number;
	uint32_t thread, until; /* which of the threads of the file; number of the other's */
	uint32_t unused;
	uint64_t address; /* of the access, or of what it synchronises on */
};

/* How many bytes a file has. */
static inline uint64_t trace_memory_bytes(const struct trace_memory *m)
{
	return sizeof(*m) + m->threads * sizeof(struct trace_memory_thread) +
	       m->waits * sizeof(struct trace_memory_wait);
}

#endif
