/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk of the event graph tells who learnt what of whom. For each process that becomes a file:
 * what is given and what is taken, by thread and event.
 */
#include "replay/races-messages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "graph/walk.h"
#include "launch/front.h"
#include "replay/evaluate.h"

struct finding {
	const struct graph_source *source;
	struct replay_hands *hands;
};

static uint64_t name_of(const struct graph_source *s, unsigned rank, uint32_t thread)
{
	return race_log_name(s->thread(s->context, rank, thread));
}

static void learned(void *context, const struct graph_event *event, uint32_t of, uint64_t number)
{
	const struct finding *f = context;
	struct replay_hands *h = f->hands;

	if ((h->count & (h->count - 1)) == 0)
		h->hand = rp_realloc(h->hand, h->count ? 2 * h->count : 1, sizeof(*h->hand));
	h->hand[h->count++] = (struct replay_hand){
		.rank = event->rank,
		.process = graph_source_process(f->source, event->rank, of),
		.giver = name_of(f->source, event->rank, of),
		.gives = number,
		.taker = name_of(f->source, event->rank, event->thread),
		.takes = event->event->number,
	};
}

/* Several threads of a rank have made calls of MPI. */
static bool has_several(const struct trace_run_rank *rank)
{
	size_t n = 0;

	for (size_t i = 0; i < rank->streams; i++)
		n += rank->stream[i].kind == TRACE_STREAM_ORDER && rank->stream[i].events > 0;
	return rank->world && n > 1;
}

static int by_process(const void *a, const void *b)
{
	const struct replay_hand *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

int replay_hands_find(const struct trace_run *run, struct replay_hands *hands)
{
	struct graph_source source;
	struct finding finding = {&source, hands};
	struct graph_observer observer = {.context = &finding, .learned = learned};
	bool several = false;
	int code;

	*hands = (struct replay_hands){0};
	for (size_t i = 0; i < run->ranks; i++)
		several |= has_several(&run->rank[i]);
	if (!several)
		return 0;
	code = replay_evaluate(run->dir.path, NULL);
	if (!code)
		code = graph_source_open(&source, &run->dir);
	if (!code) {
		code = graph_walk(&source, &observer) ? RP_EXIT_FAILURE : 0;
		graph_source_close(&source);
	}
	if (code && !launch_front_signal()) {
		rp_say("so the order of threads by MPI is not known: what they hand over by that "
		       "alone is reported as racing");
		replay_hands_free(hands);
		return 0;
	}
	if (hands->count)
		qsort(hands->hand, hands->count, sizeof(*hands->hand), by_process);
	return code;
}

void replay_hands_free(struct replay_hands *hands)
{
	free(hands->hand);
	*hands = (struct replay_hands){0};
}

static int by_event(const void *a, const void *b)
{
	const struct race_log_hand *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static int by_giver(const void *a, const void *b)
{
	const struct replay_hand *x = a, *y = b;

	if (x->giver != y->giver)
		return x->giver < y->giver ? -1 : 1;
	return x->gives < y->gives ? -1 : x->gives > y->gives;
}

/* Of one process. Takers name the giving entry by its place among those that give, at first. */
static size_t make_entries(struct replay_hand *hand, size_t n, struct race_log_hand *out)
{
	uint32_t *place = rp_alloc(n + 1, sizeof(*place)), gives = 0;
	size_t count = 0;

	qsort(hand, n, sizeof(*hand), by_giver);
	for (size_t i = 0; i < n; i++) {
		if (!i || by_giver(&hand[i - 1], &hand[i]) != 0)
			out[count++] = (struct race_log_hand){hand[i].giver, hand[i].gives,
							      RACE_LOG_GIVES, 0};
		/* Of the takers, those of one gift come one after the other. */
		out[count++] = (struct race_log_hand){hand[i].taker, hand[i].takes, gives, 0};
		gives += i + 1 == n || by_giver(&hand[i], &hand[i + 1]) != 0;
	}
	qsort(out, count, sizeof(*out), by_event);
	gives = 0;
	for (size_t i = 0; i < count; i++) {
		if (out[i].from == RACE_LOG_GIVES)
			place[gives++] = (uint32_t)i;
	}
	for (size_t i = 0; i < count; i++) {
		if (out[i].from == RACE_LOG_GIVES)
			continue;
		out[i].from = place[out[i].from];
		out[out[i].from].takers++;
	}
	free(place);
	return count;
}

static int write_process(const struct replay_front *f, struct replay_hand *hand, size_t n)
{
	char *name = rp_format("races-messages-%04u-%u", hand->rank, hand->process);
	struct race_log_hand *entry = rp_alloc(2 * n, sizeof(*entry));
	size_t bytes = make_entries(hand, n, entry) * sizeof(*entry), done = 0;
	int fd = openat(f->session_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc = fd < 0 ? -errno : 0;

	while (!rc && done < bytes) {
		ssize_t some = write(fd, (const char *)entry + done, bytes - done);

		if (some > 0)
			done += (size_t)some;
		else if (some == 0 || errno != EINTR)
			rc = -ENOSPC;
	}
	if (fd >= 0 && close(fd) != 0 && !rc)
		rc = -errno;
	free(entry);
	free(name);
	return rc;
}

int replay_hands_write(const struct replay_front *f, const struct replay_hands *hands)
{
	size_t first = 0;
	int rc = 0;

	for (size_t i = 1; i <= hands->count && !rc; i++) {
		if (i < hands->count && by_process(&hands->hand[first], &hands->hand[i]) == 0)
			continue;
		rc = write_process(f, &hands->hand[first], i - first);
		first = i;
	}
	return rc;
}
