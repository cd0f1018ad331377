/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How things end. Recording: the last record says how. Replay: a rank that comes to its end says
 * its last word and waits until all others have come to theirs, because the launcher kills them
 * all as soon as one dies. Invariant: nothing here returns to the program in a state it would
 * not be in without us.
 */
#include "hook/common/end.h"

#include <execinfo.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "hook/common/discard.h"
#include "hook/common/session.h"
#include "hook/common/text.h"
#include "hook/common/thread.h"

#define MAX_FRAMES 48

void (*hook_end_progress)(void);

static void nap(void)
{
	struct timespec ts = {0, 2000000};

	syscall(SYS_nanosleep, &ts, NULL);
}

static void wait_for_all(bool may_progress)
{
	while (!hook_session_all_ended()) {
		if (may_progress && hook_end_progress)
			hook_end_progress();
		nap();
	}
}

static void leave(int status)
{
	syscall(SYS_exit_group, status);
}

static void say_word(const struct hook_thread *t, const char *why, const char *call, int64_t value,
		     const char *text)
{
	void *frames[MAX_FRAMES];
	int n = backtrace(frames, MAX_FRAMES);

	hook_session_last_word(t, why, call, value, text, frames, n);
}

/* In a handler backtrace() might lock what the program holds: the fault's own place must do. */
static void say_word_in_handler(const struct hook_thread *t, int sig, void *context)
{
	ucontext_t *uc = context;
	void *frame = NULL;

#if defined(__x86_64__)
	frame = (void *)(uintptr_t)(uc->uc_mcontext.gregs[REG_RIP] + 1);
#elif defined(__aarch64__)
	frame = (void *)(uintptr_t)(uc->uc_mcontext.pc + 1);
#endif
	hook_session_last_word(t, REPLAY_WHY_SIGNAL, "", sig, "", &frame, frame != NULL);
}

static void finish_record(struct hook_thread *t, uint32_t how, uint64_t value)
{
	if (!t->order.stream.header)
		return;
	trace_order_put_last(&t->order, TRACE_CHECK, (uint32_t)t->digest, 0);
	trace_order_put_last(&t->order, TRACE_END, how, value);
	trace_stream_close(&t->order.stream);
	trace_stream_close(&t->input.stream);
	t->passive = 1;
}

/* A program that ends must have done all that was recorded, and nothing else. */
static void check_all_replayed(struct hook_thread *t)
{
	char expected[96];
	struct hook_text text = hook_text_in(expected, sizeof(expected));
	bool whole = t->events >= t->order_view.events;

	while (t->more && (t->next.kind == TRACE_POST || t->next.kind == TRACE_CANCEL))
		hook_thread_advance(t);
	if (whole && (!t->more || t->next.kind != TRACE_CHECK || t->next_event != t->events ||
		      t->next.a == (uint32_t)t->digest))
		return;
	if (whole) {
		hook_text_add(&text, "the recorded calls and arguments from event ");
		hook_text_number(&text, (int64_t)t->checked + 1);
		hook_text_add(&text, " on");
		hook_diverged(t, "exit", expected, "others");
	}
	hook_text_add(&text, "event ");
	hook_text_number(&text, (int64_t)t->events + 1);
	hook_text_add(&text, " of ");
	hook_text_number(&text, (int64_t)t->order_view.events);
	hook_diverged(t, "exit", expected, "the end of the program");
}

void hook_end_by_exit(int status)
{
	struct hook_thread *t = hook_thread_self();
	bool early = hook_process.mpi_open;

	if (__atomic_exchange_n(&hook_process.ended, true, __ATOMIC_ACQ_REL))
		return;
	hook_depth = 1;
	if (hook_process.mode == HOOK_RECORD) {
		finish_record(t, early ? TRACE_END_EARLY : TRACE_END_EXIT, (uint64_t)status);
		if (hook_process.discard && status == 0 && !early)
			hook_discard();
		return;
	}
	if (strcmp(t->name, "0") == 0)
		check_all_replayed(t);
	hook_session_last_word(t, REPLAY_WHY_EXIT, "", status, "", NULL, 0);
	if (status != 0 || early)
		wait_for_all(true);
	hook_slot->state = REPLAY_GONE;
}

void hook_end_by_abort(struct hook_thread *t, int code)
{
	if (__atomic_exchange_n(&hook_process.ended, true, __ATOMIC_ACQ_REL))
		return;
	if (hook_process.mode == HOOK_RECORD) {
		finish_record(t, TRACE_END_ABORT, (uint64_t)code);
		return;
	}
	say_word(t, REPLAY_WHY_ABORT, "MPI_Abort", code, "");
	wait_for_all(true);
}

void hook_stop_recording(struct hook_thread *t, uint32_t reason, uint64_t detail, const char *what)
{
	static bool said;
	char rank[16], event[24];
	struct hook_text text = hook_text_in(rank, sizeof(rank));
	struct hook_text number = hook_text_in(event, sizeof(event));

	trace_order_put_last(&t->order, TRACE_STOP, reason, detail);
	trace_stream_close(&t->order.stream);
	trace_stream_close(&t->input.stream);
	t->passive = 1;
	if (__atomic_exchange_n(&said, true, __ATOMIC_ACQ_REL))
		return;
	hook_text_number(&text, hook_process.rank);
	hook_text_number(&number, (int64_t)t->order.events);
	hook_say("rank ", rank, ": recording ends at event ", event, ": ", what,
		 "; the program runs on, a replay will stop there", NULL);
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
	say_word(t, REPLAY_WHY_DIVERGED, call, 0, text);
	for (int i = 0; i < 5000; i++)
		nap();
	leave(RP_EXIT_DIVERGED);
	__builtin_unreachable();
}

void hook_failed(struct hook_thread *t, const char *text)
{
	hook_depth = 1;
	say_word(t, REPLAY_WHY_FAILURE, "", 0, text);
	for (int i = 0; i < 5000; i++)
		nap();
	leave(RP_EXIT_FAILURE);
	__builtin_unreachable();
}

static const char *why_ended(const struct hook_thread *t)
{
	return t->more && t->next.kind == TRACE_STOP ? REPLAY_WHY_STOP : REPLAY_WHY_END;
}

void hook_end_announce(struct hook_thread *t, const char *call)
{
	if (strcmp(t->name, "0") == 0)
		say_word(t, why_ended(t), call, (int64_t)t->next.a, "in");
}

/* The front kills us when all have come this far: until then messages must still flow. */
void hook_end_of_recording(struct hook_thread *t, const char *call)
{
	hook_depth = 1;
	if (strcmp(t->name, "0") == 0)
		say_word(t, why_ended(t), call, (int64_t)t->next.a, "before");
	for (;;) {
		if (hook_end_progress)
			hook_end_progress();
		nap();
	}
}

static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
static struct sigaction before[65];

/* Notes the signal, puts the former handler back and lets the signal come once more. */
static void on_fatal(int sig, siginfo_t *info, void *context)
{
	struct hook_thread *t;
	int saved = errno;

	if (hook_process.claimed &&
	    !__atomic_exchange_n(&hook_process.ended, true, __ATOMIC_ACQ_REL)) {
		bool outside = hook_depth == 0;

		hook_depth++;
		t = hook_thread_self();
		if (hook_process.mode == HOOK_RECORD) {
			trace_order_put_last(&t->order, TRACE_END, TRACE_END_SIGNAL, (uint64_t)sig);
		} else {
			say_word_in_handler(t, sig, context);
			wait_for_all(outside);
		}
		hook_depth--;
	}
	sigaction(sig, &before[sig], NULL);
	if (info->si_code <= 0)
		syscall(SYS_tgkill, hook_process.pid, syscall(SYS_gettid), sig);
	errno = saved;
}

void hook_end_watch_signals(void)
{
	struct sigaction action = {.sa_sigaction = on_fatal, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		sigaction(fatal[i], &action, &before[fatal[i]]);
}
