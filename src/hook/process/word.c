/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replay ends: it diverged, failed, or came to the end of its recording. The rank says its last
 * word, and waits for the front, which ends it; until then messages must still flow.
 */
#include "hook/process/ends.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "hook/common/done.h"
#include "hook/common/thread.h"
#include "hook/image/image.h"
#include "hook/program/sanitizer.h"
#include "hook/session/session.h"
#include "hook/thread/evaluate/account.h"
#include "hook/thread/life/stuck.h"
#include "hook/thread/race/race.h"
#include "hook/thread/serial/baton.h"

#define MAX_FRAMES 48
#define NAPS_PER_LOOK 125
#define NAPS_ALIKE 125 /* after which ranks within calls wait for us, as far as can be told */
#define NAP_MS 2

void (*hook_end_progress)(void);
bool hook_end_multiple;
void (*hook_end_flush)(void);

void hook_end_sleep(void)
{
	struct timespec ts = {0, 2000000};

	syscall(SYS_nanosleep, &ts, NULL);
}

void hook_end_nap(const struct hook_thread *t)
{
	if (hook_end_progress && (hook_end_multiple || hook_thread_is_main(t)))
		hook_end_progress();
	hook_end_sleep();
}

void hook_end_wait_for_all(const struct hook_thread *t, bool may_progress)
{
	while (!hook_session_all_ended()) {
		if (may_progress)
			hook_end_nap(t);
		else
			hook_end_sleep();
	}
}

void hook_end_stay_and_leave(int status)
{
	for (int i = 0; i < 5000; i++)
		hook_end_sleep();
	syscall(SYS_exit_group, status);
	__builtin_unreachable();
}

void hook_end_write_all(void)
{
	if (hook_end_flush)
		hook_end_flush();
	hook_account_write_all();
	hook_race_finish();
	hook_image_finish();
}

void hook_end_say_word(const struct hook_thread *t, const char *why, const char *call,
		       int64_t value, const char *text)
{
	void *frames[MAX_FRAMES];
	int n = hook_sanitizer_backtrace(frames, MAX_FRAMES);

	hook_end_write_all();
	hook_session_last_word(t, why, call, value, text, frames, n);
}

/* What was printed up to here, unless another thread is about to print. */
static void show_output(void)
{
	int before;

	if (ftrylockfile(stdout) != 0)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	/* It is the program that has printed this. */
	hook_depth = 0;
	fflush_unlocked(stdout);
	hook_depth = 1;
	pthread_setcancelstate(before, NULL);
	funlockfile(stdout);
}

void hook_diverged(struct hook_thread *t, const char *call, const char *expected, const char *found)
{
	char text[1024];
	struct hook_text out = hook_text_in(text, sizeof(text));

	hook_depth = 1;
	hook_text_add(&out, "expected ");
	hook_text_add(&out, expected);
	hook_text_add(&out, ", found ");
	hook_text_add(&out, found);
	show_output();
	hook_end_say_word(t, REPLAY_WHY_DIVERGED, call, 0, text);
	hook_end_stay_and_leave(RP_EXIT_DIVERGED);
}

void hook_failed(struct hook_thread *t, const char *text)
{
	hook_depth = 1;
	hook_end_say_word(t, REPLAY_WHY_FAILURE, "", 0, text);
	hook_end_stay_and_leave(RP_EXIT_FAILURE);
}

void hook_failed_by(struct hook_thread *t, const char *what, const char *between, const char *why)
{
	char text[512];
	struct hook_text out = hook_text_in(text, sizeof(text));

	hook_text_add(&out, what);
	hook_text_add(&out, between);
	hook_text_add(&out, why);
	hook_failed(t, text);
}

static const char *why_ended(const struct hook_thread *t)
{
	return hook_slot->flags & REPLAY_STOPPED ||
			       (t->replay.more && t->replay.next.kind == TRACE_STOP)
		       ? REPLAY_WHY_STOP
		       : REPLAY_WHY_END;
}

void hook_end_announce(struct hook_thread *t, const char *call)
{
	t->wait.state = HOOK_THREAD_AT_END;
	t->wait.in = call;
	t->wait.at = t->mpi.site;
	hook_done_look(t);
	if (hook_thread_is_main(t) && !(hook_slot->flags & REPLAY_BY_HELPER))
		hook_end_say_word(t, why_ended(t), call, (int64_t)t->replay.next.a, "in");
}

/*
 * If it is MPI that ended the job in this call, the launcher ends the others as soon as it is made.
 * But those within a call may wait for it. So may those outside of one, by another thread: they are
 * given as long as the recorded run took, which is less than the front's patience.
 */
void hook_end_let_others(struct hook_thread *t)
{
	uint64_t before = 0, done, alike = 0;
	uint64_t most = NAPS_ALIKE + hook_slot->recorded_ms / NAP_MS;
	uint32_t running, within;

	if (!(hook_slot->flags & REPLAY_MAY_ABORT) || !hook_thread_is_main(t))
		return;
	while (!hook_session_all_ended()) {
		done = hook_session_behind(&running, &within);
		if (!running && !within)
			return;
		alike = done == before ? alike + 1 : 0;
		if (alike >= (running ? most : NAPS_ALIKE))
			return;
		before = done;
		hook_end_nap(t);
	}
}

void hook_end_speak(struct hook_thread *t, const char *call)
{
	hook_end_say_word(t, why_ended(t), call, (int64_t)t->replay.next.a, "in");
}

bool hook_end_is_own(struct hook_thread *t)
{
	while (t->replay.more && t->replay.next.kind != TRACE_END)
		hook_thread_advance(t);
	return t->replay.more;
}

static void park(void)
{
	if (hook_end_flush)
		hook_end_flush();
	__atomic_add_fetch(&hook_slot->parked, 1, __ATOMIC_RELAXED);
}

/* The main thread ended the process, and by now it should have. */
static void check_more(struct hook_thread *t, const char *call)
{
	char expected[96];
	struct hook_text out = hook_text_in(expected, sizeof(expected));

	if (!hook_thread_is_main(t) || t->replay.final || hook_process.ended ||
	    hook_slot->flags & (REPLAY_CUT | REPLAY_BY_HELPER) || !hook_end_is_own(t))
		return;
	hook_end_describe(&out, (uint32_t)t->replay.next.a, (int64_t)t->replay.next.b);
	hook_diverged(t, call, expected, "a further call");
}

/* The front kills us when all have come this far: until then messages must still flow. */
void hook_end_of_recording(struct hook_thread *t, const char *call)
{
	hook_depth = 1;
	check_more(t, call);
	t->wait.state = HOOK_THREAD_AT_END;
	t->wait.in = call;
	if (hook_thread_is_main(t) && (hook_slot->flags & REPLAY_CUT)) {
		hook_baton_leave(t);
		if (!hook_sync_await_others(t) && !(hook_slot->flags & REPLAY_STOPPED))
			hook_sync_say_behind(t);
		hook_end_say_word(t, why_ended(t), call, (int64_t)t->replay.next.a, "before");
	} else {
		park();
	}
	for (unsigned int i = 1;; i++) {
		hook_end_nap(t);
		if (i % NAPS_PER_LOOK == 0)
			hook_sync_look(t);
	}
}

void hook_end_past(struct hook_thread *t, const char *call)
{
	if (hook_thread_is_main(t) || hook_slot->state != REPLAY_RUNNING ||
	    hook_slot->flags & REPLAY_STOPPED)
		hook_end_of_recording(t, call);
}
