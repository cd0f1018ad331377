/* SPDX-License-Identifier: Apache-2.0 */
/* What the rank prints goes through a pipe, so that it is shown once however often it is printed.
 */
#include "remote/start.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "replay/alone.h"

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
	traced.gate = gate[0];
	f->traced = &traced;
	code = replay_start(f, &pid);
	f->traced = NULL;
	close(gate[0]);
	rc = code ? 0 : remote_process_seize(&t->live, pid);
	if (rc) {
		rp_say("cannot trace the process: %s; see 'reprise doctor'", strerror(-rc));
		code = RP_EXIT_FAILURE;
	}
	if (!code && write(gate[1], "", 1) != 1)
		errno = 0;
	close(gate[1]);
	t->focus = 1;
	t->part++;
	return code;
}

int remote_start_first(struct remote_travel *t)
{
	int code;

	t->slot->halt = REPLAY_HALT_START | REPLAY_HALT_END;
	code = remote_start_process(t);
	if (!code)
		code = come_to_program(t);
	if (code)
		return code;
	/* What MPI's own threads would do is of no use to a rank alone, and depends on time. */
	t->live.only = t->front->alone ? t->focus : 0;
	t->is_whole = true;
	remote_travel_open(t);
	return 0;
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
	if (pipe2(output, O_CLOEXEC) != 0 || fcntl(output[0], F_SETFL, O_NONBLOCK) != 0) {
		rp_say("cannot make a pipe: %s", strerror(errno));
		return RP_EXIT_FAILURE;
	}
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
