/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message is compared with the outcomes of its group from the newest back to the first that it
 * covers: outcomes are seen in order, so it covers all older ones, too. Outcomes that it does not
 * cover and that came from another source are written, and leave. Outcomes from its own source
 * stay, and are skipped run by run. So a check costs a few steps, however full the window is.
 * Invariant: neighbouring runs of a group have different sources. Index 0 is none.
 *
 * The last outcome is in no list: if many messages race, it is written before it would get there.
 */
#include "hook/causal/window.h"

#include <stddef.h>

#include "hook/kit/random.h"

/* There are as many runs and groups as entries: each has one entry at least. */
static uint32_t take(uint32_t *free, uint32_t next, uint32_t *made)
{
	uint32_t i = *free;

	if (!i)
		return ++*made;
	*free = next;
	return i;
}

bool hook_window_is_full(const struct hook_window *w)
{
	return !w->free_entry && w->entries == WINDOW_ENTRIES;
}

static uint32_t *bucket(struct hook_window *w, uint64_t comm, int32_t tag)
{
	uint64_t x = hook_random_spread(comm ^ (uint64_t)(uint32_t)tag << 32);

	return &w->hash[x >> 32 & (WINDOW_ENTRIES - 1)];
}

static uint32_t find_group(struct hook_window *w, uint64_t comm, int32_t tag)
{
	uint32_t g = *bucket(w, comm, tag);

	while (g && (w->group[g].comm != comm || w->group[g].tag != tag))
		g = w->group[g].next;
	return g;
}

static uint32_t make_group(struct hook_window *w, uint64_t comm, int32_t tag)
{
	uint32_t *head = bucket(w, comm, tag);
	uint32_t g = take(&w->free_group, w->group[w->free_group].next, &w->groups);

	w->group[g] = (struct hook_window_group){.comm = comm, .tag = tag, .next = *head};
	*head = g;
	return g;
}

static void drop_group(struct hook_window *w, uint32_t g)
{
	uint32_t *link = bucket(w, w->group[g].comm, w->group[g].tag);

	while (*link != g)
		link = &w->group[*link].next;
	*link = w->group[g].next;
	w->group[g].next = w->free_group;
	w->free_group = g;
}

static uint32_t make_run(struct hook_window *w, uint32_t g, uint32_t source)
{
	uint32_t r = take(&w->free_run, w->run[w->free_run].newer, &w->runs);
	uint32_t before = w->group[g].newest;

	w->run[r] = (struct hook_window_run){.source = source, .group = g, .older = before};
	if (before)
		w->run[before].newer = r;
	w->group[g].newest = r;
	return r;
}

/* `from` becomes part of its neighbour `into`. */
static void absorb_run(struct hook_window *w, uint32_t from, uint32_t into, bool from_is_newer)
{
	struct hook_window_run *a = &w->run[from], *b = &w->run[into];

	for (uint32_t e = a->oldest; e; e = w->entry[e].newer)
		w->entry[e].run = into;
	if (from_is_newer) {
		w->entry[b->newest].newer = a->oldest;
		w->entry[a->oldest].older = b->newest;
		b->newest = a->newest;
	} else {
		w->entry[a->newest].newer = b->oldest;
		w->entry[b->oldest].older = a->newest;
		b->oldest = a->oldest;
	}
	b->count += a->count;
	a->count = 0;
}

/* Runs that have become neighbours; the shorter one moves. */
static void join_runs(struct hook_window *w, uint32_t older, uint32_t newer);

static void drop_run(struct hook_window *w, uint32_t r)
{
	struct hook_window_run *run = &w->run[r];
	uint32_t older = run->older, newer = run->newer, g = run->group;

	if (older)
		w->run[older].newer = newer;
	if (newer)
		w->run[newer].older = older;
	else
		w->group[g].newest = older;
	run->newer = w->free_run;
	w->free_run = r;
	if (!older && !newer)
		drop_group(w, g);
	else if (older && newer && w->run[older].source == w->run[newer].source)
		join_runs(w, older, newer);
}

static void join_runs(struct hook_window *w, uint32_t older, uint32_t newer)
{
	bool newer_is_shorter = w->run[newer].count <= w->run[older].count;
	uint32_t from = newer_is_shorter ? newer : older;

	absorb_run(w, from, newer_is_shorter ? older : newer, newer_is_shorter);
	drop_run(w, from);
}

static void remove_entry(struct hook_window *w, uint32_t e)
{
	struct hook_window_entry *entry = &w->entry[e];
	struct hook_window_run *run = &w->run[entry->run];

	*(entry->older ? &w->entry[entry->older].newer : &run->oldest) = entry->newer;
	*(entry->newer ? &w->entry[entry->newer].older : &run->newest) = entry->older;
	*(entry->before ? &w->entry[entry->before].after : &w->first) = entry->after;
	*(entry->after ? &w->entry[entry->after].before : &w->last) = entry->before;
	if (--run->count == 0)
		drop_run(w, entry->run);
	entry->after = w->free_entry;
	w->free_entry = e;
	w->used--;
}

/* The last outcome gives way to another one. */
void hook_window_move_latest(struct hook_window *w)
{
	struct hook_outcome *latest = &w->latest;
	uint32_t g = find_group(w, w->latest_comm, w->latest_tag), r;
	uint32_t e = take(&w->free_entry, w->entry[w->free_entry].after, &w->entries);
	struct hook_window_entry *entry = &w->entry[e];
	struct hook_window_run *run;

	if (!g)
		g = make_group(w, w->latest_comm, w->latest_tag);
	r = w->group[g].newest;
	if (!r || w->run[r].source != latest->source)
		r = make_run(w, g, latest->source);
	run = &w->run[r];
	*entry = (struct hook_window_entry){
		.outcome = *latest, .run = r, .older = run->newest, .before = w->last};
	*(run->newest ? &w->entry[run->newest].newer : &run->oldest) = e;
	*(w->last ? &w->entry[w->last].after : &w->first) = e;
	run->newest = w->last = e;
	run->count++;
	w->used++;
	w->store(w->arg, e, latest);
}

static uint64_t last_done(const struct hook_outcome *o)
{
	return o->done + o->count - 1;
}

/* Writes what the message does not cover; first it is written, then it leaves its slot. */
static void write_rest(struct hook_window *w, struct hook_outcome *o, uint32_t slot,
		       uint64_t covers)
{
	struct hook_outcome rest = *o;
	uint32_t covered = covers < o->done ? 0 : (uint32_t)(covers - o->done + 1);

	rest.number += covered;
	rest.done += covered;
	rest.count -= covered;
	w->write(w->arg, &rest);
	o->count = covered;
	w->store(w->arg, slot, covered ? o : NULL);
}

static void write_entry(struct hook_window *w, uint32_t e, uint64_t covers)
{
	write_rest(w, &w->entry[e].outcome, e, covers);
	if (!w->entry[e].outcome.count)
		remove_entry(w, e);
}

/* Oldest first: numbers that follow each other take little space. */
static void write_run(struct hook_window *w, uint32_t r, uint64_t key, uint64_t covers)
{
	uint32_t first = 0, next;

	for (uint32_t e = w->run[r].newest; e && last_done(&w->entry[e].outcome) > covers;
	     e = w->entry[e].older)
		first = e;
	for (uint32_t e = first; e; e = next) {
		next = w->entry[e].newer;
		if (w->entry[e].outcome.key <= key)
			write_entry(w, e, covers);
	}
}

/* When a run leaves, its neighbours may become one: then the next older run is found anew. */
static void check_group(struct hook_window *w, uint32_t g, uint32_t source, uint64_t key,
			uint64_t covers)
{
	uint32_t r, older;

	for (r = g ? w->group[g].newest : 0; r; r = older) {
		older = w->run[r].older;
		if (last_done(&w->entry[w->run[r].newest].outcome) <= covers)
			return;
		if (w->run[r].source == source)
			continue;
		write_run(w, r, key, covers);
		if (older && w->run[older].count == 0)
			older = w->group[g].newest;
	}
}

void hook_window_compare(struct hook_window *w, uint64_t comm, int32_t tag, uint32_t source,
			 uint64_t key, uint64_t covers)
{
	struct hook_outcome *latest = &w->latest;

	if (w->used) {
		check_group(w, find_group(w, comm, tag), source, key, covers);
		check_group(w, find_group(w, comm, WINDOW_ANY_TAG), source, key, covers);
	}
	if (latest->count && latest->source != source && w->latest_comm == comm &&
	    (w->latest_tag == tag || w->latest_tag == WINDOW_ANY_TAG) && latest->key <= key &&
	    last_done(latest) > covers)
		write_rest(w, latest, 0, covers);
}

/* Forgets those up to `limit`: true if none is left. */
static bool forget(struct hook_window *w, struct hook_outcome *o, uint32_t slot, uint64_t limit)
{
	uint64_t n = last_done(o) <= limit ? o->count : limit - o->done + 1;

	if (o->done > limit)
		return false;
	o->number += n;
	o->done += n;
	o->count -= (uint32_t)n;
	w->store(w->arg, slot, o->count ? o : NULL);
	return o->count == 0;
}

void hook_window_retire(struct hook_window *w, uint64_t lowest, uint32_t who, uint64_t second)
{
	uint32_t next;

	for (uint32_t e = w->first; e && w->entry[e].outcome.done <= second; e = next) {
		struct hook_outcome *o = &w->entry[e].outcome;

		next = w->entry[e].after;
		if (forget(w, o, e, o->sender == who ? second : lowest))
			remove_entry(w, e);
	}
	if (w->latest.count)
		forget(w, &w->latest, 0, w->latest.sender == who ? second : lowest);
}

void hook_window_evict(struct hook_window *w, uint32_t n)
{
	for (; n && w->first; n--)
		write_entry(w, w->first, 0);
	if (n && w->latest.count)
		write_rest(w, &w->latest, 0, 0);
}
