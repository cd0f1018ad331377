/* SPDX-License-Identifier: Apache-2.0 */
/* gdb's "monitor": what belongs to the recording and not to the program. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "remote/serve.h"
#include "replay/halt.h"

static const struct trace_run_rank *rank_of(const struct remote_server *s)
{
	return &s->travel.front->run->rank[s->travel.one];
}

static char *where(struct remote_server *s)
{
	const struct replay_slot *slot = s->travel.slot;
	const struct trace_run_rank *rank = rank_of(s);
	char *call, *text;

	if (remote_travel_at_end(&s->travel))
		return rp_format("rank %u is at the end of its recording\n", rank->rank);
	if (!rank->events)
		return rp_format("rank %u has run for %.6f s\n", rank->rank,
				 remote_travel_age(&s->travel));
	if (!(slot->events & 1))
		return rp_format("rank %u is behind %u@%" PRIu64 " of %" PRIu64 " events\n",
				 rank->rank, rank->rank, slot->events >> 1, rank->events);
	call = replay_wait_text(s->travel.front, s->travel.one);
	text = rp_format("rank %u is at %u@%" PRIu64 " of %" PRIu64 " events, %s\n", rank->rank,
			 rank->rank, slot->events >> 1, rank->events, call);
	free(call);
	return text;
}

/* The address of the program's call at work, for whoever looks for its frame. */
static char *site(const struct remote_server *s)
{
	const struct replay_slot *slot = s->travel.slot;

	return slot->events & 1 ? rp_format("0x%" PRIx64 "\n", slot->site) : rp_strdup("none\n");
}

/* The same for programs that drive gdb. */
static char *state(struct remote_server *s)
{
	return rp_format("pid %d events %" PRIu64 " end %d begin %d thread %u\n",
			 s->travel.live.pid, s->travel.slot->events,
			 remote_travel_at_end(&s->travel), s->begin_told, s->travel.focus);
}

static char *result(struct remote_server *s, enum remote_way way)
{
	s->end_told = s->begin_told = false;
	s->elsewhere = true;
	/* The thread that was looked at may not be there. */
	if (s->travel.live.turns)
		s->travel.focus = s->general = s->travel.live.turn;
	s->chosen = 0;
	switch (way) {
	case REMOTE_WAY_DONE:
		return where(s);
	case REMOTE_WAY_STOPPED:
		s->link.interrupted = false;
		return rp_strdup("interrupted on the way\n");
	default:
		return rp_strdup("it did not come there; 'monitor where' tells where it is\n");
	}
}

/* A place of the recording that a thread counts. */
struct event {
	char thread[REPLAY_NAME_BYTES + 1];
	enum replay_halt_unit unit;
	uint64_t number;
};

static char *not_a_point(const struct remote_server *s, const char *words)
{
	return rp_format("'%s' is no point of a run: it is RANK@EVENT as in %u@17, "
			 "RANK.THREAD@EVENT, start, crash or end\n",
			 words, rank_of(s)->rank);
}

/* What is wrong with it, or NULL. */
static char *read_event(const struct remote_server *s, const char *words, struct event *event)
{
	const struct trace_run_rank *rank = rank_of(s);
	unsigned long number;
	const char *what;
	int64_t all;
	char *end;

	number = strtoul(words, &end, 10);
	strcpy(event->thread, "0");
	if (*end == '.') {
		size_t n = strcspn(end + 1, "@");

		snprintf(event->thread, sizeof(event->thread), "%.*s", (int)n, end + 1);
		end += 1 + n;
	}
	event->unit = replay_halt_unit(s->travel.front->run);
	event->number = *end == '@' ? strtoull(end + 1, &end, 10) : 0;
	if (*end || !event->number)
		return not_a_point(s, words);
	if (number != rank->rank)
		return rp_format("this is rank %u; 'reprise gdb %lu' looks at rank %lu\n",
				 rank->rank, number, number);
	all = replay_halt_counted(rank, event->thread, event->unit);
	if (all < 0)
		return rp_format("rank %u has no thread %s\n", rank->rank, event->thread);
	/* The program that comes later counts from the beginning. */
	if (event->unit == REPLAY_UNIT_CALL && rank->processes > 1)
		return rp_format("rank %u becomes another program on its way, and places of both "
				 "have the same numbers: begin 'reprise gdb' with --at %s\n",
				 rank->rank, words);
	what = event->unit == REPLAY_UNIT_OPERATION ? "operation" : "event";
	if (event->number > (uint64_t)all)
		return rp_format("rank %u never came to %s %" PRIu64 ": it has %" PRId64
				 " of them\n",
				 rank->rank, what, event->number, all);
	return NULL;
}

/* Events of MPI of the main thread are counted in the slot of the rank. */
static bool is_in_slot(const struct event *event)
{
	return event->unit == REPLAY_UNIT_MPI && strcmp(event->thread, "0") == 0;
}

static char *go_to_event(struct remote_server *s, const char *words)
{
	struct event event;
	char *why = read_event(s, words, &event);

	if (why)
		return why;
	remote_goto_remember(&s->travel);
	return result(s, is_in_slot(&event) ? remote_goto_event(&s->travel, event.number)
					    : remote_goto_thread(&s->travel, event.thread,
								 event.unit, event.number));
}

static struct remote_watch *free_watch(struct remote_server *s)
{
	for (unsigned i = 0; i < REMOTE_WATCHES; i++) {
		if (!s->travel.points.watch[i].kind)
			return &s->travel.points.watch[i];
	}
	return NULL;
}

/* It takes one of the processor's three registers for watching. */
static char *stop_at(struct remote_server *s, const char *words)
{
	uint64_t slot = remote_goto_slot(&s->travel),
		 at = slot + offsetof(struct replay_slot, events);
	struct remote_watch watch = {.kind = REMOTE_WATCH_WRITE,
				     .address = at,
				     .length = 8,
				     .only = true,
				     .counter = at},
			    *place = free_watch(s);
	struct event event;
	char *why = read_event(s, words, &event);
	enum remote_way way = slot ? REMOTE_WAY_DONE : REMOTE_WAY_BEGIN;

	if (why)
		return why;
	if (!place)
		return rp_strdup("no more can be watched at the same time\n");
	watch.value = event.number << 1 | 1;
	if (!is_in_slot(&event))
		way = remote_goto_watch(&s->travel, event.thread, event.unit, event.number, &watch);
	if (way == REMOTE_WAY_BEGIN)
		return rp_format("where %s counts was not found\n", words);
	if (way != REMOTE_WAY_DONE)
		return result(s, way);
	*place = watch;
	return rp_format("stops at %s\n", words);
}

static char *delete_all(struct remote_server *s)
{
	for (unsigned i = 0; i < REMOTE_WATCHES; i++) {
		if (s->travel.points.watch[i].only)
			s->travel.points.watch[i] = (struct remote_watch){0};
	}
	return rp_strdup("");
}

static char *go_to(struct remote_server *s, const char *words)
{
	const struct trace_run_stream *last = rank_of(s)->last;
	enum remote_way way;

	if (strcmp(words, "start") == 0) {
		remote_goto_remember(&s->travel);
		return result(s, remote_goto_begin(&s->travel));
	}
	if (strcmp(words, "end") != 0 && strcmp(words, "crash") != 0)
		return go_to_event(s, words);
	if (*words == 'c' && (!last || last->end != TRACE_END_SIGNAL))
		return rp_format("rank %u did not crash; 'end' is where its recording ends\n",
				 rank_of(s)->rank);
	remote_goto_remember(&s->travel);
	way = remote_goto_end(&s->travel);
	if (way == REMOTE_WAY_DONE && *words == 'c')
		way = remote_travel_back_to_signal(&s->travel,
						   (int)s->travel.front->word[s->travel.one].value);
	return result(s, way);
}

/*
 * Back to before the call that has left its return address there: the last write of that word. For
 * programs that drive gdb, whose "reverse-finish" is for the innermost function only.
 */
static char *uncall(struct remote_server *s, const char *words)
{
	struct remote_travel *t = &s->travel;
	struct remote_points points = t->points;
	struct remote_stop stop;
	enum remote_way way;
	unsigned thread;
	uint64_t at;

	if (sscanf(words, "%x %" SCNx64, &thread, &at) != 2 ||
	    !remote_process_thread(&t->live, thread))
		return rp_strdup("it takes a thread and an address\n");
	remote_travel_look_at(t, thread);
	t->points = (struct remote_points){
		.watch = {{.kind = REMOTE_WATCH_WRITE, .address = at, .length = 8}}};
	way = remote_travel_back(t, &stop);
	t->points = points;
	return result(s, way);
}

char *remote_monitor(struct remote_server *s, const char *words)
{
	if (strcmp(words, "where") == 0)
		return where(s);
	if (strcmp(words, "site") == 0)
		return site(s);
	if (strcmp(words, "state") == 0)
		return state(s);
	if (strncmp(words, "uncall ", 7) == 0)
		return uncall(s, words + 7);
	if (strncmp(words, "goto ", 5) == 0)
		return go_to(s, words + 5);
	if (strcmp(words, "back") == 0)
		return result(s, remote_goto_back(&s->travel));
	if (strcmp(words, "events") == 0)
		return remote_recorded_events(s);
	if (strcmp(words, "msg") == 0)
		return remote_recorded_message(s);
	if (strcmp(words, "race") == 0)
		return remote_recorded_race(s);
	if (strncmp(words, "break ", 6) == 0)
		return stop_at(s, words + 6);
	if (strcmp(words, "delete") == 0)
		return delete_all(s);
	return rp_strdup(
		"monitor where          where this is in the recording\n"
		"monitor goto POINT     goes to RANK@EVENT, RANK.THREAD@EVENT, start, crash or "
		"end\n"
		"monitor back           goes to where it was before the last goto\n"
		"monitor events         what is recorded about here\n"
		"monitor msg            the message that the rank got last, and what it held\n"
		"monitor race           which receive could have got another message, and which\n"
		"monitor break POINT    stops at RANK@EVENT or RANK.THREAD@EVENT, in both "
		"directions\n"
		"monitor delete         and does not any more\n");
}
