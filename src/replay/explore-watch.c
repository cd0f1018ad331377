/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches a job that records along a prelude. Its ranks count their events in the session's state,
 * and failed polls past the cut: a rank that is inside a call, or that does nothing but poll,
 * waits. When all that have not ended wait, and for some time none has begun or ended an event,
 * nothing will come any more: that is a deadlock.
 */
#include "replay/explore.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "launch/front.h"

#define NAP_NS 5000000
#define NAMED 3 /* ranks whose waits are told */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

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

static bool waits(const struct replay_slot *slot, uint64_t polls)
{
	return slot->state == REPLAY_RUNNING &&
	       ((slot->events & 1) || __atomic_load_n(&slot->polls, __ATOMIC_RELAXED) != polls);
}

static bool is_deadlocked(const struct replay_front *f, const uint64_t polls[])
{
	size_t waiting = 0, gone = 0;

	for (size_t i = 0; i < f->ranks; i++) {
		waiting += waits(&f->state->slot[i], polls[i]);
		gone += f->state->slot[i].state == REPLAY_GONE;
	}
	return waiting && waiting + gone == f->ranks;
}

static char *append(char *text, char *more)
{
	char *joined = rp_format("%s%s%s", text ? text : "", text ? "; " : "", more);

	free(text);
	free(more);
	return joined;
}

static void tell_deadlock(const struct replay_front *f, struct replay_finding *finding)
{
	size_t named = 0, more = 0;
	char *text = NULL;

	for (size_t i = 0; i < f->ranks; i++) {
		const struct replay_slot *slot = &f->state->slot[i];
		char *wait;

		if (slot->state != REPLAY_RUNNING)
			continue;
		if (++named > NAMED) {
			more++;
			continue;
		}
		if (named == 1)
			finding->rank = (unsigned)i;
		wait = slot->events & 1 ? replay_wait_text(f, i) : rp_strdup("polls in vain");
		text = append(text, rp_format("rank %zu: %s", i, wait));
		free(wait);
	}
	if (more)
		text = append(text, rp_format("%zu more", more));
	finding->change = REPLAY_DEADLOCK;
	finding->text = text;
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

static bool has_to_end(const struct replay_explore *x, struct replay_front *f, double silent,
		       double elapsed, const uint64_t polls[], struct replay_finding *finding)
{
	if (is_interrupted() || has_failed(f, finding))
		return true;
	if (silent > x->patience && is_deadlocked(f, polls)) {
		tell_deadlock(f, finding);
		return true;
	}
	if (x->timeout > 0 && elapsed > x->timeout) {
		finding->change = REPLAY_TIMEOUT;
		finding->text = rp_format("not done after %g s", x->timeout);
		return true;
	}
	return false;
}

bool replay_explore_watch(const struct replay_explore *x, struct replay_front *f, pid_t pid,
			  struct replay_finding *finding, struct launch_ended *ended)
{
	uint64_t *polls = rp_alloc(f->ranks, sizeof(*polls)), seen = 0;
	double start = now(), changed = start;
	struct timespec nap = {0, NAP_NS};
	bool alone = false;
	int status;

	while (!(alone = waitpid(pid, &status, WNOHANG) == pid)) {
		if (progress(f) != seen) {
			seen = progress(f);
			changed = now();
			note_polls(f, polls);
		}
		if (has_to_end(x, f, now() - changed, now() - start, polls, finding))
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
	ended->seconds = now() - start;
	free(polls);
	return alone;
}
