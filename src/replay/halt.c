/* SPDX-License-Identifier: Apache-2.0 */
/* The front's part of a halt: has everybody come to his place, and then the pause. */
#include "replay/halt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/held.h"
#include "base/log.h"
#include "base/mem.h"
#include "launch/front.h"
#include "replay/alone.h"
#include "replay/job.h"
#include "replay/log.h"
#include "replay/output.h"
#include "replay/pass.h"
#include "replay/where.h"

#define SETTLED 0.1 /* seconds in which nothing moves, when all are at their places */
#define SILENT 1.0  /* and when some are not */
#define TAKES_TO_STOP 0.5
#define TAKES_TO_ATTACH 10.0
#define COMPUTES 3.0 /* and when a thread beside the one that is there computes */

int replay_halt_tell(const struct replay_front *f)
{
	const struct replay_halt *h = f->halt;
	int rc = 0;

	for (size_t i = 0; i < f->ranks && !rc; i++) {
		char *name = rp_format("halt-%04zu", i);
		bool wanted = h->kind != REPLAY_TO_START || !h->debug || i == h->debugged;

		if (h->places[i])
			rc = replay_pass_write(f->session_fd, name, h->places[i]);
		f->state->slot[i].halt = wanted ? h->flags : REPLAY_HALT_OPEN;
		free(name);
	}
	if (rc)
		rp_say("cannot write into the session: %s", strerror(-rc));
	return rc ? RP_EXIT_FAILURE : 0;
}

static const struct replay_slot *slot_of(const struct replay_front *f, size_t rank)
{
	return &f->state->slot[rank];
}

static bool is_halted(const struct replay_front *f, size_t rank)
{
	return __atomic_load_n(&slot_of(f, rank)->halted, __ATOMIC_ACQUIRE);
}

static bool is_target_there(const struct replay_front *f)
{
	const struct replay_halt *h = f->halt;
	unsigned rank = h->debug && h->kind == REPLAY_TO_START ? h->debugged : h->rank;

	if (!replay_alone_is_in(f, rank))
		return true;
	if (!is_halted(f, rank))
		return false;
	return h->kind == REPLAY_TO_START || strcmp(h->thread, "0") != 0 ||
	       h->flags & (REPLAY_HALT_OPERATIONS | REPLAY_HALT_CALLS) ||
	       slot_of(f, rank)->events >> 1 == h->event;
}

/* Others of which nothing more is to be expected. */
static bool is_quiet(const struct replay_front *f, size_t rank)
{
	return is_halted(f, rank) || f->word[rank].why || slot_of(f, rank)->events & 1;
}

static bool all_are(const struct replay_front *f,
		    bool (*so)(const struct replay_front *f, size_t rank))
{
	for (size_t i = 0; i < f->ranks; i++) {
		if (!so(f, i))
			return false;
	}
	return true;
}

static bool is_at_place(const struct replay_front *f, size_t rank)
{
	return is_halted(f, rank) || f->word[rank].why;
}

/*
 * Nothing moves any more: each has one thread, which stands. There is no launcher on whose way
 * something printed could still be.
 */
static bool all_are_fixed(const struct replay_front *f)
{
	for (size_t i = 0; i < f->ranks; i++) {
		const struct trace_run_rank *rank = &f->run->rank[i];

		if (replay_alone_is_in(f, i) &&
		    (rank->threads > 1 || rank->processes > 1 || !is_at_place(f, i)))
			return false;
	}
	return f->image != NULL;
}

/* Who has no place of his own goes on beside. */
static bool needs_only_target(const struct replay_halt *h)
{
	return h->debug && (h->kind == REPLAY_TO_START || h->debugged == h->rank);
}

/* Threads of a program without MPI go on until they wait. Whoever waits for another one sleeps. */
static bool computes(const struct replay_front *f)
{
	return f->halt->flags & REPLAY_HALT_OPERATIONS && rp_runs(slot_of(f, f->halt->rank)->pid);
}

static bool has_arrived(struct replay_front *f, double silent)
{
	struct replay_halt *h = f->halt;
	bool there = is_target_there(f);

	if (there && all_are_fixed(f))
		return true;
	if (there && (needs_only_target(h) || all_are(f, is_at_place)))
		return silent > SETTLED &&
		       (silent > COMPUTES || silent > f->patience / 2 || !computes(f));
	if (silent < SILENT || !all_are(f, is_quiet))
		return false;
	if (h->stage)
		return there;
	h->stage = 1;
	for (size_t i = 0; i < f->ranks; i++)
		__atomic_store_n(&f->state->slot[i].stage, 1, __ATOMIC_RELEASE);
	return false;
}

void replay_halt_let_go(struct replay_front *f)
{
	f->unserved = replay_log_serve_rest(f);
	if (f->unserved)
		rp_say("the ranks are ended where they stand: what they received next is not "
		       "there to be served");
	for (size_t i = 0; i < f->ranks && !f->unserved; i++)
		__atomic_store_n(&f->state->slot[i].go, REPLAY_GO, __ATOMIC_RELEASE);
}

/* What the rank is about; the caller frees. */
static char *state_of(const struct replay_front *f, size_t rank)
{
	const struct replay_slot *slot = slot_of(f, rank);
	const struct replay_word *w = &f->word[rank];
	unsigned long event = (unsigned long)(slot->events >> 1);
	char *place, *text;

	if (w->why && strcmp(w->why, REPLAY_WHY_EXIT) == 0)
		return rp_format("ends with status %d", (int)w->value);
	if (w->why && strcmp(w->why, REPLAY_WHY_SIGNAL) == 0) {
		place = replay_place_text(w);
		text = rp_format("dies of signal %d%s", (int)w->value, place);
	} else if (slot->events & 1) {
		place = replay_wait_text(f, rank);
		text = rp_format("%s %zu@%lu, %s", is_halted(f, rank) ? "at" : "waits in", rank,
				 event, place);
	} else {
		place = replay_where_main(f, rank);
		text = event ? rp_format("behind %zu@%lu%s", rank, event, place)
			     : rp_format("runs%s", place);
	}
	free(place);
	return text;
}

static void say_rank(const struct replay_front *f, struct replay_where *where, size_t rank)
{
	char *text = state_of(f, rank), *others = replay_where_threads(where, f, rank, "0");

	rp_say("  rank %zu, pid %d, %s", rank, slot_of(f, rank)->pid, text);
	replay_where_say_lines(others);
	free(others);
	free(text);
}

static void say_where(const struct replay_front *f)
{
	static const char *const words[] = {
		[REPLAY_TO_START] = "before main",
		[REPLAY_TO_CRASH] = "at the crash",
		[REPLAY_TO_END] = "at the end",
	};
	const struct replay_halt *h = f->halt;
	struct replay_where where = {0};

	replay_output_end_line(f);
	if (h->kind == REPLAY_TO_POSITION && strcmp(h->thread, "0") == 0)
		rp_say("stopped at %u@%lu", h->rank, (unsigned long)h->event);
	else if (h->kind == REPLAY_TO_POSITION)
		rp_say("stopped at %u.%s@%lu", h->rank, h->thread, (unsigned long)h->event);
	else
		rp_say("stopped %s", words[h->kind]);
	for (size_t i = 0; i < f->ranks; i++) {
		if (replay_alone_is_in(f, i))
			say_rank(f, &where, i);
	}
	rp_say("look with 'gdb -p PID'; %s goes on, ctrl-C ends it",
	       isatty(STDIN_FILENO) ? "Enter" : "a line on standard input");
}

/* True once a line has come. */
static bool is_told_to_go(void)
{
	static bool at_end;
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	char bytes[256];
	ssize_t n;

	if (at_end || poll(&p, 1, 0) <= 0)
		return false;
	n = read(STDIN_FILENO, bytes, sizeof(bytes));
	at_end = n <= 0;
	if (at_end)
		rp_say("standard input has ended: the ranks stay there until 'kill %d' ends it",
		       (int)getpid());
	return n > 0 && memchr(bytes, '\n', (size_t)n);
}

static void arrive(struct replay_front *f)
{
	struct replay_halt *h = f->halt;

	h->arrived = true;
	if (h->visit)
		h->over = !h->visit(f, h->visitor);
	else if (h->debug)
		replay_halt_debug(f);
	else
		say_where(f);
}

/*
 * Has gdb stopped all threads? It attaches to one after the other, and each stops a moment later.
 * When that is over, it may already have let them go on. A thread that it cannot attach to is not
 * waited for for ever.
 */
static bool has_gdb(struct replay_halt *h, int pid)
{
	double now = replay_now();

	if (!rp_traced(pid))
		return false;
	if (!h->traced_at)
		h->traced_at = now;
	if (!h->all_traced_at && rp_all_traced(pid))
		h->all_traced_at = now;
	return rp_all_held(pid) || now - h->traced_at > TAKES_TO_ATTACH ||
	       (h->all_traced_at && now - h->all_traced_at > TAKES_TO_STOP);
}

/* gdb is attached: nobody has to be stopped by us any more. */
static void look_at_gdb(struct replay_front *f)
{
	struct replay_halt *h = f->halt;
	struct replay_slot *slot = &f->state->slot[h->debugged];
	const struct replay_word *w = &f->word[h->debugged];
	bool at_end = h->kind == REPLAY_TO_CRASH || h->kind == REPLAY_TO_END;

	if (!h->attached && has_gdb(h, slot->pid)) {
		h->attached = true;
		if (!at_end)
			replay_halt_let_go(f);
		else if (w->why && strcmp(w->why, REPLAY_WHY_SIGNAL) == 0)
			__atomic_store_n(&slot->go, REPLAY_GO_TO_DEATH, __ATOMIC_RELEASE);
	}
	if (!h->attached)
		return;
	h->over = !at_end || kill(slot->pid, 0) != 0;
}

bool replay_halt_is_over(struct replay_front *f)
{
	struct replay_halt *h = f->halt;
	int status;

	if (h && h->visit)
		return h->leave;
	if (!h || !h->gdb || waitpid(h->gdb, &status, WNOHANG) != h->gdb)
		return h && h->debug && h->arrived && !h->gdb;
	h->gdb = 0;
	h->gdb_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return true;
}

bool replay_halt_look(struct replay_front *f, double silent)
{
	struct replay_halt *h = f->halt;

	if (!h || h->over)
		return false;
	if (!h->arrived && (h->kind == REPLAY_TO_CRASH || h->kind == REPLAY_TO_END))
		return false;
	if (!h->arrived && has_arrived(f, silent))
		arrive(f);
	if (!h->arrived)
		return all_are(f, is_quiet) && silent < f->patience;
	if (h->over)
		return false;
	if (h->visit)
		h->over = !h->visit(f, h->visitor);
	else if (h->debug)
		look_at_gdb(f);
	else if (is_told_to_go())
		h->over = true;
	if (h->over)
		replay_halt_let_go(f);
	return !h->over;
}

bool replay_halt_at_end(struct replay_front *f)
{
	struct replay_halt *h = f->halt;

	if (!h || h->over || (!h->visit && h->kind != REPLAY_TO_CRASH && h->kind != REPLAY_TO_END))
		return false;
	if (!h->arrived)
		arrive(f);
	return true;
}

void replay_halt_finish(struct replay_front *f)
{
	struct timespec nap = {0, 20000000};

	while (f->halt && f->halt->gdb && !replay_halt_is_over(f))
		nanosleep(&nap, NULL);
}

/* How many calls there are is known at the end. */
static bool never_came(const struct replay_front *f, int code)
{
	return f->halt && !f->halt->arrived && f->halt->flags & REPLAY_HALT_CALLS &&
	       code != RP_EXIT_DIVERGED && code != RP_EXIT_FAILURE && !launch_front_signal();
}

int replay_halt_code(const struct replay_front *f, int code)
{
	if (never_came(f, code)) {
		rp_say("rank %u never came to event %lu: it has fewer of them (calls that Reprise "
		       "stands in for)",
		       f->halt->rank, (unsigned long)f->halt->event);
		return RP_EXIT_BAD_INPUT;
	}
	if (!f->halt || !f->halt->debug || !f->halt->arrived || code == RP_EXIT_DIVERGED)
		return code;
	return f->halt->gdb_status;
}
