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

static inline bool trace_sync_has_code(enum trace_sync_class how)
{
	return how != TRACE_SYNC_PLAIN && how != TRACE_SYNC_WAIT;
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

	if (trace_sync_has_code(how))
		s->code = (uint16_t)out->code;
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
