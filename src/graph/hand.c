/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each thread of a process that has several is an entry. A thread knows entries of its own process
 * by itself. What is known of those of other processes belongs to the process. Invariant: neither
 * of the two has anything in the entries of the other.
 */
#include "graph/hand.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

#define MOST_ENTRIES 2048u /* each has as many numbers, and so has each message */

struct member {
	uint32_t threads; /* that communicate; numbers may be larger */
	uint32_t *entry;  /* by number: its entry, and 1; 0: it has none */
	uint32_t room;
	uint64_t **known; /* by number: what the thread knows */
	uint64_t *others; /* what the process does */
};

struct graph_hands {
	unsigned ranks;
	struct member *member;
	uint32_t entries;
	struct {
		uint32_t rank, thread;
	} * who;
};

static void meet(struct member *m, uint32_t thread)
{
	if (thread >= m->room) {
		m->entry = rp_realloc(m->entry, thread + 1, sizeof(*m->entry));
		memset(m->entry + m->room, 0, (thread + 1 - m->room) * sizeof(*m->entry));
		m->room = thread + 1;
	}
	m->threads += !m->entry[thread];
	m->entry[thread] = 1;
}

static int read_threads(struct graph_hands *h, const struct graph_source *source)
{
	int rc = 0;

	source->rewind(source->context);
	for (unsigned i = 0; i < source->ranks && rc >= 0; i++) {
		const struct trace_event *event;
		uint32_t thread;

		while ((rc = source->next(source->context, i, &event, &thread)) > 0)
			meet(&h->member[i], thread);
	}
	return rc;
}

static void number(struct graph_hands *h)
{
	for (unsigned i = 0; i < h->ranks; i++)
		h->entries += h->member[i].threads > 1 ? h->member[i].threads : 0;
	h->who = rp_alloc(h->entries + 1ul, sizeof(*h->who));
	h->entries = 0;
	for (unsigned i = 0; i < h->ranks; i++) {
		struct member *m = &h->member[i];

		for (uint32_t t = 0; t < m->room; t++) {
			if (!m->entry[t] || m->threads < 2) {
				m->entry[t] = 0;
				continue;
			}
			h->who[h->entries].rank = i;
			h->who[h->entries].thread = t;
			m->entry[t] = ++h->entries;
		}
	}
	for (unsigned i = 0; i < h->ranks; i++) {
		struct member *m = &h->member[i];

		m->others = rp_alloc(h->entries + 1ul, sizeof(*m->others));
		m->known = rp_alloc(m->room + 1ul, sizeof(*m->known));
		for (uint32_t t = 0; t < m->room && h->entries <= MOST_ENTRIES; t++)
			m->known[t] = m->entry[t] ? rp_alloc(h->entries, sizeof(**m->known)) : NULL;
	}
}

int graph_hands_open(const struct graph_source *source, struct graph_hands **hands)
{
	struct graph_hands *h = rp_alloc(1, sizeof(*h));
	int rc;

	*hands = NULL;
	h->ranks = source->ranks;
	h->member = rp_alloc(source->ranks + 1ul, sizeof(*h->member));
	rc = read_threads(h, source);
	if (rc >= 0)
		number(h);
	if (h->entries > MOST_ENTRIES)
		rp_say("%u threads communicate: what they hand each other by MPI is not looked at",
		       h->entries);
	if (rc >= 0 && h->entries && h->entries <= MOST_ENTRIES)
		*hands = h;
	else
		graph_hands_close(h);
	return rc < 0 ? rc : 0;
}

void graph_hands_close(struct graph_hands *h)
{
	for (unsigned i = 0; h && i < h->ranks; i++) {
		struct member *m = &h->member[i];

		for (uint32_t t = 0; m->known && t < m->room; t++)
			free(m->known[t]);
		free(m->known);
		free(m->others);
		free(m->entry);
	}
	if (!h)
		return;
	free(h->member);
	free(h->who);
	free(h);
}

struct graph_hand *graph_hand_give(const struct graph_hands *h, unsigned rank, uint32_t thread,
				   uint64_t at)
{
	const struct member *m;
	struct graph_hand *hand;

	if (!h)
		return NULL;
	m = &h->member[rank];
	hand = rp_realloc(NULL, 1, sizeof(*hand) + h->entries * sizeof(hand->entry[0]));
	hand->users = 1;
	for (uint32_t i = 0; i < h->entries; i++)
		hand->entry[i] = h->who[i].rank == rank ? m->known[thread][i] : m->others[i];
	if (m->entry[thread])
		hand->entry[m->entry[thread] - 1] = at;
	return hand;
}

void graph_hand_take(struct graph_hands *h, unsigned rank, uint32_t thread,
		     const struct graph_hand *hand,
		     void (*learned)(void *context, uint32_t of, uint64_t number), void *context)
{
	struct member *m;

	if (!h || !hand)
		return;
	m = &h->member[rank];
	for (uint32_t i = 0; i < h->entries; i++) {
		bool own = h->who[i].rank == rank;
		uint64_t *known = own ? m->known[thread] : m->others;

		if (hand->entry[i] <= known[i] || (own && h->who[i].thread == thread))
			continue;
		known[i] = hand->entry[i];
		if (own)
			learned(context, h->who[i].thread, known[i]);
	}
}

struct graph_hand *graph_hand_share(struct graph_hand *hand)
{
	if (hand)
		hand->users++;
	return hand;
}

void graph_hand_drop(struct graph_hand *hand)
{
	if (hand && --hand->users == 0)
		free(hand);
}
