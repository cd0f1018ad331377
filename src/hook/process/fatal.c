/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals that kill. The place of the fault is noted, or compared with the recorded end; then the
 * signal comes once more, for whom it came at first. Invariant: the program dies of it as without
 * us.
 */
#include "hook/process/ends.h"

#include <errno.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/held.h"
#include "base/log.h"
#include "hook/common/process.h"
#include "hook/common/real.h"
#include "hook/common/thread.h"
#include "hook/input/value/input.h"
#include "hook/session/session.h"
#include "hook/thread/life/stuck.h"
#include "hook/thread/race/race.h"
#include "hook/thread/serial/baton.h"

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

	hook_end_write_all();
	hook_session_last_word(t, why, call, sig, text, &frame, frame != NULL);
}

static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
static struct sigaction before[65];

static void say_end_by_signal(struct hook_thread *t, int sig, void *context, bool others_done)
{
	char text[1024];
	struct hook_text out = hook_text_in(text, sizeof(text));

	bool early = t->replay.sync_reader.ops < t->replay.sync_reader.total;

	hook_text_add(&out, "expected ");
	if (hook_end_is_other(t, TRACE_END_SIGNAL, sig, &out) || !others_done) {
		if (!others_done)
			hook_text_add(&out, "the other threads to do what they did");
		hook_text_add(&out, ", found signal ");
		hook_text_number(&out, sig);
		if (!others_done)
			hook_sync_describe_all(&out);
		if (early || !others_done)
			hook_text_add(&out, hook_sync_hint());
		say_word_in_handler(t, REPLAY_WHY_DIVERGED, "signal", 0, text, context);
		hook_end_stay_and_leave(RP_EXIT_DIVERGED);
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
		hook_end_sleep();
	REAL(sigaction)(sig, traced ? &by_default : &before[sig], NULL);
	if (info->si_code <= 0)
		syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), sig);
	errno = saved;
}

/* Where it was is known to nobody else: it has no stream in which that could be noted. */
static void tell_of_others_death(int sig, void *context)
{
	char rank[16], number[16], place[1100];
	struct hook_text out = hook_text_in(rank, sizeof(rank));

	hook_text_number(&out, hook_process.rank);
	out = hook_text_in(number, sizeof(number));
	hook_text_number(&out, sig);
	out = hook_text_in(place, sizeof(place));
	hook_session_place(place_of_fault(context), &out);
	hook_say("rank ", rank, ": signal ", number, " in a thread that is not the program's, at ",
		 place, NULL);
}

/*
 * t is NULL in a thread that is not the program's, such as MPI's own. It has no stream, and the
 * threads that have one may be writing to it. So the recording is left as if the process had been
 * killed.
 */
static void record_death(struct hook_thread *t, int sig, void *context, bool outside)
{
	if (!t) {
		tell_of_others_death(sig, context);
		return;
	}
	if (!t->passive && !hook_process.record.stopped)
		hook_thread_open(t);
	if (outside) {
		hook_end_put_digest(t);
		note_crash(t, sig, context);
	}
	if (!hook_process.record.stopped)
		trace_order_put_last(&t->record.order, TRACE_END, TRACE_END_SIGNAL, (uint64_t)sig);
}

/* By the front, which ends us afterwards: threads may be anywhere. */
static bool is_asked_to_look(const siginfo_t *info)
{
	return hook_race && info->si_code == SI_QUEUE && info->si_value.sival_int == REPLAY_LOOK &&
	       hook_process_is_this();
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

	if (is_asked_to_look(info)) {
		hook_race_finish();
		errno = saved;
		return;
	}
	if (hook_process_is_this() &&
	    !__atomic_exchange_n(&hook_process.ended, true, __ATOMIC_ACQ_REL)) {
		bool outside = hook_depth == 0;

		hook_depth++;
		if (hook_process.mode == HOOK_RECORD) {
			record_death(hook_self, sig, context, outside);
		} else {
			t = hook_thread_self();
			hook_baton_leave(t);
			t->wait.in = "signal";
			say_end_by_signal(t, sig, context, hook_sync_await_others(t));
			hook_end_wait_for_all(t, outside);
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
