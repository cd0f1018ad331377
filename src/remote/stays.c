/* SPDX-License-Identifier: Apache-2.0 */
/* Copies along the run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "remote/travel.h"

#define FEW 6      /* as many are always kept */
#define MOST 40    /* and no more than these */
#define SPARSE 0.7 /* how far apart two may be, as a part of how long ago that was */

static void name_words(const struct remote_travel *t, char name[24], char before[24])
{
	unsigned rank = t->front->run->rank[t->one].rank;

	snprintf(name, 24, "end-%04u", rank);
	snprintf(before, 24, "word-%04u", rank);
}

void remote_stay_forget_word(struct remote_travel *t)
{
	struct replay_front *f = t->front;
	struct replay_word *w = &f->word[t->one];
	char name[24], before[24];

	name_words(t, name, before);

	/*
	 * The word lies under another name before it is said (hook/session/session.c). A copy may
	 * stand between the two, and finds it there.
	 */
	(void)!linkat(f->session_fd, name, f->session_fd, before, 0);
	unlinkat(f->session_fd, name, 0);
	f->words -= w->why != NULL;
	*w = (struct replay_word){0};
}

void remote_stay_recall_word(struct remote_travel *t)
{
	char name[24], before[24];

	name_words(t, name, before);
	(void)!linkat(t->front->session_fd, before, t->front->session_fd, name, 0);
}

int remote_stay_push(struct remote_travel *t)
{
	struct remote_stay stay = {.since = remote_process_cpu(&t->live) - t->base,
				   .steps = t->steps};
	int rc;

	remote_travel_drain(t);
	stay.printed = t->printed;
	rc = remote_copy_keep(&t->live, &t->slot->copy, &stay.copy);
	if (rc)
		return rc;
	remote_stay_insert(t, t->stays, &stay);
	t->base = remote_process_cpu(&t->live);
	t->steps = 0;
	return 0;
}

void remote_stay_insert(struct remote_travel *t, size_t at, const struct remote_stay *stay)
{
	if (t->stays == t->room) {
		t->stay = rp_widen(t->stay, t->room, 2 * t->room + 8, sizeof(*t->stay));
		t->room = 2 * t->room + 8;
	}
	memmove(&t->stay[at + 1], &t->stay[at], (t->stays - at) * sizeof(*t->stay));
	t->stay[at] = *stay;
	t->stays++;
	if (at + 1 == t->stays)
		return;
	t->stay[at + 1].since -= stay->since;
	t->stay[at + 1].steps = stay->steps >= 0 && t->stay[at + 1].steps >= stay->steps
					? t->stay[at + 1].steps - stay->steps
					: -1;
}

void remote_stay_remove(struct remote_travel *t, size_t at)
{
	struct remote_stay gone = t->stay[at];

	t->stays--;
	memmove(&t->stay[at], &t->stay[at + 1], (t->stays - at) * sizeof(*t->stay));
	if (at < t->stays) {
		struct remote_stay *next = &t->stay[at];

		next->since += gone.since;
		next->steps = next->steps >= 0 && gone.steps >= 0 ? next->steps + gone.steps : -1;
	} else {
		t->base -= gone.since;
		t->steps = t->steps >= 0 && gone.steps >= 0 ? t->steps + gone.steps : -1;
	}
	remote_copy_drop(&gone.copy);
}

void remote_stay_forget(struct remote_travel *t)
{
	remote_copy_drop(&t->stay[--t->stays].copy);
}

int remote_stay_take_up(struct remote_travel *t, size_t at)
{
	return remote_stay_go_to(t, &t->stay[at]);
}

int remote_stay_go_to(struct remote_travel *t, const struct remote_stay *stay)
{
	struct remote_process process;
	int rc = remote_copy_take_up(&stay->copy, &t->slot->copy, &process);

	if (rc)
		return rc;
	remote_process_kill(&t->live);
	remote_travel_drain(t);
	remote_stay_forget_word(t);
	t->live = process;
	t->slot->pid = process.pid;
	t->printed = stay->printed;
	t->base = remote_process_cpu(&t->live);
	t->steps = 0;
	return 0;
}

/* Seconds of processor time from the first stay to this one. */
static double age(const struct remote_travel *t, size_t at)
{
	double sum = remote_process_cpu(&t->live) - t->base;

	for (size_t i = t->stays; i > at + 1; i--)
		sum += t->stay[i - 1].since;
	return sum;
}

void remote_stay_thin(struct remote_travel *t)
{
	for (size_t i = t->stays; i-- > 1 && t->stays > FEW;) {
		if (i + 1 >= t->stays)
			continue;
		if (t->stay[i].since + t->stay[i + 1].since < SPARSE * age(t, i) || t->stays > MOST)
			remote_stay_remove(t, i);
	}
}
