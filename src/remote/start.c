/* SPDX-License-Identifier: Apache-2.0 */
/* What the rank prints goes through a pipe, so that it is shown once however often it is printed.
 */
#include "remote/start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "launch/front.h"
#include "replay/alone.h"
#include "replay/from.h"

#define LIST_MOST 100000 /* a list that is longer is none */

static const uint64_t all_signals = ~0ull;

static bool is_halted(void *context)
{
	struct remote_travel *t = context;

	return __atomic_load_n(&t->slot->halted, __ATOMIC_ACQUIRE) || remote_travel_at_end(t) ||
	       t->wake(t->context);
}

bool remote_start_is_over(void *context)
{
	struct remote_travel *t = context;

	return remote_travel_at_end(t) || t->wake(t->context);
}

int remote_start_say_lost(struct remote_travel *t)
{
	replay_session_read(t->front);
	if (replay_report_refusal(t->front))
		return RP_EXIT_BAD_INPUT;
	if (replay_front_any(t->front, REPLAY_WHY_DIVERGED)) {
		replay_report_divergence(t->front);
		return RP_EXIT_DIVERGED;
	}
	rp_say("the replay ended before it came to the program");
	return RP_EXIT_FAILURE;
}

/* From the halt in our own code on to that of the program. */
static int go_to(struct remote_travel *t, uint64_t address)
{
	struct remote_run how = {.number = 1,
				 .mark = address,
				 .wake = remote_start_is_over,
				 .context = t,
				 .quiet = &all_signals};
	struct remote_stop stop;

	__atomic_store_n(&t->slot->go, REPLAY_GO, __ATOMIC_RELEASE);
	remote_process_run(&t->live, &how, &stop);
	return stop.kind == REMOTE_MARK ? 0 : remote_start_say_lost(t);
}

static int come_to_program(struct remote_travel *t)
{
	struct remote_run how = {
		.number = 1, .wake = is_halted, .context = t, .quiet = &all_signals};
	struct remote_stop stop;

	remote_process_run(&t->live, &how, &stop);
	if (stop.kind != REMOTE_TOLD || !t->slot->halted)
		return remote_start_say_lost(t);
	return go_to(t, t->slot->program);
}

int remote_start_process(struct remote_travel *t)
{
	struct replay_front *f = t->front;
	struct replay_traced traced = {.output = t->output_to};
	int gate[2], code, rc;
	pid_t pid;

	if (pipe2(gate, O_CLOEXEC) != 0) {
		rp_say("cannot make a pipe: %s", strerror(errno));
		return RP_EXIT_FAILURE;
	}
	/* What another process has made is not there yet. */
	remote_files_put_back(&(struct remote_process){.home = &t->home},
			      &(struct remote_files){0});
	traced.gate = gate[0];
	f->traced = &traced;
	code = replay_start(f, &pid);
	f->traced = NULL;
	close(gate[0]);
	if (!code)
		launch_front_forget(pid); /* gdb sends it signals */
	rc = code ? 0 : remote_process_seize(&t->live, pid);
	if (rc) {
		rp_say("cannot trace the process: %s; see 'reprise doctor'", strerror(-rc));
		code = RP_EXIT_FAILURE;
	}
	t->live.home = &t->home;
	t->live.turns = t->slot->halt & REPLAY_HALT_TURNS && !f->alone;
	t->live.turn = t->live.taken = 1;
	if (!code && write(gate[1], "", 1) != 1)
		errno = 0;
	close(gate[1]);
	t->focus = 1;
	t->part++;
	return code;
}

/* Where the hooks have a thread in their list, or 0. */
static uint64_t find_listed(const struct remote_travel *t, int tid)
{
	const struct replay_threads *list = &t->slot->threads;
	const struct remote_process *p = &t->live;
	uint64_t at = 0;
	int one;

	if (!list->first || remote_process_read(p, list->first, &at, sizeof(at)) != sizeof(at))
		return 0;
	for (size_t n = 0; at && n < LIST_MOST; n++) {
		if (remote_process_read(p, at + list->tid, &one, sizeof(one)) == sizeof(one) &&
		    one == tid)
			return at;
		if (remote_process_read(p, at + list->next, &at, sizeof(at)) != sizeof(at))
			return 0;
	}
	return 0;
}

bool remote_travel_name(const struct remote_travel *t, const struct remote_thread *thread,
			char name[REPLAY_NAME_BYTES + 1])
{
	uint64_t at = find_listed(t, thread->tid);
	size_t n;

	/* There is no list as long as there is only one. */
	if (!at && !t->slot->threads.first && thread->tid == t->live.pid) {
		strcpy(name, "0");
		return true;
	}
	n = at ? remote_process_read(&t->live, at + t->slot->threads.name, name, REPLAY_NAME_BYTES)
	       : 0;

	name[n] = '\0';
	return name[0] != '\0';
}

static bool is_listed(const struct remote_travel *t, int tid)
{
	return find_listed(t, tid) != 0;
}

/* What MPI's own threads would do is of no use to a rank alone, and depends on time. */
static void take_turns(struct remote_travel *t)
{
	for (size_t i = 0; t->front->alone && i < t->live.threads; i++) {
		struct remote_thread *one = &t->live.thread[i];

		if (one->number != t->focus && !is_listed(t, one->tid))
			one->wait = REMOTE_IDLE;
	}
	t->live.turns = true;
}

bool remote_start_has_children(const struct remote_travel *t)
{
	const struct trace_run_rank *rank = &t->front->run->rank[t->one];

	for (size_t i = 0; i < rank->unseens; i++) {
		if (strcmp(rank->unseen[i].key, "children") == 0)
			return true;
	}
	return false;
}

int remote_start_first(struct remote_travel *t)
{
	int code;

	t->slot->halt = REPLAY_HALT_START | REPLAY_HALT_END;
	if (!remote_start_has_children(t))
		t->slot->halt |= REPLAY_HALT_PRIVATE;
	if (t->front->run->rank[t->one].threads != 1)
		t->slot->halt |= REPLAY_HALT_TURNS;
	code = remote_start_process(t);
	if (!code)
		code = come_to_program(t);
	if (code)
		return code;
	if (t->slot->halt & REPLAY_HALT_TURNS)
		take_turns(t);
	else
		t->live.only = t->front->alone ? t->focus : 0;
	t->is_whole = true;
	remote_travel_open(t);
	return 0;
}

static void find_home(struct remote_travel *t)
{
	struct remote_home *home = &t->home;
	char link[32];
	ssize_t n;

	home->fd = t->front->session_fd;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", home->fd);
	n = readlink(link, home->path, sizeof(home->path) - 1);
	home->path[n > 0 ? n : 0] = '\0';
	snprintf(home->own, sizeof(home->own), "copy-%04u-", t->front->run->rank[t->one].rank);
}

int remote_start(struct remote_travel *t)
{
	static struct replay_traced none;
	struct replay_front *f = t->front;
	int output[2], code = replay_session_open(f, f->run->dir.path);

	if (code)
		return code;
	f->traced = &none;
	if (f->alone)
		code = replay_alone_prepare(f);
	f->traced = NULL;
	if (code)
		return code;
	t->slot = &f->state->slot[t->one];
	t->rereads = replay_from_rereads(f->run, t->one);
	if (pipe2(output, O_CLOEXEC) != 0 || fcntl(output[0], F_SETFL, O_NONBLOCK) != 0) {
		rp_say("cannot make a pipe: %s", strerror(errno));
		return RP_EXIT_FAILURE;
	}
	find_home(t);
	t->output = output[0];
	t->output_to = output[1];
	return remote_start_first(t);
}

void remote_start_close(struct remote_travel *t)
{
	remote_travel_close(t);
	if (t->front->session)
		replay_session_close(t->front);
}
