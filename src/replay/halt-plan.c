/* SPDX-License-Identifier: Apache-2.0 */
/* Where a replay that stops is to stop: what the user says, and the places of all ranks. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "replay/clocks.h"
#include "replay/halt.h"

/* "3.0.1@17", up to `stop`. */
static int read_place(struct replay_halt_place *place, const char *text, const char *stop)
{
	const char *at = memchr(text, '@', (size_t)(stop - text)), *dot;
	char *end;

	if (!at || text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	dot = memchr(text, '.', (size_t)(at - text));
	place->rank = (unsigned)strtoul(text, &end, 10);
	if (end != (dot ? dot : at))
		return -EINVAL;
	place->thread = dot ? rp_format("%.*s", (int)(at - dot - 1), dot + 1) : rp_strdup("0");
	if (at[1] < '0' || at[1] > '9')
		return -EINVAL;
	place->event = strtoull(at + 1, &end, 10);
	return errno || end != stop || !place->event || !place->thread[0] ? -EINVAL : 0;
}

static int read_position(struct replay_halt *h, const char *text)
{
	struct replay_halt_place place;
	int rc = 0;

	h->kind = REPLAY_TO_POSITION;
	h->text = text;
	for (const char *p = text; !rc; p++) {
		const char *stop = p + strcspn(p, ",");

		rc = read_place(&place, p, stop);
		for (size_t i = 0; i < h->by_hands && !rc; i++)
			rc = h->by_hand[i].rank == place.rank ? -EINVAL : 0;
		if (rc)
			break;
		h->by_hand = rp_realloc(h->by_hand, h->by_hands + 1, sizeof(place));
		h->by_hand[h->by_hands++] = place;
		p = stop;
		if (!*p)
			break;
	}
	if (rc)
		return rc;
	h->rank = h->by_hand[0].rank;
	h->thread = h->by_hand[0].thread;
	h->event = h->by_hand[0].event;
	return 0;
}

int replay_halt_read(struct replay_halt *h, const char *text)
{
	static const struct {
		const char *word;
		enum replay_halt_kind kind;
	} words[] = {
		{"start", REPLAY_TO_START},
		{"crash", REPLAY_TO_CRASH},
		{"end", REPLAY_TO_END},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i].word) == 0) {
			h->kind = words[i].kind;
			return 0;
		}
	}
	if (read_position(h, text) == 0)
		return 0;
	rp_say("'%s' is no point of a run: it is RANK@EVENT as in 3@1042, RANK.THREAD@EVENT, "
	       "several of them with commas, one of a rank, or start, crash or end",
	       text);
	return RP_EXIT_BAD_INPUT;
}

enum replay_halt_unit replay_halt_unit(const struct trace_run *run)
{
	enum replay_halt_unit unit = REPLAY_UNIT_CALL;

	for (size_t i = 0; i < run->ranks; i++) {
		if (run->rank[i].events)
			return REPLAY_UNIT_MPI;
		if (run->rank[i].syncs)
			unit = REPLAY_UNIT_OPERATION;
	}
	return unit;
}

int64_t replay_halt_counted(const struct trace_run_rank *rank, const char *thread,
			    enum replay_halt_unit unit)
{
	int64_t found = -1;

	for (size_t k = 0; k < rank->streams; k++) {
		const struct trace_run_stream *s = &rank->stream[k];

		if (strcmp(s->thread, thread) != 0)
			continue;
		found = found < 0 ? 0 : found;
		if (unit == REPLAY_UNIT_CALL)
			found = INT64_MAX;
		if (s->kind == TRACE_STREAM_ORDER && unit == REPLAY_UNIT_MPI &&
		    (int64_t)s->events > found)
			found = (int64_t)s->events;
		if (s->kind == TRACE_STREAM_SYNC && unit == REPLAY_UNIT_OPERATION &&
		    (int64_t)s->syncs > found)
			found = (int64_t)s->syncs;
	}
	return found;
}

static int check_position(const struct replay_halt_place *h, const struct trace_run *run)
{
	enum replay_halt_unit unit = replay_halt_unit(run);
	char *whose;
	int64_t n;

	if (h->rank >= run->ranks) {
		rp_say("there is no rank %u in %s: its ranks are 0 to %zu", h->rank, run->dir.show,
		       run->ranks - 1);
		return RP_EXIT_BAD_INPUT;
	}
	n = replay_halt_counted(&run->rank[h->rank], h->thread, unit);
	if (n < 0) {
		rp_say("rank %u has no thread %s", h->rank, h->thread);
		return RP_EXIT_BAD_INPUT;
	}
	if (h->event <= (uint64_t)n)
		return 0;
	whose = strcmp(h->thread, "0") == 0 ? rp_format("rank %u", h->rank)
					    : rp_format("thread %s of rank %u", h->thread, h->rank);
	rp_say("%s never came to %s %" PRIu64 ": it has %" PRId64 " of them%s", whose,
	       unit == REPLAY_UNIT_MPI ? "event" : "operation", h->event, n,
	       unit == REPLAY_UNIT_MPI ? "" : " (synchronisation of threads)");
	free(whose);
	return RP_EXIT_BAD_INPUT;
}

/* `alone`: where the rank is if it needs nobody to come there. */
static void add_place(struct replay_halt *h, unsigned rank, const char *thread, uint64_t first,
		      uint64_t second, uint64_t alone)
{
	char *before = h->places[rank];

	h->places[rank] = rp_format("%s%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
				    before ? before : "", thread, first, second, alone);
	free(before);
}

/* The number of a thread of the rank, or -1. */
static int64_t number_of(const struct graph_clocks *clocks, unsigned rank, const char *thread)
{
	for (uint32_t i = 0; i < graph_clocks_threads(clocks, rank); i++) {
		if (strcmp(graph_clocks_thread(clocks, rank, i), thread) == 0)
			return i;
	}
	return -1;
}

/*
 * Behind the last event that counts: a call may be several events, and only some in the cut. All
 * come out of MPI_Init together.
 */
static int place_rank(struct replay_halt *h, const struct graph_clocks *clocks, unsigned rank,
		      uint32_t past, uint32_t frontier)
{
	uint32_t threads = graph_clocks_threads(clocks, rank);
	uint64_t *first = rp_alloc(threads + 1, sizeof(*first));
	uint64_t *second = rp_alloc(threads + 1, sizeof(*second));
	struct graph_position next = {0};
	int rc = graph_clocks_last(clocks, rank, past, first);

	if (!rc)
		rc = graph_clocks_last(clocks, rank, frontier, second);
	if (!rc)
		rc = graph_clocks_position(clocks, rank, past, &next);
	for (uint32_t i = 0; i < threads && !rc; i++) {
		const char *name = graph_clocks_thread(clocks, rank, i);
		uint64_t least = strcmp(name, "0") == 0 ? 2 : 1, alone;
		bool split = next.thread == i && next.number == first[i];

		first[i] = first[i] + 1 < least ? least : first[i] + 1;
		second[i] = second[i] + 1 < first[i] ? first[i] : second[i] + 1;
		for (size_t k = 0; k < h->by_hands; k++) {
			if (rank == h->by_hand[k].rank && strcmp(name, h->by_hand[k].thread) == 0)
				first[i] = second[i] = h->by_hand[k].event;
		}
		/* With others it goes on inside of that call as far as they let it. */
		alone = split && first[i] > least ? first[i] - 1 : first[i];
		add_place(h, rank, name, first[i], second[i], alone);
	}
	free(first);
	free(second);
	return rc;
}

static int place_all(struct replay_halt *h, const struct graph_clocks *clocks)
{
	int64_t thread = number_of(clocks, h->rank, h->thread);
	unsigned ranks = graph_clocks_ranks(clocks);
	struct graph_position position = {(uint32_t)thread, h->event};
	struct graph_cut past, frontier;
	int rc = 0;

	if (thread < 0) {
		add_place(h, h->rank, h->thread, h->event, h->event, h->event);
		return 0;
	}
	graph_cut_init(&past, ranks);
	graph_cut_init(&frontier, ranks);
	rc = graph_clocks_past(clocks, h->rank, &position, &past);
	if (!rc)
		rc = graph_clocks_frontier(clocks, h->rank, &position, &frontier);
	for (unsigned q = 0; q < ranks && !rc; q++)
		rc = place_rank(h, clocks, q, past.count[q], frontier.count[q]);
	graph_cut_free(&past);
	graph_cut_free(&frontier);
	return rc;
}

/* "1@15", the event of the process with that index; the caller frees. */
static char *name_event(const struct graph_clocks *clocks, unsigned rank, uint32_t index)
{
	struct graph_position position;
	const char *thread;

	if (graph_clocks_position(clocks, rank, index, &position) != 0 ||
	    position.number == GRAPH_POSITION_END)
		return rp_format("an event of rank %u", rank);
	thread = graph_clocks_thread(clocks, rank, position.thread);
	return strcmp(thread, "0") == 0
		       ? rp_format("%u@%" PRIu64, rank, position.number)
		       : rp_format("%u.%s@%" PRIu64, rank, thread, position.number);
}

/* Some rank would have to have done more than the user says. */
static int say_flaw(const struct replay_halt *h, const struct graph_clocks *clocks,
		    const struct graph_cut *cut)
{
	struct graph_cut_flaw flaw;
	bool consistent;
	char *event, *needs;
	int rc = graph_clocks_is_consistent(clocks, cut, &consistent, &flaw);

	if (rc || consistent)
		return rc;
	event = name_event(clocks, flaw.rank, flaw.index);
	needs = name_event(clocks, flaw.missing, flaw.needs);
	rp_say("the run was never at '%s': it has %s behind it, but not %s, which came before",
	       h->text, event, needs);
	free(event);
	free(needs);
	return -EINVAL;
}

/* The ranks that are not named are where they must be. */
static int place_by_hand(struct replay_halt *h, const struct graph_clocks *clocks)
{
	unsigned ranks = graph_clocks_ranks(clocks);
	struct graph_cut cut, grown;
	int rc = 0;

	graph_cut_init(&cut, ranks);
	graph_cut_init(&grown, ranks);
	for (size_t k = 0; k < h->by_hands && !rc; k++) {
		const struct replay_halt_place *place = &h->by_hand[k];
		struct graph_position position = {0, place->event};
		int64_t thread = number_of(clocks, place->rank, place->thread);

		position.thread = (uint32_t)thread;
		if (thread >= 0)
			rc = graph_clocks_place(clocks, place->rank, &position,
						&cut.count[place->rank]);
		grown.count[place->rank] = cut.count[place->rank];
	}
	if (!rc)
		rc = graph_clocks_grow(clocks, &grown);
	for (unsigned q = 0; q < ranks && !rc; q++) {
		bool named = false;

		for (size_t k = 0; k < h->by_hands; k++)
			named = named || h->by_hand[k].rank == q;
		if (!named)
			cut.count[q] = grown.count[q];
	}
	if (!rc)
		rc = say_flaw(h, clocks, &cut);
	for (unsigned q = 0; q < ranks && !rc; q++)
		rc = place_rank(h, clocks, q, cut.count[q], cut.count[q]);
	graph_cut_free(&cut);
	graph_cut_free(&grown);
	return rc;
}

static int plan_cut(struct replay_halt *h, const struct trace_run *run)
{
	struct graph_clocks *clocks;
	int code = replay_clocks_open(run, &clocks), rc;

	if (code)
		return code;
	rc = (h->by_hands > 1 ? place_by_hand : place_all)(h, clocks);
	if (rc == -EBADMSG)
		code = replay_clocks_damaged(run);
	graph_clocks_close(clocks);
	return rc && !code ? RP_EXIT_BAD_INPUT : code;
}

/* Did a rank die by itself? */
static bool has_crashed(const struct trace_run *run)
{
	for (size_t i = 0; i < run->ranks; i++) {
		const struct trace_run_stream *last = run->rank[i].last;

		if (last && (last->end == TRACE_END_SIGNAL || last->end == TRACE_END_ABORT))
			return true;
	}
	return false;
}

enum replay_halt_kind replay_halt_usual(const struct trace_run *run)
{
	return has_crashed(run) ? REPLAY_TO_CRASH : REPLAY_TO_START;
}

int replay_halt_plan(struct replay_halt *h, const struct trace_run *run)
{
	static const uint32_t flags[] = {
		[REPLAY_UNIT_MPI] = REPLAY_HALT_EVENTS,
		[REPLAY_UNIT_OPERATION] = REPLAY_HALT_OPERATIONS,
		[REPLAY_UNIT_CALL] = REPLAY_HALT_CALLS,
	};
	enum replay_halt_unit unit = replay_halt_unit(run);
	int code = 0;

	h->places = rp_alloc(run->ranks, sizeof(*h->places));
	if (h->debug && h->debugged >= run->ranks) {
		rp_say("there is no rank %u in %s: its ranks are 0 to %zu", h->debugged,
		       run->dir.show, run->ranks - 1);
		return RP_EXIT_BAD_INPUT;
	}
	switch (h->kind) {
	case REPLAY_TO_START:
		h->flags = REPLAY_HALT_START;
		return 0;
	case REPLAY_TO_CRASH:
		h->flags = REPLAY_HALT_OPEN;
		if (has_crashed(run))
			return 0;
		rp_say("no rank of %s crashed; 'end' is where the recording ends", run->dir.show);
		return RP_EXIT_BAD_INPUT;
	case REPLAY_TO_END:
		h->flags = REPLAY_HALT_END;
		return 0;
	case REPLAY_TO_POSITION:
		for (size_t i = 0; i < h->by_hands && !code; i++)
			code = check_position(&h->by_hand[i], run);
	}
	if (code)
		return code;
	h->flags = flags[unit];
	/* Nobody else is looked at, there is nobody else, or nobody that it knows of. */
	if (run->ranks == 1 || unit == REPLAY_UNIT_CALL || (h->debug && h->debugged == h->rank)) {
		add_place(h, h->rank, h->thread, h->event, h->event, h->event);
		return 0;
	}
	return plan_cut(h, run);
}
