/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches a job that records along a prelude. Its ranks count their events in the session's state,
 * and failed polls past the cut. It is a deadlock when all that have not ended are inside calls and
 * it is proven that none of these will return (explore-stuck.c), or at the latest when nothing has
 * changed for the user's patience. A rank that polls is not stuck: it runs. If nothing else
 * happens, the run is ended all the same, and the finding says so.
 */
#include "replay/explore.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "launch/front.h"
#include "replay/job.h"

#define NAP_NS 5000000
#define NAMED 8  /* ranks, of those that do the same */
#define GROUPS 6 /* of ranks that do the same, that are told */

static uint64_t progress(const struct replay_front *f)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->ranks; i++)
		sum += f->state->slot[i].events + f->state->slot[i].state + f->state->slot[i].sync;
	return sum;
}

static void note_polls(const struct replay_front *f, uint64_t polls[])
{
	for (size_t i = 0; i < f->ranks; i++)
		polls[i] = __atomic_load_n(&f->state->slot[i].polls, __ATOMIC_RELAXED);
}

static bool is_in_call(const struct replay_slot *slot)
{
	return slot->state == REPLAY_RUNNING && slot->events & 1;
}

static bool has_polled(const struct replay_slot *slot, uint64_t polls)
{
	return slot->state == REPLAY_RUNNING && !(slot->events & 1) &&
	       __atomic_load_n(&slot->polls, __ATOMIC_RELAXED) != polls;
}

/* How many ranks are in calls, and how many poll; false if there are others. */
static bool count_waiting(const struct replay_front *f, const uint64_t polls[], size_t *in_call,
			  size_t *polling)
{
	size_t gone = 0;

	*in_call = *polling = 0;
	for (size_t i = 0; i < f->ranks; i++) {
		*in_call += is_in_call(&f->state->slot[i]);
		*polling += has_polled(&f->state->slot[i], polls[i]);
		gone += f->state->slot[i].state == REPLAY_GONE;
	}
	return *in_call + *polling + gone == f->ranks;
}

static char *append(char *text, char *more, const char *between)
{
	char *joined = rp_format("%s%s%s", text ? text : "", text ? between : "", more);

	free(text);
	free(more);
	return joined;
}

/* Ranks that do the same in the same place are named together. */
struct doing {
	const struct replay_front *f;
	const uint64_t *polls;
};

static bool do_the_same(const struct doing *d, size_t a, size_t b)
{
	const struct replay_slot *x = &d->f->state->slot[a], *y = &d->f->state->slot[b];
	bool polled = has_polled(x, d->polls[a]);

	if (is_in_call(x) != is_in_call(y) || polled != has_polled(y, d->polls[b]))
		return false;
	if (!is_in_call(x) && !polled)
		return x->state == y->state;
	return x->call == y->call && x->peer == y->peer && x->tag == y->tag && x->site == y->site;
}

static char *what_it_does(const struct doing *d, size_t rank)
{
	const struct replay_slot *slot = &d->f->state->slot[rank];
	char *wait, *text;

	if (slot->state != REPLAY_RUNNING)
		return rp_strdup("not in MPI");
	if (!is_in_call(slot) && !has_polled(slot, d->polls[rank]))
		return rp_format("computes after event %lu", (unsigned long)(slot->events >> 1));
	wait = replay_wait_text(d->f, rank);
	if (is_in_call(slot))
		return wait;
	text = rp_format("still running, polling in %s", wait);
	free(wait);
	return text;
}

/* "rank 3", "ranks 1, 2": those from `first` on that do the same. */
static char *who_does(const struct doing *d, size_t first)
{
	char *names = NULL, *text;
	size_t n = 0;

	for (size_t i = first; i < d->f->ranks; i++) {
		if (d->f->state->slot[i].state == REPLAY_GONE || !do_the_same(d, first, i))
			continue;
		if (++n <= NAMED)
			names = append(names, rp_format("%zu", i), ", ");
	}
	if (n > NAMED)
		names = append(names, rp_format("%zu more", n - NAMED), " and ");
	text = rp_format("rank%s %s", n > 1 ? "s" : "", names);
	free(names);
	return text;
}

static bool is_first_of_its_kind(const struct doing *d, size_t rank)
{
	for (size_t i = 0; i < rank; i++) {
		if (d->f->state->slot[i].state != REPLAY_GONE && do_the_same(d, i, rank))
			return false;
	}
	return true;
}

/* What every rank does that has not ended. */
static char *tell_all(const struct doing *d, struct replay_finding *finding)
{
	size_t groups = 0, more = 0;
	char *text = NULL;

	for (size_t i = 0; i < d->f->ranks; i++) {
		char *who, *what;

		if (d->f->state->slot[i].state == REPLAY_GONE || !is_first_of_its_kind(d, i))
			continue;
		if (++groups > GROUPS) {
			more++;
			continue;
		}
		if (groups == 1)
			finding->rank = (unsigned)i;
		who = who_does(d, i);
		what = what_it_does(d, i);
		text = append(text, rp_format("%s: %s", who, what), "; ");
		free(who);
		free(what);
	}
	if (!text)
		return rp_strdup("all ranks have ended");
	return more ? append(text, rp_format("%zu more kinds", more), "; ") : text;
}

static void tell(const struct replay_front *f, const uint64_t polls[], enum replay_change change,
		 char *why, struct replay_finding *finding)
{
	struct doing d = {f, polls};

	finding->change = change;
	finding->text = append(why, tell_all(&d, finding), ": ");
}

/* A rank could not be started, or left the prelude before the cut. */
static bool has_failed(struct replay_front *f, struct replay_finding *finding)
{
	replay_session_read(f);
	for (size_t i = 0; i < f->ranks; i++) {
		if (!f->word[i].why)
			continue;
		finding->change = REPLAY_UNTOLD;
		finding->rank = (unsigned)i;
		finding->text = replay_word_text(f, i);
		return true;
	}
	if (faccessat(f->session_fd, "refused", 0, 0) != 0)
		return false;
	replay_report_refusal(f);
	finding->change = REPLAY_UNTOLD;
	finding->text = rp_strdup("a rank could not be started");
	return true;
}

static bool is_interrupted(void)
{
	int sig = launch_front_signal();

	return sig && sig != SIGUSR1 && sig != SIGUSR2;
}

struct watch {
	uint64_t *polls; /* of each rank, when something last happened */
	struct replay_stuck stuck;
	double start, changed;
};

/* Nothing has happened for a while: will it ever? */
static bool is_over(const struct replay_explore *x, const struct replay_front *f, struct watch *w,
		    struct replay_finding *finding)
{
	double silent = replay_now() - w->changed;
	size_t in_call, polling;
	bool all_wait = count_waiting(f, w->polls, &in_call, &polling);

	if (all_wait && !polling && in_call &&
	    (replay_is_stuck(&w->stuck, f, silent) || silent > x->patience)) {
		tell(f, w->polls, REPLAY_DEADLOCK, NULL, finding);
		return true;
	}
	if (all_wait && polling && silent > x->patience) {
		tell(f, w->polls, REPLAY_TIMEOUT, rp_format("nothing comes for %g s", x->patience),
		     finding);
		return true;
	}
	if (x->timeout > 0 && replay_now() - w->start > x->timeout) {
		tell(f, w->polls, REPLAY_TIMEOUT, rp_format("did not end within %g s", x->timeout),
		     finding);
		return true;
	}
	return false;
}

bool replay_explore_watch(const struct replay_explore *x, struct replay_front *f, pid_t pid,
			  struct replay_finding *finding, struct launch_ended *ended)
{
	struct watch w = {.polls = rp_alloc(f->ranks, sizeof(*w.polls)), .start = replay_now()};
	struct timespec nap = {0, NAP_NS};
	uint64_t seen = UINT64_MAX;
	bool alone = false;
	int status;

	replay_stuck_open(&w.stuck, f->ranks);
	while (!(alone = waitpid(pid, &status, WNOHANG) == pid)) {
		if (progress(f) != seen) {
			seen = progress(f);
			w.changed = replay_now();
			note_polls(f, w.polls);
			replay_stuck_changed(&w.stuck);
		}
		if (is_interrupted() || has_failed(f, finding) || is_over(x, f, &w, finding))
			break;
		nanosleep(&nap, NULL);
	}
	if (alone) {
		launch_front_ended(pid, status, ended);
		alone = !is_interrupted() && !has_failed(f, finding);
	} else {
		replay_end_job(f, pid, true);
		*ended = (struct launch_ended){true, SIGKILL, 0};
	}
	ended->seconds = replay_now() - w.start;
	replay_stuck_close(&w.stuck);
	free(w.polls);
	return alone;
}
