/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What writer and reader of synchronisation records know alike. Invariant: both feed every outcome
 * to trace_sync_learn in the same order.
 */
#ifndef TRACE_SYNC_MODEL_H
#define TRACE_SYNC_MODEL_H

#include <string.h>

#include "trace/sync.h"

#define TRACE_SYNC_FIRST_CHECK 16
#define TRACE_SYNC_WAIT_STEP 2 /* while a thread waits another one mostly takes the mutex once */
#define TRACE_SYNC_PART_SLOTS (TRACE_SYNC_SLOTS / TRACE_SYNC_PARTS)

static inline bool trace_sync_counts(uint32_t kind)
{
	return kind < TRACE_SYNC_CHECK;
}

static inline bool trace_sync_waits(enum trace_sync_class how)
{
	return how == TRACE_SYNC_WAIT || how == TRACE_SYNC_TIMED;
}

/* Bits of a slot's code that operations of this class remember. */
static inline uint32_t trace_sync_code_bits(enum trace_sync_class how)
{
	switch (how) {
	case TRACE_SYNC_PLAIN:
	case TRACE_SYNC_WAIT:
		return 0;
	case TRACE_SYNC_LOOK:
		return TRACE_SYNC_LOOK_KNOWN;
	case TRACE_SYNC_SWAP:
		return TRACE_SYNC_SWAP_KNOWN;
	default:
		return UINT16_MAX;
	}
}

static inline bool trace_sync_may_take_nothing(enum trace_sync_class how)
{
	return how == TRACE_SYNC_TRY || how == TRACE_SYNC_LOOK || how == TRACE_SYNC_SWAP;
}

/*
 * The slot, made the object's own if it is not; a step of 0 is never predicted. `touched` has a bit
 * for each part of the table.
 */
static inline struct trace_sync_slot *trace_sync_slot_of(struct trace_sync_slot *slots,
							 uint16_t *touched, uint64_t id)
{
	struct trace_sync_slot *s = trace_sync_slot(slots, id);

	*touched |= (uint16_t)(1u << ((s - slots) / TRACE_SYNC_PART_SLOTS));
	if (s->tag != trace_sync_tag(id))
		*s = (struct trace_sync_slot){.tag = trace_sync_tag(id)};
	return s;
}

static inline void trace_sync_wipe_slots(struct trace_sync_slot *slots, uint16_t touched)
{
	for (unsigned int i = 0; i < TRACE_SYNC_PARTS; i++) {
		if (touched >> i & 1)
			memset(slots + i * TRACE_SYNC_PART_SLOTS, 0,
			       TRACE_SYNC_PART_SLOTS * sizeof(*slots));
	}
}

static inline void trace_sync_learn(struct trace_sync_slot *s, enum trace_sync_class how,
				    const struct trace_sync_outcome *out)
{
	uint32_t step = out->version - s->seen;
	uint32_t bits = trace_sync_code_bits(how), code = out->code;

	/* What a load or an exchange took with a code will not be so again. */
	if (bits != UINT16_MAX && out->takes)
		code = 0;
	s->code = (uint16_t)((s->code & ~bits) | (code & bits));
	if (!out->takes)
		return;
	s->step[trace_sync_waits(how)] = step <= UINT16_MAX ? (uint16_t)step : 0;
	s->seen = out->version;
	if (!s->step[1])
		s->step[1] = TRACE_SYNC_WAIT_STEP;
}

static inline uint64_t trace_sync_check_after(uint64_t ops)
{
	return ops < TRACE_SYNC_CHECKS ? ops * 2 : ops + TRACE_SYNC_CHECKS;
}

static inline uint8_t *trace_sync_pending_bytes(const struct trace_header *header)
{
	return (uint8_t *)header + TRACE_SYNC_PENDING_AT;
}

static inline uint16_t trace_sync_hash_pending(uint16_t hash, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = (uint16_t)((hash ^ bytes[i]) * 0x6255u + 0x3619u);
	return hash;
}

#endif
