/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random runs of small programs: threads that begin, end and are joined, locks, flags, barriers,
 * and accesses of 1 to 16 bytes at any address. A run is a list of events in the order in which
 * they happened. race_oracle() says by the closure of "happened before" which bytes raced.
 */
#ifndef TEST_RACE_PROGRAM_H
#define TEST_RACE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define THREADS 10
#define LOCKS 3
#define FLAGS 3
#define BARRIERS 2
#define MEMORY 96
#define MOST_EVENTS 220

enum kind { ACCESS, ACQUIRE, RELEASE, ARRIVE, LEAVE, FORK, JOIN, END };

struct event {
	enum kind kind;
	int thread, other;
	int object;  /* locks, then flags, then barriers */
	int meeting; /* of a barrier: which one, in all */
	int count;   /* of a barrier; 0: not told */
	int at, size;
	bool write;
};

struct run {
	struct event event[MOST_EVENTS];
	int events, meetings;
	bool told; /* barriers tell how many meet; else nobody comes again before one has left */
};

struct random {
	uint64_t x;
};

static uint32_t draw(struct random *r, uint32_t n)
{
	r->x ^= r->x << 13;
	r->x ^= r->x >> 7;
	r->x ^= r->x << 17;
	return (uint32_t)((r->x >> 20) % n);
}

enum life { UNBORN, ALIVE, ENDED, JOINED };

/* A run in the making. */
struct making {
	struct run *run;
	struct random *r;
	enum life life[THREADS];
	int holder[LOCKS];                        /* thread + 1 */
	int meeting[BARRIERS], missing[BARRIERS]; /* the one that threads come to; how many lack */
	int size[BARRIERS];
	bool left[BARRIERS];          /* somebody has left the last one */
	int at[THREADS], in[THREADS]; /* barrier + 1 that it is in, and the meeting */
	bool open[MOST_EVENTS];       /* meetings that all have come to */
};

static struct event *put(struct making *m, enum kind kind, int thread)
{
	struct event *e = &m->run->event[m->run->events++];

	*e = (struct event){.kind = kind, .thread = thread};
	return e;
}

static void put_access(struct making *m, int t)
{
	struct event *e = put(m, ACCESS, t);

	e->size = 1 + (int)draw(m->r, draw(m->r, 2) ? 16 : 8);
	e->at = (int)draw(m->r, (uint32_t)(MEMORY - e->size));
	if (draw(m->r, 2)) {
		e->size = 1 << draw(m->r, 4);
		e->at &= ~(e->size - 1);
	}
	e->write = draw(m->r, 3) == 0;
}

static int count(const struct making *m, enum life life)
{
	int n = 0;

	for (int i = 0; i < THREADS; i++)
		n += m->life[i] == life;
	return n;
}

static void meet(struct making *m, int t)
{
	int b = (int)draw(m->r, BARRIERS);
	struct event *e;

	if (!m->missing[b]) {
		if (!m->run->told && m->size[b] && !m->left[b])
			return;
		/* As many as live may come; those that do not are missed for ever. */
		m->size[b] = 1 + (int)draw(m->r, (uint32_t)count(m, ALIVE));
		m->missing[b] = m->size[b];
		m->meeting[b] = m->run->meetings++;
		m->left[b] = false;
	}
	e = put(m, ARRIVE, t);
	e->object = LOCKS + FLAGS + b;
	e->meeting = m->meeting[b];
	e->count = m->run->told ? m->size[b] : 0;
	m->at[t] = b + 1;
	m->in[t] = m->meeting[b];
	m->open[m->meeting[b]] = --m->missing[b] == 0;
}

static void lock(struct making *m, int t)
{
	int l = (int)draw(m->r, LOCKS);

	if (!m->holder[l]) {
		m->holder[l] = t + 1;
		put(m, ACQUIRE, t)->object = l;
	} else if (m->holder[l] == t + 1) {
		put(m, RELEASE, t)->object = l;
		m->holder[l] = 0;
	}
}

static void fork_or_end(struct making *m, int t)
{
	int other = (int)draw(m->r, THREADS);
	bool holds = false;

	if (m->life[other] == UNBORN) {
		m->life[other] = ALIVE;
		put(m, FORK, t)->other = other;
	} else if (m->life[other] == ENDED) {
		m->life[other] = JOINED;
		put(m, JOIN, t)->other = other;
	} else if (t && draw(m->r, 2)) {
		for (int l = 0; l < LOCKS; l++)
			holds |= m->holder[l] == t + 1;
		if (holds)
			return;
		put(m, END, t);
		m->life[t] = ENDED;
	}
}

static void step(struct making *m, int t)
{
	struct event *e;
	uint32_t what = draw(m->r, 24);

	if (m->at[t]) {
		if (!m->open[m->in[t]])
			return;
		e = put(m, LEAVE, t);
		e->object = LOCKS + FLAGS + m->at[t] - 1;
		e->meeting = m->in[t];
		m->left[m->at[t] - 1] |= m->in[t] == m->meeting[m->at[t] - 1];
		m->at[t] = 0;
	} else if (what < 12) {
		put_access(m, t);
	} else if (what < 16) {
		lock(m, t);
	} else if (what < 18) {
		put(m, draw(m->r, 2) ? RELEASE : ACQUIRE, t)->object =
			LOCKS + (int)draw(m->r, FLAGS);
	} else if (what < 20) {
		meet(m, t);
	} else {
		fork_or_end(m, t);
	}
}

static void run_make(struct run *run, struct random *r)
{
	struct making m = {.run = run, .r = r, .life = {ALIVE}};
	int events = 20 + (int)draw(r, MOST_EVENTS - 20);

	run->events = 0;
	run->meetings = 0;
	run->told = draw(r, 2);
	for (int i = 0; i < 4 * MOST_EVENTS && run->events < events; i++) {
		int t = (int)draw(r, THREADS);

		if (m.life[t] == ALIVE)
			step(&m, t);
	}
}

typedef uint64_t before_set[(MOST_EVENTS + 63) / 64];

static void add(before_set *before, int e, int earlier)
{
	for (size_t i = 0; i < sizeof(before_set) / 8; i++)
		before[e][i] |= before[earlier][i];
	before[e][earlier / 64] |= 1ull << earlier % 64;
}

/* Does e come after `earlier` by synchronisation alone? */
static bool follows(const struct event *earlier, const struct event *e)
{
	switch (e->kind) {
	case ACQUIRE:
		return earlier->kind == RELEASE && earlier->object == e->object;
	case LEAVE:
		return earlier->kind == ARRIVE && earlier->meeting == e->meeting;
	case JOIN:
		return earlier->kind == END && earlier->thread == e->other;
	default:
		return false;
	}
}

/* raced[i]: byte i is used by two accesses, one of them a write, and neither before the other. */
static inline void race_oracle(const struct run *run, bool raced[MEMORY])
{
	static before_set before[MOST_EVENTS];
	int last[THREADS];

	memset(before, 0, sizeof(before));
	memset(raced, 0, MEMORY * sizeof(*raced));
	for (int t = 0; t < THREADS; t++)
		last[t] = -1;
	for (int e = 0; e < run->events; e++) {
		const struct event *x = &run->event[e];

		if (last[x->thread] >= 0)
			add(before, e, last[x->thread]);
		for (int k = 0; k < e; k++) {
			if (follows(&run->event[k], x))
				add(before, e, k);
		}
		last[x->thread] = e;
		if (x->kind == FORK)
			last[x->other] = e;
		if (x->kind != ACCESS)
			continue;
		for (int k = 0; k < e; k++) {
			const struct event *y = &run->event[k];

			if (y->kind != ACCESS || !(x->write || y->write) ||
			    before[e][k / 64] >> k % 64 & 1)
				continue;
			for (int i = x->at; i < x->at + x->size; i++)
				raced[i] |= i >= y->at && i < y->at + y->size;
		}
	}
}

#endif
