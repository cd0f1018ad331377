/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synchronisation records as bytes: plain ones, which a killed process leaves, and coded blocks of
 * them. What is learnt of the records of a thread goes on from block to block.
 */
#ifndef TRACE_SYNC_PACK_H
#define TRACE_SYNC_PACK_H

#include "trace/coder.h"
#include "trace/format.h"

/* `run` predicted operations that can take something, `skip` others, then this. */
struct trace_sync_rec {
	uint32_t kind; /* enum trace_sync_kind */
	uint32_t code;
	uint32_t step;
	uint32_t bytes; /* of the stream: what it took to read it */
	uint64_t run;
	uint64_t skip;
};

#define TRACE_SYNC_STEPS 9 /* contexts: the step before, and all above in one */
#define TRACE_SYNC_RUNS 4

struct trace_sync_model {
	struct trace_number step[TRACE_SYNC_STEPS], run[TRACE_SYNC_RUNS], skip, code;
	struct trace_bit other, kind[8];
	uint32_t last; /* step of the last record that had one */
};

#define TRACE_SYNC_PLAIN_MOST 41 /* bytes */

size_t trace_sync_plain_put(uint8_t *out, const struct trace_sync_rec *rec);
/* Bytes taken; 0 if they make no sense. */
size_t trace_sync_plain_get(const uint8_t *in, const uint8_t *end, struct trace_sync_rec *rec);

/* Codes or decodes *rec. False, when decoding, if there can be no such record. */
bool trace_sync_code(struct trace_coder *c, struct trace_sync_model *m, struct trace_sync_rec *rec);

#endif
