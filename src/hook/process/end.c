/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How things end. Recording: the last record says how. Replay: a rank that comes to its end says
 * its last word and waits until all others have come to theirs, because the launcher kills them
 * all as soon as one dies. Invariant: nothing here returns to the program in a state it would
 * not be in without us.
 */
#include "hook/common/end.h"

#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/held.h"
#include "base/log.h"
#include "hook/common/done.h"
#include "hook/common/process.h"
#include "hook/common/real.h"
#include "hook/common/thread.h"
#include "hook/heap/heap.h"
#include "hook/image/image.h"
#include "hook/input/file/infile.h"
#include "hook/input/value/input.h"
#include "hook/kit/text.h"
#include "hook/output/output.h"
#include "hook/program/sanitizer.h"
#include "hook/session/discard.h"
#include "hook/session/session.h"
#include "hook/thread/evaluate/account.h"
#include "hook/thread/life/stuck.h"
#include "hook/thread/serial/baton.h"
#include "hook/thread/sync/streams.h"
#include "trace/shelf.h"

#define MAX_FRAMES 48
#define NAPS_PER_LOOK 125
#define NAPS_BEHIND 500

void (*hook_end_progress)(void);
bool hook_end_multiple;
void (*hook_end_flush)(void);

static void nap(void)
{
	struct timespec ts = {0, 2000000};

	syscall(SYS_nanosleep, &ts, NULL);
}

void hook_end_nap(const struct hook_thread *t)
{
	if (hook_end_progress && (hook_end_multiple || hook_thread_is_main(t)))
		hook_end_progress();
	nap();
}

static void wait_for_all(const struct hook_thread *t, bool may_progress)
{
	while (!hook_session_all_ended()) {
		if (may_progress)
			hook_end_nap(t);
		else
			nap();
	}
}

/* The front ends us sooner, if there is one. */
static void __attribute__((noreturn)) stay_and_leave(int status)
{
	for (int i = 0; i < 5000; i++)
		nap();
	syscall(SYS_exit_group, status);
	__builtin_unreachable();
}

static void flush(void)
{
	if (hook_end_flush)
		hook_end_flush();
}

static void say_word(const struct hook_thread *t, const char *why, const char *call, int64_t value,
		     const char *text)
{
	void *frames[MAX_FRAMES];
	int n = hook_sanitizer_backtrace(frames, MAX_FRAMES);

	flush();
	hook_account_write_all();
	hook_image_finish();
	hook_session_last_word(t, why, call, value, text, frames, n);
}

static __thread const void *aborts_at; /* where the program called abort, or failed to assert */

/* Behind the instruction, as if it were a call; NULL where it is not known. */
static void *place_of_fault(void *context)
{
	ucontext_t *uc = context;

#if defined(__x86_64__)
	return (void *)(uintptr_t)(uc->uc_mcontext.gregs[REG_RIP] + 1);
#elif defined(__aarch64__)
	return (void *)(uintptr_t)(uc->uc_mcontext.pc + 1);
#else
	(void)uc;
	return NULL;
#endif
}

static bool peek(const void *at, void *to, size_t n)
{
	struct iovec here = {to, n}, there = {(void *)at, n};

	return syscall(SYS_process_vm_readv, syscall(SYS_getpid), &here, 1, &there, 1, 0) ==
	       (long)n;
}

/*
 * A function of libc that has made no frame yet, such as strlen, finds its caller on top of the
 * stack. NULL if the word there is not where a call returns to.
 */
static void *caller_of_fault(void *context)
{
#if defined(__x86_64__)
	ucontext_t *uc = context;
	uint8_t before_it[5] = {0};
	uintptr_t word = 0, top = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];

	if (!peek((const void *)top, &word, sizeof(word)) || word < sizeof(before_it) ||
	    !peek((const uint8_t *)word - sizeof(before_it), before_it, sizeof(before_it)))
		return NULL;
	return before_it[0] == 0xe8 ? (void *)word : NULL;
#else
	(void)context;
	return NULL;
#endif
}

/* Recording: "crash=THREAD module+0xoffset", and, behind a tab, where that was called. */
static void note_crash(const struct hook_thread *t, int sig, void *context)
{
	const void *caller = sig == SIGABRT ? aborts_at : caller_of_fault(context);
	char text[2400];
	struct hook_text out = hook_text_in(text, sizeof(text));

	hook_text_add(&out, TRACE_NOTE_CRASH);
	hook_text_add(&out, t->name);
	hook_text_add(&out, " ");
	hook_session_place(place_of_fault(context), &out);
	if (caller) {
		hook_text_add(&out, "\t");
		hook_session_place(caller, &out);
	}
	hook_input_note(TRACE_IN_NOTE, text);
}

/* libc calls abort by itself where an assertion fails. */
HOOK_EXPORT void abort(void)
{
	if (!aborts_at)
		aborts_at = __builtin_return_address(0);
	REAL(abort)();
	__builtin_unreachable();
}

HOOK_EXPORT void __assert_fail(const char *what, const char *file, unsigned int line,
			       const char *function)
{
	aborts_at = __builtin_return_address(0);
	REAL(__assert_fail)(what, file, line, function);
	__builtin_unreachable();
}

/* In a handler backtrace() might lock what the program holds: the fault's own place must do. */
static void say_word_in_handler(const struct hook_thread *t, const char *why, const char *call,
				int sig, const char *text, void *context)
{
	void *frame = place_of_fault(context);

	flush();
	hook_account_write_all();
	hook_image_finish();
	hook_session_last_word(t, why, call, sig, text, &frame, frame != NULL);
}

/* The events since the last digest are checked, too. */
static void put_digest(struct hook_thread *t)
{
	if (t->record.order.events)
		trace_order_put_last(&t->record.order, TRACE_CHECK, (uint32_t)t->mpi.digest, 0);
}

static void finish_record(struct hook_thread *t, uint32_t how, uint64_t value)
{
	if (hook_is_stopped(t))
		return;
	if (!t->record.order.stream.header && !t->passive)
		hook_thread_open(t);
	if (!t->record.order.stream.header)
		return;
	put_digest(t);
	trace_order_put_last(&t->record.order, TRACE_END, how, value);
	trace_stream_close(&t->record.order.stream);
	trace_stream_close(&t->record.input.stream);
	hook_sync_close(t);
	hook_heap_close();
	hook_infile_close();
	trace_shelf_end();
	hook_baton_leave(t);
	t->passive = 1;
	t->record.attention = 0;
}

void hook_end_describe(struct hook_text *out, uint32_t how, int64_t value)
{
	static const char *const ends[] = {
		[TRACE_END_EXIT] = "the end of the program with status ",
		[TRACE_END_EARLY] = "the end of the program with status ",
		[TRACE_END_SIGNAL] = "the program to die of signal ",
		[TRACE_END_ABORT] = "MPI_Abort with code ",
	};

	if (how < TRACE_END_EXIT || how > TRACE_END_ABORT) {
		hook_text_add(out, "an end of the program of unknown kind");
		return;
	}
	hook_text_add(out, ends[how]);
	hook_text_number(out, value);
}

static void skip_posts(struct hook_thread *t)
{
	while (t->replay.more && trace_kind_is_keyed(t->replay.next.kind))
		hook_thread_advance(t);
}

static bool has_other_digest(const struct hook_thread *t, struct hook_text *expected)
{
	if (!t->replay.more || t->replay.next.kind != TRACE_CHECK ||
	    t->replay.next_event != t->replay.events || t->replay.next.a == (uint32_t)t->mpi.digest)
		return false;
	hook_text_add(expected, "the recorded calls and arguments from event ");
	hook_text_number(expected, (int64_t)t->replay.checked + 1);
	hook_text_add(expected, " on");
	return true;
}

/* The main thread must have done all that was recorded; a helper's inputs and polls may vary. */
static bool has_calls_left(struct hook_thread *t, struct hook_text *expected)
{
	if (t->replay.events < t->replay.order_view.events) {
		hook_text_add(expected, "event ");
		hook_text_number(expected, (int64_t)t->replay.events + 1);
		hook_text_add(expected, " of ");
		hook_text_number(expected, (int64_t)t->replay.order_view.events);
		return true;
	}
	if (t->replay.more && t->replay.next.kind == TRACE_FAIL) {
		hook_text_number(expected, (int64_t)t->replay.next.a);
		hook_text_add(expected, " more polls that fail");
		return true;
	}
	return has_other_digest(t, expected);
}

void hook_end_of_thread(struct hook_thread *t)
{
	char expected[96];
	struct hook_text out = hook_text_in(expected, sizeof(expected));

	if (hook_process.mode == HOOK_RECORD) {
		put_digest(t);
		return;
	}
	if (!t->opened || t->replay.final || t->passive)
		return;
	while (t->replay.more &&
	       (t->replay.next.kind == TRACE_FAIL || trace_kind_is_keyed(t->replay.next.kind)))
		hook_thread_advance(t);
	if (has_other_digest(t, &out))
		hook_diverged(t, "end of the thread", expected, "others");
}

static bool has_inputs_left(struct hook_thread *t, struct hook_text *expected)
{
	struct trace_input_rec rec;

	hook_input_view();
	while (trace_input_next(&t->replay.input_reader, &rec) == 1) {
		if (rec.kind == TRACE_IN_MODULE || rec.kind == TRACE_IN_NOTE ||
		    rec.kind == TRACE_IN_SIGNAL)
			continue;
		hook_text_add(expected, "more inputs (clocks, process ids, random bytes)");
		return true;
	}
	return false;
}

static bool is_recorded_end(const struct hook_thread *t, uint32_t how, int64_t value)
{
	uint32_t recorded = (uint32_t)t->replay.next.a;

	if (recorded == TRACE_END_EARLY)
		recorded = TRACE_END_EXIT;
	if (how == TRACE_END_EARLY)
		how = TRACE_END_EXIT;
	return recorded == how && (int64_t)t->replay.next.b == value;
}

static bool has_other_operations(struct hook_thread *t, struct hook_text *expected)
{
	if (t->replay.sync_reader.ops < t->replay.sync_reader.total) {
		hook_text_number(expected, (int64_t)t->replay.sync_reader.total);
		hook_text_add(expected, " synchronisation operations, not ");
		hook_text_number(expected, (int64_t)t->replay.sync_reader.ops);
		return true;
	}
	if (!hook_sync_ends_alike(t)) {
		hook_text_add(expected, HOOK_SYNC_SAME);
		return true;
	}
	return false;
}

/*
 * Replay: does the program end otherwise than it did? Then *expected says how it should go on.
 * Nothing is known of the end of a run that was killed, or that ended inside a call of MPI.
 */
static bool ends_otherwise(struct hook_thread *t, uint32_t how, int64_t value,
			   struct hook_text *expected)
{
	bool is_main = hook_thread_is_main(t);

	if (!t->opened || t->replay.final)
		return false;
	skip_posts(t);
	if (is_main && has_calls_left(t, expected))
		return true;
	while (t->replay.more && t->replay.next.kind != TRACE_END)
		hook_thread_advance(t);
	if (t->replay.more && !is_recorded_end(t, how, value)) {
		hook_end_describe(expected, (uint32_t)t->replay.next.a, (int64_t)t->replay.next.b);
		return true;
	}
	return is_main && how != TRACE_END_SIGNAL && has_inputs_left(t, expected);
}

static void check_end(struct hook_thread *t, const char *call, uint32_t how, int64_t value)
{
	char expected[96], found[192];
	struct hook_text e = hook_text_in(expected, sizeof(expected));
	struct hook_text f = hook_text_in(found, sizeof(found));
	bool threads = has_other_operations(t, &e);

	if (!threads && !ends_otherwise(t, how, value, &e))
		return;
	hook_end_describe(&f, how, value);
	if (threads)
		hook_text_add(&f, hook_sync_hint());
	hook_diverged(t, call, expected, found);
}

/* Of threads that would end the process, only one did so when recorded. */
static bool ends_process(struct hook_thread *t)
{
	if (hook_thread_is_main(t) && !(hook_slot->flags & REPLAY_BY_HELPER))
		return true;
	hook_thread_open(t);
	return hook_slot->flags & (REPLAY_CUT | REPLAY_STOPPED) || hook_end_is_own(t);
}

/* It was another thread, which has yet to come there. */
static bool left_to_another;

/*
 * Recording: a second thread that exits could end the process before the first has written down how
 * it ends. It comes later, unless the first one waits for it.
 */
static void come_second(void)
{
	static bool exits;

	if (!__atomic_exchange_n(&exits, true, __ATOMIC_ACQ_REL))
		return;
	hook_depth = 1;
	for (int i = 0; i < NAPS_BEHIND; i++)
		nap();
	hook_depth = 0;
}

void hook_end_exits(int status)
{
	struct hook_thread *t = hook_thread_self();

	if (!hook_sync_mode)
		return;
	if (hook_process.mode == HOOK_RECORD) {
		come_second();
		return;
	}
	if (!ends_process(t))
		hook_end_of_recording(t, "exit");
	if (__atomic_load_n(&left_to_another, __ATOMIC_ACQUIRE))
		hook_end_by_exit(status);
}

void hook_end_by_exit(int status)
{
	struct hook_thread *t = hook_thread_self();
	bool early = hook_process.mpi_open;

	if (hook_process.mode == HOOK_REPLAY && hook_sync_mode && !ends_process(t)) {
		__atomic_store_n(&left_to_another, true, __ATOMIC_RELEASE);
		hook_end_of_recording(t, "exit");
	}
	if (__atomic_exchange_n(&hook_process.ended, true, __ATOMIC_ACQ_REL))
		return;
	hook_depth = 1;
	if (hook_process.mode == HOOK_RECORD) {
		if (hook_sync_has_others(t))
			hook_output_ends_with_others();
		finish_record(t, early ? TRACE_END_EARLY : TRACE_END_EXIT, (uint64_t)status);
		hook_slot->state = REPLAY_GONE;
		if (hook_process.record.discard && status == 0 && !early)
			hook_discard();
		return;
	}
	hook_baton_leave(t);
	if (hook_slot->flags & REPLAY_STOPPED)
		hook_end_of_recording(t, "exit");
	t->wait.in = "exit";
	if (!hook_sync_await_others(t))
		hook_sync_say_behind(t);
	check_end(t, "exit", early ? TRACE_END_EARLY : TRACE_END_EXIT, status);
	flush();
	hook_account_write_all();
	hook_image_finish();
	hook_session_last_word(t, REPLAY_WHY_EXIT, "", status, "", NULL, 0);
	if (status != 0 || early || hook_slot->halt & REPLAY_HALT_END)
		wait_for_all(t, true);
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
	hook_baton_leave(t);
	t->wait.in = "MPI_Abort";
	if (!hook_sync_await_others(t))
		hook_sync_say_behind(t);
	check_end(t, "MPI_Abort", TRACE_END_ABORT, code);
	say_word(t, REPLAY_WHY_ABORT, "MPI_Abort", code, "");
	wait_for_all(t, true);
}

/* Its next event is looked at. */
static void pay_attention(struct hook_thread *t)
{
	__atomic_store_n(&t->record.attention, 0, __ATOMIC_RELAXED);
}

void hook_stop_too(struct hook_thread *t)
{
	if (!t->passive)
		hook_stop_recording(t, hook_process.record.stopped, hook_process.record.stop_detail,
				    "");
}

void hook_stop_recording(struct hook_thread *t, uint32_t reason, uint64_t detail, const char *what)
{
	static bool said;
	char rank[16], event[24];
	struct hook_text text = hook_text_in(rank, sizeof(rank));
	struct hook_text number = hook_text_in(event, sizeof(event));

	trace_order_put_last(&t->record.order, TRACE_STOP, reason, detail);
	trace_stream_close(&t->record.order.stream);
	trace_stream_close(&t->record.input.stream);
	hook_sync_halt(t, reason, (uint32_t)detail);
	hook_process.record.stop_detail = detail;
	__atomic_store_n(&hook_process.record.stopped, reason, __ATOMIC_RELEASE);
	hook_sync_list_each(pay_attention);
	hook_heap_close();
	hook_baton_leave(t);
	t->passive = 1;
	t->record.attention = 0;
	if (__atomic_exchange_n(&said, true, __ATOMIC_ACQ_REL))
		return;
	hook_text_number(&text, hook_process.rank);
	hook_text_number(&number, (int64_t)t->record.order.events);
	hook_say("rank ", rank, ": recording ends", t->record.order.events ? " at event " : "",
		 t->record.order.events ? event : "", ": ", what,
		 "; the program runs on, a replay will stop there", NULL);
}

const char *hook_no_room(int rc)
{
	if (rc == -ENOSPC || rc == -EDQUOT)
		return "the disk is full";
	return rc == -EFBIG ? "files may not become larger (ulimit -f)" : strerror(-rc);
}

void hook_stop_growing(struct hook_thread *t, int rc)
{
	hook_stop_recording(t, TRACE_STOP_NOSPACE, (uint64_t)-rc, hook_no_room(rc));
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
	say_word(t, REPLAY_WHY_DIVERGED, call, 0, text);
	stay_and_leave(RP_EXIT_DIVERGED);
}

void hook_failed(struct hook_thread *t, const char *text)
{
	hook_depth = 1;
	say_word(t, REPLAY_WHY_FAILURE, "", 0, text);
	stay_and_leave(RP_EXIT_FAILURE);
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
		say_word(t, why_ended(t), call, (int64_t)t->replay.next.a, "in");
}

void hook_end_speak(struct hook_thread *t, const char *call)
{
	say_word(t, why_ended(t), call, (int64_t)t->replay.next.a, "in");
}

bool hook_end_is_own(struct hook_thread *t)
{
	while (t->replay.more && t->replay.next.kind != TRACE_END)
		hook_thread_advance(t);
	return t->replay.more;
}

static void park(void)
{
	flush();
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
		say_word(t, why_ended(t), call, (int64_t)t->replay.next.a, "before");
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

static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
static struct sigaction before[65];

static void say_end_by_signal(struct hook_thread *t, int sig, void *context, bool others_done)
{
	char text[1024];
	struct hook_text out = hook_text_in(text, sizeof(text));

	bool early = t->replay.sync_reader.ops < t->replay.sync_reader.total;

	hook_text_add(&out, "expected ");
	if (ends_otherwise(t, TRACE_END_SIGNAL, sig, &out) || !others_done) {
		if (!others_done)
			hook_text_add(&out, "the other threads to do what they did");
		hook_text_add(&out, ", found signal ");
		hook_text_number(&out, sig);
		if (!others_done)
			hook_sync_describe_all(&out);
		if (early || !others_done)
			hook_text_add(&out, hook_sync_hint());
		say_word_in_handler(t, REPLAY_WHY_DIVERGED, "signal", 0, text, context);
		stay_and_leave(RP_EXIT_DIVERGED);
	}
	say_word_in_handler(t, REPLAY_WHY_SIGNAL, "", sig, "", context);
}

/*
 * A debugger has let the rank go on to its death, and stops at the signal before anybody else. If
 * it went without a word, the front ends us: nobody is to be told of a death that is looked at.
 */
static void on_fatal_again(int sig, siginfo_t *info, void *context)
{
	const struct sigaction by_default = {.sa_handler = SIG_DFL};
	int saved = errno;
	bool traced;

	(void)context;
	hook_depth++;
	while (!(traced = rp_traced(hook_process.pid)) && !hook_session_is_released())
		nap();
	REAL(sigaction)(sig, traced ? &by_default : &before[sig], NULL);
	if (info->si_code <= 0)
		syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), sig);
	errno = saved;
}

/*
 * Notes the signal, puts the former handler back and lets the signal come once more.
 * The depth stays raised: what that handler calls is not the program's.
 */
static void on_fatal(int sig, siginfo_t *info, void *context)
{
	const struct sigaction looked_at = {.sa_sigaction = on_fatal_again,
					    .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct hook_thread *t;
	int saved = errno;

	if (hook_process_is_this() &&
	    !__atomic_exchange_n(&hook_process.ended, true, __ATOMIC_ACQ_REL)) {
		bool outside = hook_depth == 0;

		hook_depth++;
		t = hook_thread_self();
		if (hook_process.mode == HOOK_RECORD) {
			if (!t->passive && !hook_process.record.stopped)
				hook_thread_open(t);
			if (outside) {
				put_digest(t);
				note_crash(t, sig, context);
			}
			if (!hook_process.record.stopped)
				trace_order_put_last(&t->record.order, TRACE_END, TRACE_END_SIGNAL,
						     (uint64_t)sig);
		} else {
			hook_baton_leave(t);
			t->wait.in = "signal";
			say_end_by_signal(t, sig, context, hook_sync_await_others(t));
			wait_for_all(t, outside);
		}
	}
	if (hook_slot->go == REPLAY_GO_TO_DEATH)
		REAL(sigaction)(sig, &looked_at, NULL);
	else
		REAL(sigaction)(sig, &before[sig], NULL);
	if (info->si_code <= 0)
		syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), sig);
	errno = saved;
}

struct owner {
	uintptr_t address;
	bool is_runtime;
};

/* Files whose handlers report a signal that then kills; any other may well recover. */
static int look_at_file(struct dl_phdr_info *info, size_t size, void *arg)
{
	static const char *const runtimes[] = {"libopen-", "libmpi", "libuc", "libgfortran"};
	struct owner *owner = arg;
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *name = slash ? slash + 1 : info->dlpi_name;
	bool inside = false;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		inside |= part->p_type == PT_LOAD &&
			  owner->address - info->dlpi_addr - part->p_vaddr < part->p_memsz;
	}
	for (size_t i = 0; inside && i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		owner->is_runtime |= strncmp(name, runtimes[i], strlen(runtimes[i])) == 0;
	return inside;
}

static bool is_of_the_program(const struct sigaction *action)
{
	struct owner owner = {(uintptr_t)action->sa_handler, false};

	if (action->sa_handler == SIG_DFL)
		return false;
	dl_iterate_phdr(look_at_file, &owner);
	return !owner.is_runtime;
}

void hook_end_watch_signals(void)
{
	struct sigaction action = {.sa_sigaction = on_fatal, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
		struct sigaction now;
		int sig = fatal[i];

		if (REAL(sigaction)(sig, NULL, &now) != 0 || now.sa_sigaction == on_fatal ||
		    is_of_the_program(&now))
			continue;
		before[sig] = now;
		REAL(sigaction)(sig, &action, NULL);
	}
}

bool hook_end_keeps(int sig, const struct sigaction *new, struct sigaction *old)
{
	struct sigaction now, was;

	if (sig <= 0 || sig >= 65 || !new || new->sa_handler == SIG_DFL ||
	    new->sa_handler == SIG_IGN || REAL(sigaction)(sig, NULL, &now) != 0 ||
	    now.sa_sigaction != on_fatal || is_of_the_program(new))
		return false;
	was = before[sig];
	before[sig] = *new;
	if (old)
		*old = was;
	return true;
}

void hook_end_hide(int sig, struct sigaction *action)
{
	if (sig > 0 && sig < 65 && action && action->sa_sigaction == on_fatal)
		*action = before[sig];
}
