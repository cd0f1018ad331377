/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same by RecPlay's way, as a reference: a thread's segment ends at every operation, with a
 * bitmap of what it read and one of what it wrote. As it ends it is compared with those that ended
 * before it and are not ordered with it; one that all living threads know of is dropped.
 */
#ifndef TEST_RACE_SEGMENTS_H
#define TEST_RACE_SEGMENTS_H

#include "race-program.h"

struct bits {
	uint64_t word[(MEMORY + 63) / 64];
};

struct segment {
	int thread;
	int clock[THREADS]; /* when it began */
	struct bits read, wrote;
};

struct segments {
	struct segment ended[MOST_EVENTS + THREADS];
	int count, most;
	struct segment open[THREADS];
	bool live[THREADS];
	int object[LOCKS + FLAGS + BARRIERS][THREADS];
	int meeting[MOST_EVENTS][THREADS];
	bool *raced;
};

static void know(int *clock, const int *other)
{
	for (int i = 0; i < THREADS; i++) {
		if (other[i] > clock[i])
			clock[i] = other[i];
	}
}

static void compare(struct segments *s, const struct segment *a, const struct segment *b)
{
	if (a->thread == b->thread || b->clock[a->thread] >= a->clock[a->thread])
		return;
	for (int i = 0; i < MEMORY; i++) {
		uint64_t bit = 1ull << i % 64;
		bool ar = a->read.word[i / 64] & bit, aw = a->wrote.word[i / 64] & bit;
		bool br = b->read.word[i / 64] & bit, bw = b->wrote.word[i / 64] & bit;

		if ((aw && (br || bw)) || (ar && bw))
			s->raced[i] = true;
	}
}

static void drop_known(struct segments *s)
{
	int kept = 0;

	for (int i = 0; i < s->count; i++) {
		const struct segment *x = &s->ended[i];
		bool known = true;

		for (int t = 0; t < THREADS; t++) {
			known &= !s->live[t] || t == x->thread ||
				 s->open[t].clock[x->thread] >= x->clock[x->thread];
		}
		if (!known)
			s->ended[kept++] = *x;
	}
	s->count = kept;
}

static void segment_ends(struct segments *s, int t)
{
	struct segment *x = &s->open[t];

	for (int i = 0; i < s->count; i++)
		compare(s, &s->ended[i], x);
	s->ended[s->count++] = *x;
	if (s->count > s->most)
		s->most = s->count;
	memset(&x->read, 0, sizeof(x->read));
	memset(&x->wrote, 0, sizeof(x->wrote));
}

static void segment_begins(struct segments *s, int t)
{
	s->open[t].clock[t]++;
	drop_known(s);
}

static void segments_step(struct segments *s, const struct event *e)
{
	struct segment *x = &s->open[e->thread];

	if (e->kind == ACCESS) {
		struct bits *bits = e->write ? &x->wrote : &x->read;

		for (int i = e->at; i < e->at + e->size; i++)
			bits->word[i / 64] |= 1ull << i % 64;
		return;
	}
	segment_ends(s, e->thread);
	switch (e->kind) {
	case RELEASE:
		know(s->object[e->object], x->clock);
		break;
	case ACQUIRE:
		know(x->clock, s->object[e->object]);
		break;
	case ARRIVE:
		know(s->meeting[e->meeting], x->clock);
		break;
	case LEAVE:
		know(x->clock, s->meeting[e->meeting]);
		break;
	case FORK:
		know(s->open[e->other].clock, x->clock);
		s->open[e->other].thread = e->other;
		s->open[e->other].clock[e->other]++;
		s->live[e->other] = true;
		break;
	case JOIN:
		know(x->clock, s->open[e->other].clock);
		break;
	case END:
		s->live[e->thread] = false;
		break;
	default:
		break;
	}
	segment_begins(s, e->thread);
}

/* Also how many segments were kept at most. */
static int race_segments(const struct run *run, bool raced[MEMORY])
{
	static struct segments s;

	memset(&s, 0, sizeof(s));
	memset(raced, 0, MEMORY * sizeof(*raced));
	s.raced = raced;
	s.live[0] = true;
	s.open[0].clock[0] = 1;
	for (int e = 0; e < run->events; e++)
		segments_step(&s, &run->event[e]);
	for (int t = 0; t < THREADS; t++)
		segment_ends(&s, t);
	return s.most;
}

#endif
