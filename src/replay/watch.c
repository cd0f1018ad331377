/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for a replayed job. Ranks at their end wait for each other, so the front decides: when all
 * have said their last word it lets those die that died when recorded, or ends the job if the
 * recording was cut off from outside. A job in which nothing can happen any more is ended too.
 */
#include "replay/front.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/held.h"
#include "base/log.h"
#include "base/mem.h"
#include "launch/front.h"
#include "replay/halt.h"
#include "replay/job.h"
#include "replay/unread.h"
#include "replay/pass.h"

#define NAP_MS 5
#define LOOK 0.05   /* seconds between two looks whether a debugger is at work */
#define STOPPED 2.0 /* seconds of a nap that was none: somebody had stopped us */
#define FIRST 3     /* a slot's events: inside the first one, which is MPI_Init */
#define QUIET 2.0   /* seconds without an event after which ranks without a goal are given up */

/* Threads of the rank that have yet to do what they did. */
static uint32_t todo(const struct replay_front *f, size_t rank)
{
	const struct replay_slot *slot = &f->state->slot[rank];

	return __atomic_load_n(&slot->todo, __ATOMIC_ACQUIRE) +
	       __atomic_load_n(&slot->todo_main, __ATOMIC_ACQUIRE);
}

/* Everything the ranks on this host have done, as one number that changes. */
static uint64_t progress(const struct replay_front *f)
{
	uint64_t sum = f->words;

	for (size_t i = 0; i < f->ranks; i++)
		sum += f->state->slot[i].events + f->state->slot[i].state + f->state->slot[i].sync -
		       todo(f, i);
	return sum;
}

bool replay_front_any(const struct replay_front *f, const char *why)
{
	for (size_t i = 0; i < f->ranks; i++) {
		if (f->word[i].why && strcmp(f->word[i].why, why) == 0)
			return true;
	}
	return false;
}

/* Its recording has no end: it was killed. */
static bool was_cut_off(const struct replay_front *f, size_t rank)
{
	return f->state->slot[rank].flags & REPLAY_CUT;
}

/*
 * Has said no last word, and cannot get further than the recording did. A slot without events may
 * belong to a script whose program has not started yet.
 */
static bool is_at_cut(const struct replay_front *f, size_t rank)
{
	const struct replay_slot *slot = &f->state->slot[rank];

	return slot->state == REPLAY_RUNNING && slot->events == slot->limit &&
	       was_cut_off(f, rank) && !todo(f, rank) &&
	       (slot->events > 0 || f->run->rank[rank].events == 0);
}

static bool computes_past_end(const struct replay_front *f, size_t rank)
{
	return is_at_cut(f, rank) && !(f->state->slot[rank].events & 1);
}

/* The launcher has killed it inside of the same call. */
static bool ended_within_call(const struct replay_front *f, size_t rank)
{
	return is_at_cut(f, rank) && f->state->slot[rank].events & 1;
}

/* Waits in a call or, as far as we can tell, for a thread that will not get any further. */
static bool waits(const struct replay_front *f, size_t rank)
{
	const struct replay_slot *slot = &f->state->slot[rank];

	return slot->state == REPLAY_RUNNING && ((slot->events & 1) || slot->parked);
}

static bool is_word(const struct replay_front *f, size_t rank, const char *why)
{
	return f->word[rank].why && strcmp(f->word[rank].why, why) == 0;
}

/*
 * Its main thread is at the end of its recording, or waits. Other threads may still have something
 * to do, and only we would notice if they do not get there.
 */
static bool has_busy_threads(const struct replay_front *f, size_t rank)
{
	if (f->word[rank].why)
		return is_word(f, rank, REPLAY_WHY_END) && todo(f, rank);
	return f->state->slot[rank].state == REPLAY_RUNNING &&
	       (waits(f, rank) ? f->state->slot[rank].todo : was_cut_off(f, rank) && todo(f, rank));
}

/* Has the replay had the time for what the run did until it was killed? */
static bool took_long_enough(const struct replay_front *f, double elapsed)
{
	double recorded = f->run->meta.seconds;

	return recorded > 0 && elapsed > 1.5 * recorded + QUIET;
}

/* It is about to die, or to exit without MPI_Finalize, as recorded, and waits for the others. */
static bool is_to_die(const struct replay_front *f, size_t rank)
{
	return is_word(f, rank, REPLAY_WHY_SIGNAL) || is_word(f, rank, REPLAY_WHY_ABORT) ||
	       (is_word(f, rank, REPLAY_WHY_EXIT) && f->state->slot[rank].state != REPLAY_GONE);
}

static bool any_is_to_die(const struct replay_front *f)
{
	for (size_t i = 0; i < f->ranks; i++) {
		if (is_to_die(f, i))
			return true;
	}
	return false;
}

/* Nothing has moved for a while: can anything still move? */
static void judge_silence(struct replay_front *f, double silent, double elapsed)
{
	size_t waiting = 0, past = 0, busy = 0;

	for (size_t i = 0; i < f->ranks; i++) {
		if (has_busy_threads(f, i))
			busy++;
		else if (f->word[i].why)
			continue;
		else if (waits(f, i))
			waiting++;
		else if (computes_past_end(f, i))
			past++;
		else
			return;
	}
	if (busy) {
		f->stuck = silent > f->patience &&
			   (f->run->meta.seconds <= 0 || took_long_enough(f, elapsed));
	} else if (replay_front_any(f, REPLAY_WHY_STOP)) {
		f->past_end = silent > QUIET;
	} else if (past) {
		f->past_end =
			silent > f->patience || (silent > QUIET && took_long_enough(f, elapsed));
	} else if (waiting && !f->released && any_is_to_die(f)) {
		f->death_awaited = silent > QUIET;
	} else if (waiting) {
		f->stuck = silent > f->patience;
	}
}

static int recorded_code(const struct replay_front *f)
{
	const struct trace_meta *meta = &f->run->meta;

	if (meta->ended == TRACE_ENDED_EXIT)
		return meta->status;
	return 128 + (meta->ended == TRACE_ENDED_SIGNAL ? meta->status : SIGKILL);
}

/* Some ranks die by themselves now, and the launcher takes the rest with it. */
static bool ends_by_itself(const struct replay_front *f)
{
	if (replay_front_any(f, REPLAY_WHY_SIGNAL) || replay_front_any(f, REPLAY_WHY_ABORT))
		return true;
	if (f->past_end || replay_front_any(f, REPLAY_WHY_END) ||
	    replay_front_any(f, REPLAY_WHY_STOP)) {
		for (size_t i = 0; i < f->ranks; i++) {
			const struct replay_word *w = &f->word[i];

			if (w->why && strcmp(w->why, REPLAY_WHY_EXIT) == 0 && w->value != 0)
				return true;
		}
		return false;
	}
	return true;
}

/* Have the ranks whose recording has no end done all that they did in the recording? */
static bool is_all_done(struct replay_front *f)
{
	bool threads = false;

	for (size_t i = 0; i < f->ranks; i++) {
		if (!is_word(f, i, REPLAY_WHY_END))
			continue;
		threads |= f->run->rank[i].threads > 1;
		if (todo(f, i)) {
			f->done_at = 0;
			return false;
		}
	}
	if (!f->done_at)
		f->done_at = replay_now();
	return !threads || replay_now() - f->done_at > REPLAY_LAST;
}

/* Reports why the job has to end, and the exit code for it; -1 to go on. */
static int verdict(struct replay_front *f)
{
	if (f->unserved)
		return f->unserved;
	if (replay_front_any(f, REPLAY_WHY_DIVERGED))
		return replay_unread_or(f, replay_report_divergence);
	if (replay_front_any(f, REPLAY_WHY_FAILURE)) {
		replay_report_failure(f);
		return RP_EXIT_BAD_INPUT;
	}
	if (replay_report_refusal(f))
		return RP_EXIT_BAD_INPUT;
	if (f->stuck)
		return replay_unread_or(f, replay_report_stuck);
	if ((f->death_awaited || f->past_end || (f->words == f->ranks && is_all_done(f))) &&
	    replay_halt_at_end(f))
		return -1;
	/* The others may wait for just that: some calls end when a partner has died. */
	if (f->death_awaited && !f->released)
		replay_session_release(f);
	if (!f->past_end && (f->words < f->ranks || !is_all_done(f)))
		return -1;
	if (!f->released)
		replay_session_release(f);
	if (ends_by_itself(f))
		return -1;
	f->complete = true;
	if (!f->pass)
		replay_report_end(f);
	return replay_front_any(f, REPLAY_WHY_STOP) ? RP_EXIT_FAILURE : recorded_code(f);
}

/* Did every rank end as it did when it was recorded? */
static bool ended_as_recorded(const struct replay_front *f)
{
	for (size_t i = 0; i < f->ranks; i++) {
		const struct trace_run_stream *last = f->run->rank[i].last;
		const struct replay_word *w = &f->word[i];

		if (!w->why && f->death_awaited && ended_within_call(f, i))
			continue;
		if (!w->why)
			return false;
		if (strcmp(w->why, REPLAY_WHY_ABSENT) == 0 ||
		    (strcmp(w->why, REPLAY_WHY_END) == 0 && !todo(f, i)))
			continue;
		if (!last || (uint64_t)w->value != last->end_value)
			return false;
	}
	return true;
}

/* The exit code for a signal that was to end us, or 0. */
static int code_of_signal(void)
{
	int sig = launch_front_signal();

	return sig && sig != SIGUSR1 && sig != SIGUSR2 ? 128 + sig : 0;
}

/*
 * The job has ended; last words that come late still count. A launcher's own exit status may depend
 * on the order in which it noticed that its ranks died. So we judge by how the ranks ended.
 */
static int code_at_end(struct replay_front *f, int status)
{
	struct launch_ended ended = {0};
	int code = code_of_signal();

	replay_session_read(f);
	if (code) {
		replay_job_clear(f, NULL, 0);
		return ended_as_recorded(f) ? recorded_code(f) : code;
	}
	if (replay_front_any(f, REPLAY_WHY_DIVERGED))
		return replay_unread_or(f, replay_report_divergence);
	if (replay_front_any(f, REPLAY_WHY_FAILURE)) {
		replay_report_failure(f);
		return RP_EXIT_BAD_INPUT;
	}
	if (replay_report_refusal(f))
		return RP_EXIT_BAD_INPUT;
	launch_front_ended(0, status, &ended);
	f->complete = ended_as_recorded(f);
	if (f->run->meta.ended != TRACE_ENDED_UNKNOWN && f->complete)
		return recorded_code(f);
	if (f->death_awaited && f->words < f->ranks)
		return replay_unread_or(f, replay_report_left_behind);
	code = launch_ended_code(&ended);
	if (code == recorded_code(f) && replay_report_unseen_run(f))
		return RP_EXIT_DIVERGED;
	if (f->ranks == 1 && f->run->meta.ended != TRACE_ENDED_UNKNOWN &&
	    code != recorded_code(f)) {
		if (replay_unread(f)) {
			replay_unread_say();
			return code;
		}
		replay_report_other_status(f, code, recorded_code(f));
		return RP_EXIT_DIVERGED;
	}
	return code;
}

/*
 * All ranks have said their last word, and yet the job does not end. If a rank has ended well
 * although it was killed in the recording, something else started it, and that may run on for long.
 */
static bool lingers(const struct replay_front *f, double since, double elapsed)
{
	bool outlived = false;

	if (f->words < f->ranks && f->death_awaited && !f->past_end)
		return false;
	if (since > f->patience)
		return true;
	if (replay_front_any(f, REPLAY_WHY_SIGNAL) || replay_front_any(f, REPLAY_WHY_ABORT))
		return false;
	for (size_t i = 0; i < f->ranks; i++) {
		const struct replay_word *w = &f->word[i];

		if (!w->why || strcmp(w->why, REPLAY_WHY_EXIT) != 0 || w->value != 0)
			return false;
		outlived = outlived || was_cut_off(f, i);
	}
	return outlived && since > QUIET && took_long_enough(f, elapsed);
}

static void report_lingering(const struct replay_front *f)
{
	for (size_t i = 0; i < f->ranks; i++) {
		if (was_cut_off(f, i)) {
			replay_report_end(f);
			return;
		}
	}
	rp_say("all ranks reached their recorded end, but the launcher runs on; Reprise ends it");
}

/* A debugger is at work on this host: gdb that is attached to a rank, at its prompt. */
static bool any_is_held(const struct replay_front *f)
{
	for (size_t i = 0; i < f->ranks; i++) {
		int rank_pid = f->state->slot[i].pid;

		if (rp_held(rank_pid) && replay_job_is_ours(f, rank_pid))
			return true;
	}
	return false;
}

/*
 * Pages that ranks in their first call have. In MPI_Init libraries are loaded, which may take a
 * minute and makes no event. A rank that waits there for others gets no more.
 */
static uint64_t loaded(const struct replay_front *f)
{
	uint64_t pages = 0;

	for (size_t i = 0; i < f->ranks; i++) {
		if (f->state->slot[i].events == FIRST)
			pages += replay_process_pages(f->state->slot[i].pid);
	}
	return pages;
}

/*
 * The clock of patience: it stands still while a debugger holds a rank, and while we were stopped
 * ourselves. Ranks are asked only when they are silent.
 */
struct stopwatch {
	double looked; /* at the time of day */
	double stood;
	double last_change;
	uint64_t seen, loaded;
};

static double stopwatch_now(struct stopwatch *s, const struct replay_front *f)
{
	double day = replay_now(), passed = day - s->looked;
	uint64_t before = s->loaded;

	if (progress(f) != s->seen) {
		s->seen = progress(f);
		s->last_change = day - s->stood;
	}
	if (passed < LOOK)
		return day - s->stood;
	s->looked = day;
	if (passed > STOPPED) {
		s->stood += passed;
	} else if (day - s->stood - s->last_change > LOOK) {
		s->loaded = loaded(f);
		if (s->loaded != before)
			s->last_change = day - s->stood;
		else if (any_is_held(f))
			s->stood += passed;
	}
	return day - s->stood;
}

/* Or until the job ends, which is told once: a tracer may have it first. */
static void nap(int *ends)
{
	struct pollfd p = {.fd = *ends, .events = POLLIN};

	if (poll(&p, 1, NAP_MS) <= 0)
		return;
	close(*ends);
	*ends = -1;
}

static int watch(struct replay_front *f, pid_t pid, int *ends)
{
	double start = replay_now(), released_at = 0, at;
	struct stopwatch watch = {.looked = start, .last_change = start};
	int status, code;

	for (;;) {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			launch_front_forget(pid);
			code = code_at_end(f, status);
			replay_halt_finish(f);
			return code;
		}
		if (replay_halt_is_over(f)) {
			replay_end_job(f, pid, true);
			return f->halt->gdb_status;
		}
		/* The user has had enough: what the ranks say now is about that. */
		if (code_of_signal()) {
			if (!replay_wait_until(pid, &status, replay_now() + REPLAY_GRACE))
				replay_end_job(f, pid, true);
			else
				replay_job_clear(f, NULL, 0);
			return code_of_signal();
		}
		replay_session_read(f);
		at = stopwatch_now(&watch, f);
		if (!replay_halt_look(f, at - watch.last_change))
			judge_silence(f, at - watch.last_change, at - start);
		code = verdict(f);
		if (code >= 0) {
			replay_halt_finish(f);
			if ((f->stuck || f->past_end) && f->pass && f->pass->ending)
				f->pass->ending(f);
			replay_end_job(f, pid, code != RP_EXIT_BAD_INPUT);
			return code;
		}
		if (f->released && !released_at)
			released_at = at;
		if (released_at && lingers(f, at - released_at, at - start)) {
			f->complete = true;
			if (!f->pass)
				report_lingering(f);
			replay_end_job(f, pid, true);
			return recorded_code(f);
		}
		if (f->watching)
			f->watching(f);
		nap(ends);
	}
}

int replay_watch(struct replay_front *f, pid_t pid)
{
	int ends = (int)syscall(SYS_pidfd_open, pid, 0);
	int code = watch(f, pid, &ends);

	if (ends >= 0)
		close(ends);
	return code;
}
