/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts in messages have 32 bits; an outcome beyond that is covered by none. Invariant: `known`
 * of a rank never exceeds the outcomes that happened before, in the sense of Lamport, at that rank.
 *
 * A floor is raised only while every message up to the latest has come: messages with other tags
 * or communicators may overtake, and one that was overtaken knows less.
 */
#include "hook/causal/clock.h"

#include <stdbool.h>
#include <string.h>

#include "base/varint.h"

#define MOST (UINT32_MAX - 1)

/* Bytes for changes, which are varints: a rank, and how far its count is from the sender's own. */
#define INCREMENTAL_BYTES 96
#define FIXED_BYTES 120
#define LEAST_CHANGE 2
#define MOST_CHANGES (FIXED_BYTES / LEAST_CHANGE)

static size_t whole_bytes(uint32_t ranks)
{
	return sizeof(struct hook_clock_head) + (size_t)ranks * sizeof(uint32_t);
}

static size_t changes_bytes(uint32_t changes)
{
	return sizeof(struct hook_clock_head) + sizeof(struct hook_clock_changes) + changes;
}

/* How many bytes of changes a message carries; 0: a whole vector, because that is not longer. */
static uint32_t changes_of(enum hook_clock_kind kind, uint32_t ranks)
{
	uint32_t changes = kind == CLOCK_INCREMENTAL ? INCREMENTAL_BYTES : FIXED_BYTES;

	return kind == CLOCK_FULL || whole_bytes(ranks) <= changes_bytes(changes) ? 0 : changes;
}

void hook_clock_init(struct hook_clock *c, enum hook_clock_kind kind, uint32_t rank, uint32_t ranks,
		     struct hook_clock_peer peer[], void *image)
{
	memset(c, 0, sizeof(*c));
	c->rank = rank;
	c->ranks = ranks;
	c->changes = changes_of(kind, ranks);
	c->peer = peer;
	c->image = image;
	c->image->sender = rank;
	c->known = c->image->known;
}

size_t hook_clock_bytes(enum hook_clock_kind kind, uint32_t ranks)
{
	uint32_t changes = changes_of(kind, ranks);

	return ((changes ? changes_bytes(changes) : whole_bytes(ranks)) + 7) / 8 * 8;
}

static bool put_change(const struct hook_clock *c, struct hook_clock_changes *out, uint32_t rank)
{
	uint8_t bytes[2 * RP_VARINT_MAX];
	size_t n = rp_varint_put(bytes, rank);

	n += rp_varint_put(bytes + n, rp_zigzag((int64_t)c->known[rank] - out->own));
	if (out->bytes + n > c->changes)
		return false;
	memcpy(out->change + out->bytes, bytes, n);
	out->bytes += (uint32_t)n;
	return true;
}

/* From the newest change on, back to that tick; true if all fit. */
static bool put_newest(const struct hook_clock *c, uint32_t dest, uint64_t since,
		       struct hook_clock_changes *out)
{
	for (uint32_t i = c->newest; i && c->peer[i - 1].changed > since;
	     i = c->peer[i - 1].older) {
		if (i - 1 != dest && !put_change(c, out, i - 1))
			return false;
	}
	return true;
}

/* From the oldest change on; those that fit need not be told again. */
static bool put_oldest(struct hook_clock *c, uint32_t dest, struct hook_clock_changes *out)
{
	struct hook_clock_peer *to = &c->peer[dest];
	uint32_t oldest[MOST_CHANGES], seen = 0, n;

	for (uint32_t i = c->newest; i && c->peer[i - 1].changed > to->told;
	     i = c->peer[i - 1].older) {
		if (i - 1 != dest)
			oldest[seen++ % MOST_CHANGES] = i - 1;
	}
	n = seen < MOST_CHANGES ? seen : MOST_CHANGES;
	for (uint32_t i = 0; i < n; i++) {
		/* cppcheck-suppress uninitvar */
		uint32_t who = oldest[(seen - 1 - i) % MOST_CHANGES];

		if (!put_change(c, out, who))
			return false;
		to->told = c->peer[who].changed;
	}
	return seen == n;
}

/*
 * Changes that the receiver was not told. Where they are too many for one message, those that are
 * left come with the next ones: the oldest and the newest by turns, because what changes all the
 * time is never among the oldest.
 */
static void stamp_changes(struct hook_clock *c, uint32_t dest, struct hook_clock_changes *out)
{
	struct hook_clock_peer *to = &c->peer[dest];

	if (to->sent % 2 ? put_oldest(c, dest, out) : put_newest(c, dest, to->told, out))
		to->told = c->tick;
}

/* All but changes of other ranks; where to put these, or NULL: there are none to put. */
static struct hook_clock_changes *stamp(const struct hook_clock *c, uint32_t dest, uint32_t number,
					struct hook_clock_head *out)
{
	struct hook_clock_changes *changes = (struct hook_clock_changes *)out->known;

	memcpy(out, c->image, c->changes ? sizeof(*out) : whole_bytes(c->ranks));
	out->sequence = number;
	if (!c->changes)
		return NULL;
	*changes = (struct hook_clock_changes){.own = c->known[c->rank], .yours = c->known[dest]};
	return changes;
}

void hook_clock_stamp(struct hook_clock *c, uint32_t dest, void *out)
{
	struct hook_clock_changes *changes = stamp(c, dest, c->peer[dest].sent + 1, out);

	if (changes)
		stamp_changes(c, dest, changes);
}

void hook_clock_tell(struct hook_clock *c, uint32_t dest, void *out)
{
	struct hook_clock_changes *changes = stamp(c, dest, c->peer[dest].sent, out);

	if (changes)
		(void)put_newest(c, dest, 0, changes);
}

void hook_clock_sent(struct hook_clock *c, uint32_t dest)
{
	c->peer[dest].sent++;
}

static void unlink_change(struct hook_clock *c, uint32_t rank)
{
	struct hook_clock_peer *p = &c->peer[rank];

	if (p->newer)
		c->peer[p->newer - 1].older = p->older;
	else
		c->newest = p->older;
	if (p->older)
		c->peer[p->older - 1].newer = p->newer;
}

static void learn(struct hook_clock *c, uint32_t rank, uint32_t count)
{
	struct hook_clock_peer *p = &c->peer[rank];

	if (rank == c->rank || count <= c->known[rank])
		return;
	c->known[rank] = count;
	if (p->changed)
		unlink_change(c, rank);
	p->changed = ++c->tick;
	p->newer = 0;
	p->older = c->newest;
	if (c->newest)
		c->peer[c->newest - 1].newer = rank + 1;
	c->newest = rank + 1;
}

void hook_clock_learn_changes(struct hook_clock *c, uint32_t sender,
			      const struct hook_clock_changes *changes)
{
	uint32_t bytes = changes->bytes < c->changes ? changes->bytes : c->changes;
	const uint8_t *at = changes->change, *end = at + bytes;

	learn(c, sender, changes->own);
	while (at < end) {
		uint64_t rank, distance;
		size_t n = rp_varint_get(at, end, &rank), more;
		int64_t count;

		more = n ? rp_varint_get(at + n, end, &distance) : 0;
		if (!more || rank >= c->ranks)
			return;
		count = (int64_t)changes->own + rp_unzigzag(distance);
		if (count > 0 && count <= MOST)
			learn(c, (uint32_t)rank, (uint32_t)count);
		at += n + more;
	}
}

static void raise_floor(struct hook_clock_peer *p, uint64_t covers)
{
	if (covers > p->floor)
		p->floor = covers;
}

/* What is sent after the message of this number covers as much; all up to it must have come. */
void hook_clock_hear(struct hook_clock *c, const void *bytes)
{
	const struct hook_clock_head *head = bytes;
	struct hook_clock_peer *from;

	if (head->sender >= c->ranks)
		return;
	from = &c->peer[head->sender];
	if (from->received == (from->latest > head->sequence ? from->latest : head->sequence))
		raise_floor(from, hook_clock_covers(c, head));
	if (c->changes)
		hook_clock_learn_changes(c, head->sender, (const void *)head->known);
	else
		hook_clock_learn_all(c, head->known);
}

void hook_clock_missed(struct hook_clock *c, uint32_t sender)
{
	c->peer[sender].received++;
	/* Nobody knows which: that all up to the latest have come cannot be seen any more. */
	c->peer[sender].latest = UINT32_MAX;
}

uint64_t hook_clock_observe(struct hook_clock *c)
{
	c->own++;
	c->known[c->rank] = c->own < MOST ? (uint32_t)c->own : MOST;
	return c->own;
}

void hook_clock_sync(struct hook_clock *c)
{
	c->image->syncs = ++c->syncs;
	c->own_at[c->syncs % CLOCK_SYNCS] = c->own;
}

void hook_clock_told(struct hook_clock *c, uint32_t rank, uint32_t n)
{
	if (c->peer[rank].received == n)
		raise_floor(&c->peer[rank], hook_clock_own_at(c, c->syncs));
}

/* What we send to ourselves next will know everything. */
static uint64_t floor_of(const struct hook_clock *c, uint32_t rank)
{
	const struct hook_clock_peer *p = &c->peer[rank];

	return rank == c->rank && p->sent == p->received ? c->own : p->floor;
}

void hook_clock_floor(const struct hook_clock *c, uint64_t *lowest, uint32_t *who, uint64_t *second)
{
	*lowest = *second = UINT64_MAX;
	*who = 0;
	for (uint32_t i = 0; i < c->ranks; i++) {
		uint64_t f = floor_of(c, i);

		if (f < *lowest) {
			*second = *lowest;
			*lowest = f;
			*who = i;
		} else if (f < *second) {
			*second = f;
		}
	}
}
