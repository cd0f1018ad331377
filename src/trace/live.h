/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages that are not in the log of their receiver (TRACE_LOG_LIVE): they are sent again, by
 * ranks that are restarted together.
 *
 * TRACE/log/rank-NNNN/<thread>.live, packed as one zstd frame: a head, then an entry for each such
 * record of the thread's log, in its order. The hash is of what the message held when the log was
 * made: whatever else comes is noticed.
 *
 * S/live/SSSS-RRRR, of a session: what rank S sends to rank R from where it was restarted. At
 * TRACE_LIVE_FIRST records follow each other, a head and the bytes of the message, packed in the
 * order of its type. The first word of the file is how far they go, and a futex for who waits.
 */
#ifndef TRACE_LIVE_H
#define TRACE_LIVE_H

#include <stdint.h>

#define TRACE_LIVE_MAGIC "rp-live"
#define TRACE_LIVE_VERSION 1
#define TRACE_LIVE_FIRST 4096

struct trace_live_head {
	char magic[8];
	uint32_t version, pad;
	uint64_t entries;
	uint64_t check; /* XXH3 of the entries */
};

struct trace_live_entry {
	uint64_t at;    /* where its contents would be in the log, from the first record on */
	uint64_t event; /* of the sender, by which it was sent */
	uint64_t hash;  /* XXH3 of the contents */
	uint32_t sender;
	uint32_t pad;
};

struct trace_live_sent {
	uint64_t event;
	uint64_t bytes; /* that follow */
};

#endif
