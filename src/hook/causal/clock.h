/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logical clocks that ride on messages. A rank counts the outcomes of wildcards that its program
 * has seen. A message says how many of the receiver's outcomes its sender can have known of: it
 * "covers" those, and raced with none of them. To know less than the truth is always safe: then
 * more outcomes count as races.
 *
 * A clock is a vector: what the sender knows of each rank. Where a whole vector takes more bytes
 * than the kind allows, those entries travel that have changed since the last message to the same
 * receiver, and those that do not fit come with the next ones. A change takes 3 bytes as long as
 * the ranks have seen about equally much:
 *
 *   incremental  120 bytes at most: whole vectors up to 27 ranks, or about 32 changes
 *   fixed        144 bytes at most: whole vectors up to 33 ranks, or about 40 changes
 *   full         whole vectors
 *
 * Nothing of MPI is in here. All memory is the caller's.
 */
#ifndef HOOK_CLOCK_H
#define HOOK_CLOCK_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum hook_clock_kind { CLOCK_FIXED, CLOCK_INCREMENTAL, CLOCK_FULL };

#define CLOCK_SYNCS 1024

/* What stands before the data of each message. */
struct hook_clock_head {
	uint32_t sender;   /* rank in MPI_COMM_WORLD */
	uint32_t sequence; /* n-th message from it to the receiver */
	uint32_t syncs;    /* global synchronisations that the sender has behind it */
	uint32_t known[];  /* a whole vector, or struct hook_clock_changes */
};

struct hook_clock_changes {
	uint32_t own;   /* outcomes that the sender has seen */
	uint32_t yours; /* outcomes of the receiver that the sender can know of */
	uint32_t bytes; /* of changes: a rank, and how far its count is from `own`, as varints */
	uint8_t change[];
};

/* Of another rank. */
struct hook_clock_peer {
	uint32_t sent;     /* messages to it */
	uint32_t received; /* messages from it */
	uint32_t latest;   /* highest sequence among them */
	uint64_t covers;   /* what that one covers */
	uint64_t floor;    /* what every message from it that is still to come covers */
	/* where changes travel: */
	uint64_t changed;      /* tick of the last change of what is known of it */
	uint64_t told;         /* changes up to this tick were sent to it */
	uint32_t newer, older; /* ranks in the order of their changes */
};

struct hook_clock {
	uint32_t rank, ranks;
	uint32_t changes; /* bytes of changes that a message carries; 0: a whole vector */
	bool deaf; /* messages come that the program does not see: nothing is learnt by them */
	uint64_t own;
	uint32_t syncs;
	uint64_t tick;
	uint32_t newest; /* rank + 1; 0 for none */
	uint64_t own_at[CLOCK_SYNCS];
	struct hook_clock_peer *peer;
	struct hook_clock_head *image; /* a whole vector as it travels, but for the sequence */
	uint32_t *known; /* in it: outcomes of each rank that we can know of; of ourselves: all */
};

/*
 * All zero: peer[] of `ranks` elements, and an image of CLOCK_IMAGE(ranks) bytes, which may be
 * copied in steps of 16.
 */
#define CLOCK_IMAGE(ranks)                                                                         \
	((sizeof(struct hook_clock_head) + (ranks) * sizeof(uint32_t) + 15) & ~15ul)

void hook_clock_init(struct hook_clock *c, enum hook_clock_kind kind, uint32_t rank, uint32_t ranks,
		     struct hook_clock_peer peer[], void *image);

/* Bytes before the data; the same for all messages of a run. */
size_t hook_clock_bytes(enum hook_clock_kind kind, uint32_t ranks);

/* Writes what the next message to `dest` carries; hook_clock_sent when it has gone out. */
void hook_clock_stamp(struct hook_clock *c, uint32_t dest, void *out);
void hook_clock_sent(struct hook_clock *c, uint32_t dest);

/* The same at once for a message that is as good as gone, where up to 8 bytes more may be written.
 */
static inline void hook_clock_send(struct hook_clock *c, uint32_t dest, void *out, size_t bytes)
{
	if (c->changes) {
		hook_clock_stamp(c, dest, out);
		hook_clock_sent(c, dest);
		return;
	}
	for (size_t i = 0; i < bytes; i += 16)
		memcpy((char *)out + i, (const char *)c->image + i, 16);
	((struct hook_clock_head *)out)->sequence = ++c->peer[dest].sent;
}

/* Outcomes before our n-th synchronisation. Those long past are not remembered. */
static inline uint64_t hook_clock_own_at(const struct hook_clock *c, uint32_t n)
{
	if (n > c->syncs)
		n = c->syncs;
	return n == 0 || c->syncs - n >= CLOCK_SYNCS ? 0 : c->own_at[n % CLOCK_SYNCS];
}

void hook_clock_learn_changes(struct hook_clock *c, uint32_t sender,
			      const struct hook_clock_changes *changes);

/* How many of our outcomes the sender knew of. */
static inline uint64_t hook_clock_covers(const struct hook_clock *c,
					 const struct hook_clock_head *head)
{
	const struct hook_clock_changes *changes = (const void *)head->known;
	uint64_t by_sync = hook_clock_own_at(c, head->syncs);
	uint64_t covers = c->changes ? changes->yours : head->known[c->rank];

	return covers < by_sync ? by_sync : covers;
}

/* Most messages tell nothing new: a branch is faster than a maximum. */
static inline void hook_clock_learn_all(struct hook_clock *c, const uint32_t *known)
{
	for (uint32_t i = 0; i < c->ranks; i++) {
		if (__builtin_expect(known[i] > c->known[i], 0) && i != c->rank)
			c->known[i] = known[i];
	}
}

/* A message came: how many of our outcomes it covers. 0 if the bytes make no sense. */
static inline uint64_t hook_clock_receive(struct hook_clock *c, const void *bytes)
{
	const struct hook_clock_head *head = bytes;
	struct hook_clock_peer *from;
	uint64_t covers;

	if (head->sender >= c->ranks)
		return 0;
	from = &c->peer[head->sender];
	covers = hook_clock_covers(c, head);
	from->received++;
	if (head->sequence > from->latest) {
		from->latest = head->sequence;
		from->covers = covers;
	}
	if (from->received == from->latest && from->covers > from->floor)
		from->floor = from->covers;
	if (__builtin_expect(c->deaf, 0))
		return covers;
	if (c->changes)
		hook_clock_learn_changes(c, head->sender, (const void *)head->known);
	else
		hook_clock_learn_all(c, head->known);
	return covers;
}

/*
 * What `dest` learns by a collective operation, not by a message. It is written before the
 * operation begins, and read when `dest` has got what this rank gave. Messages that are sent later
 * may come long before that, so they carry it as well.
 */
void hook_clock_tell(struct hook_clock *c, uint32_t dest, void *out);
void hook_clock_hear(struct hook_clock *c, const void *bytes);

/* A message of that rank came, but not what it carried: it covers nothing. */
void hook_clock_missed(struct hook_clock *c, uint32_t sender);

/* The program has seen an outcome: its number, from 1. */
uint64_t hook_clock_observe(struct hook_clock *c);

/* All ranks waited for all. */
void hook_clock_sync(struct hook_clock *c);

/* Rank `rank` had sent us n messages when it was at our last synchronisation. */
void hook_clock_told(struct hook_clock *c, uint32_t rank, uint32_t n);

/*
 * All messages still to come cover the outcomes up to *lowest. Outcomes that came from rank *who
 * are safe up to *second, because later messages from there do not race with them.
 */
void hook_clock_floor(const struct hook_clock *c, uint64_t *lowest, uint32_t *who,
		      uint64_t *second);

#endif
