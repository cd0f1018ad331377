/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts in messages have 32 bits; an outcome beyond that is covered by none. Invariant: `known`
 * of a rank never exceeds the outcomes that happened before, in the sense of Lamport, at that rank.
 *
 * A floor is raised only while every message up to the latest has come: messages with other tags
 * or communicators may overtake, and one that was overtaken knows less.
 */
#include "hook/mpi/clock.h"

#include <string.h>

#define MOST (UINT32_MAX - 1)
#define MOST_CHANGES 15

static size_t whole_bytes(uint32_t ranks)
{
	return sizeof(struct hook_clock_head) + (size_t)ranks * sizeof(uint32_t);
}

static size_t changes_bytes(uint32_t changes)
{
	return sizeof(struct hook_clock_head) + sizeof(struct hook_clock_changes) +
	       changes * 2 * sizeof(uint32_t);
}

/* How many changes a message carries; 0: a whole vector, because that is not longer. */
static uint32_t changes_of(enum hook_clock_kind kind, uint32_t ranks)
{
	uint32_t changes = kind == CLOCK_INCREMENTAL ? 8 : MOST_CHANGES;

	return kind == CLOCK_FULL || whole_bytes(ranks) <= changes_bytes(changes) ? 0 : changes;
}

void hook_clock_init(struct hook_clock *c, enum hook_clock_kind kind, uint32_t rank, uint32_t ranks,
		     struct hook_clock_peer peer[], uint32_t known[])
{
	memset(c, 0, sizeof(*c));
	c->rank = rank;
	c->ranks = ranks;
	c->changes = changes_of(kind, ranks);
	c->peer = peer;
	c->known = known;
}

size_t hook_clock_bytes(enum hook_clock_kind kind, uint32_t ranks)
{
	uint32_t changes = changes_of(kind, ranks);

	return ((changes ? changes_bytes(changes) : whole_bytes(ranks)) + 7) / 8 * 8;
}

/* The oldest changes that the receiver was not told; newer ones that do not fit come next time. */
static void stamp_changes(struct hook_clock *c, uint32_t dest, struct hook_clock_changes *out)
{
	struct hook_clock_peer *to = &c->peer[dest];
	uint32_t last[MOST_CHANGES];
	uint32_t seen = 0, n;

	for (uint32_t i = c->newest; i && c->peer[i - 1].changed > to->told;
	     i = c->peer[i - 1].older) {
		if (i - 1 != dest)
			last[seen++ % c->changes] = i - 1;
	}
	n = seen < c->changes ? seen : c->changes;
	for (uint32_t i = 0; i < n; i++) {
		/* cppcheck-suppress uninitvar */
		uint32_t who = last[(seen - 1 - i) % c->changes];

		out->entry[i].rank = who;
		out->entry[i].count = c->known[who];
		to->told = c->peer[who].changed;
	}
	if (seen <= c->changes)
		to->told = c->tick;
	out->own = c->known[c->rank];
	out->yours = c->known[dest];
	out->entries = n;
}

void hook_clock_stamp(struct hook_clock *c, uint32_t dest, void *out)
{
	struct hook_clock_head *head = out;

	head->sender = c->rank;
	head->sequence = c->peer[dest].sent + 1;
	head->syncs = c->syncs;
	if (c->changes) {
		stamp_changes(c, dest, (struct hook_clock_changes *)head->known);
		return;
	}
	for (uint32_t i = 0; i < c->ranks; i++)
		head->known[i] = c->known[i];
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

/* Most messages tell nothing new: a branch is faster than a maximum. */
static void learn_whole(struct hook_clock *c, const uint32_t theirs[])
{
	uint32_t *known = c->known, ranks = c->ranks, rank = c->rank;

	for (uint32_t i = 0; i < ranks; i++) {
		if (__builtin_expect(theirs[i] > known[i], 0) && i != rank)
			known[i] = theirs[i];
	}
}

static void learn_changes(struct hook_clock *c, uint32_t sender,
			  const struct hook_clock_changes *changes)
{
	learn(c, sender, changes->own);
	for (uint32_t i = 0; i < changes->entries && i < c->changes; i++) {
		if (changes->entry[i].rank < c->ranks)
			learn(c, changes->entry[i].rank, changes->entry[i].count);
	}
}

/* Outcomes before our n-th synchronisation; of those long past none is remembered. */
static uint64_t own_at(const struct hook_clock *c, uint32_t n)
{
	if (n > c->syncs)
		n = c->syncs;
	return n == 0 || c->syncs - n >= CLOCK_SYNCS ? 0 : c->own_at[n % CLOCK_SYNCS];
}

uint64_t hook_clock_receive(struct hook_clock *c, const void *bytes)
{
	const struct hook_clock_head *head = bytes;
	struct hook_clock_peer *from;
	const struct hook_clock_changes *changes = (const void *)head->known;
	uint64_t covers, by_sync;

	if (head->sender >= c->ranks)
		return 0;
	from = &c->peer[head->sender];
	by_sync = own_at(c, head->syncs);
	covers = c->changes ? changes->yours : head->known[c->rank];
	if (covers < by_sync)
		covers = by_sync;
	from->received++;
	if (head->sequence > from->latest) {
		from->latest = head->sequence;
		from->covers = covers;
	}
	if (from->received == from->latest && from->covers > from->floor)
		from->floor = from->covers;
	if (c->changes)
		learn_changes(c, head->sender, changes);
	else
		learn_whole(c, head->known);
	return covers;
}

void hook_clock_missed(struct hook_clock *c, uint32_t sender)
{
	c->peer[sender].received++;
}

uint64_t hook_clock_observe(struct hook_clock *c)
{
	c->own++;
	c->known[c->rank] = c->own < MOST ? (uint32_t)c->own : MOST;
	return c->own;
}

void hook_clock_sync(struct hook_clock *c)
{
	c->syncs++;
	c->own_at[c->syncs % CLOCK_SYNCS] = c->own;
}

void hook_clock_told(struct hook_clock *c, uint32_t rank, uint32_t n)
{
	struct hook_clock_peer *p = &c->peer[rank];
	uint64_t covers = own_at(c, c->syncs);

	if (p->received >= n && covers > p->floor)
		p->floor = covers;
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
