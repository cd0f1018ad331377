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

void hook_clock_init(struct hook_clock *c, enum hook_clock_kind kind, uint32_t rank, uint32_t ranks,
		     struct hook_clock_peer peer[])
{
	memset(c, 0, sizeof(*c));
	c->kind = kind;
	c->rank = rank;
	c->ranks = ranks;
	c->peer = peer;
}

size_t hook_clock_bytes(enum hook_clock_kind kind, uint32_t ranks)
{
	size_t bytes = sizeof(struct hook_clock_head);

	if (kind == CLOCK_FULL)
		bytes += ((size_t)ranks + 1) / 2 * 2 * sizeof(uint32_t);
	else if (kind == CLOCK_INCREMENTAL)
		bytes += CLOCK_CHANGES * sizeof(struct hook_clock_entry);
	return bytes;
}

static uint32_t clip(uint64_t count)
{
	return count < MOST ? (uint32_t)count : MOST;
}

static void stamp_all(const struct hook_clock *c, uint32_t entry[])
{
	for (uint32_t i = 0; i < c->ranks; i++)
		entry[i] = c->peer[i].known;
	entry[c->rank] = clip(c->own);
}

/* The oldest changes that the receiver was not told; newer ones that do not fit come next time. */
static uint32_t stamp_changes(struct hook_clock *c, uint32_t dest, struct hook_clock_entry entry[])
{
	struct hook_clock_peer *to = &c->peer[dest];
	uint32_t last[CLOCK_CHANGES];
	uint32_t seen = 0, n;

	for (uint32_t i = c->newest; i && c->peer[i - 1].changed > to->told;
	     i = c->peer[i - 1].older) {
		if (i - 1 != dest)
			last[seen++ % CLOCK_CHANGES] = i - 1;
	}
	n = seen < CLOCK_CHANGES ? seen : CLOCK_CHANGES;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t who = last[(seen - 1 - i) % CLOCK_CHANGES];

		entry[i] = (struct hook_clock_entry){who, c->peer[who].known};
		to->told = c->peer[who].changed;
	}
	if (seen <= CLOCK_CHANGES)
		to->told = c->tick;
	return n;
}

void hook_clock_stamp(struct hook_clock *c, uint32_t dest, void *out)
{
	const struct hook_clock_peer *to = &c->peer[dest];
	struct hook_clock_head *head = out;

	head->sender = c->rank;
	head->sequence = to->sent + 1;
	head->own = clip(c->own);
	head->yours = dest == c->rank ? head->own : to->known;
	head->syncs = c->syncs;
	head->entries = 0;
	if (c->kind == CLOCK_FULL)
		stamp_all(c, (uint32_t *)(head + 1));
	else if (c->kind == CLOCK_INCREMENTAL)
		head->entries = stamp_changes(c, dest, (struct hook_clock_entry *)(head + 1));
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

	if (rank == c->rank || count <= p->known)
		return;
	p->known = count;
	if (c->kind != CLOCK_INCREMENTAL)
		return;
	if (p->changed)
		unlink_change(c, rank);
	p->changed = ++c->tick;
	p->newer = 0;
	p->older = c->newest;
	if (c->newest)
		c->peer[c->newest - 1].newer = rank + 1;
	c->newest = rank + 1;
}

static void learn_entries(struct hook_clock *c, const struct hook_clock_head *head)
{
	const struct hook_clock_entry *entry = (const void *)(head + 1);

	if (c->kind == CLOCK_FULL) {
		for (uint32_t i = 0; i < c->ranks; i++)
			learn(c, i, ((const uint32_t *)(head + 1))[i]);
	} else if (c->kind == CLOCK_INCREMENTAL) {
		for (uint32_t i = 0; i < head->entries && i < CLOCK_CHANGES; i++) {
			if (entry[i].rank < c->ranks)
				learn(c, entry[i].rank, entry[i].count);
		}
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
	uint64_t covers, by_sync;

	if (head->sender >= c->ranks)
		return 0;
	from = &c->peer[head->sender];
	by_sync = own_at(c, head->syncs);
	covers = head->yours > by_sync ? head->yours : by_sync;
	from->received++;
	if (head->sequence > from->latest) {
		from->latest = head->sequence;
		from->covers = covers;
	}
	if (from->received == from->latest && from->covers > from->floor)
		from->floor = from->covers;
	learn(c, head->sender, head->own);
	learn_entries(c, head);
	return covers;
}

uint64_t hook_clock_observe(struct hook_clock *c)
{
	return ++c->own;
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
