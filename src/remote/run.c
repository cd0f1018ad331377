/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Breakpoints are in memory only while the process runs. A thread that stands on one is moved over
 * it first, alone. When one thread stops all are stopped; what another has to tell is kept, or
 * comes again by itself, as a breakpoint does.
 */
#include "remote/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "remote/process-inner.h"

#define TRAP 0xcc
#define STEP_ALONE 0.05   /* seconds after which a step is given the other threads */
#define RESTART_FIRST 512 /* what the kernel leaves of a call that is to be made again */
#define RESTART_LAST 516

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* A call that was interrupted is one that has not begun. */
void remote_run_stand_before_call(const struct remote_thread *t)
{
	struct user_regs_struct regs;
	long result;

	if (remote_process_registers(t, &regs) != 0)
		return;
	result = -(long)regs.rax;
	if ((long)regs.orig_rax < 0 || result < RESTART_FIRST || result > RESTART_LAST)
		return;
	regs.rax = regs.orig_rax;
	regs.rip -= 2;
	regs.orig_rax = (unsigned long long)-1;
	remote_process_set_registers(t, &regs);
}

/* --- debug registers */

#define DR(n) (offsetof(struct user, u_debugreg) + (n) * sizeof(((struct user *)0)->u_debugreg[0]))

#define ON_MARK (1ull << 6)
#define ON_WORD (1ull << 6 | 13ull << 28)

static uint64_t control_of(const struct remote_points *points, uint64_t mark, uint64_t word)
{
	static const unsigned sizes[9] = {[1] = 0, [2] = 1, [4] = 3, [8] = 2};
	uint64_t control = mark ? ON_MARK : word ? ON_WORD : 0;

	for (unsigned i = 0; points && i < REMOTE_WATCHES; i++) {
		const struct remote_watch *w = &points->watch[i];

		/* There is none for reading alone. */
		if (w->kind)
			control |= 1ull << (2 * i) |
				   (w->kind == REMOTE_WATCH_WRITE ? 1ull : 3ull) << (16 + 4 * i) |
				   (uint64_t)sizes[w->length] << (18 + 4 * i);
	}
	return control;
}

void remote_run_set_debug(struct remote_thread *t, const struct remote_points *points,
			  uint64_t mark, uint64_t word)
{
	uint64_t control = control_of(points, mark, word);

	for (unsigned i = 0; i < 4; i++) {
		uint64_t address = i == 3   ? mark ? mark : word
				   : points ? points->watch[i].address
					    : 0;

		if (!(control & 1ull << (2 * i)) || address == t->address[i])
			continue;
		/* An address is set while the register is off. */
		if (t->control)
			ptrace(PTRACE_POKEUSER, t->tid, DR(7), 0);
		t->control = 0;
		ptrace(PTRACE_POKEUSER, t->tid, DR(i), address);
		t->address[i] = address;
	}
	if (control == t->control)
		return;
	ptrace(PTRACE_POKEUSER, t->tid, DR(7), control);
	t->control = control;
}

/* Which one has come, and that is taken back; -1: none. */
static int debug_hit(const struct remote_thread *t)
{
	long bits;

	if (!t->control)
		return -1;
	errno = 0;
	bits = ptrace(PTRACE_PEEKUSER, t->tid, DR(6), NULL);
	if (errno || !(bits & 15))
		return -1;
	ptrace(PTRACE_POKEUSER, t->tid, DR(6), 0);
	/* What is watched comes before the mark: the mark's instruction has yet to run. */
	return __builtin_ctzl((unsigned long)bits & 15);
}

/* --- breakpoints */

bool remote_run_has_break(const struct remote_points *points, uint64_t at)
{
	for (size_t i = 0; points && i < points->breaks; i++) {
		if (points->at[i] == at)
			return true;
	}
	return false;
}

static uint8_t saved[REMOTE_BREAKS];

void remote_run_insert(const struct remote_process *p, const struct remote_points *points)
{
	static const uint8_t trap = TRAP;

	for (size_t i = 0; points && i < points->breaks; i++) {
		if (remote_process_read(p, points->at[i], &saved[i], 1) == 1)
			remote_process_write(p, points->at[i], &trap, 1);
	}
}

void remote_run_remove(const struct remote_process *p, const struct remote_points *points)
{
	for (size_t i = points ? points->breaks : 0; i > 0; i--)
		remote_process_write(p, points->at[i - 1], &saved[i - 1], 1);
}

/* --- running */

static void let_go(struct remote_thread *t, bool step)
{
	int signal = t->signal;

	if (t->running || t->has_pending)
		return;
	t->signal = 0;
	if (ptrace(step ? PTRACE_SINGLESTEP : PTRACE_CONT, t->tid, NULL, (void *)(long)signal) == 0)
		t->running = true;
}

/* A new thread of the process, which may come before its maker tells of it. */
static void meet(struct remote_process *p, int tid, int status)
{
	struct remote_thread *t = remote_process_by_tid(p, tid);

	if (!t)
		t = remote_process_add(p, tid, p->numbers + 1);
	t->running = false;
	(void)status;
}

static bool is_event(int status, int event)
{
	return WIFSTOPPED(status) && status >> 16 == event;
}

/*
 * Looks at a status of a thread. True: it is one to tell of; the thread stands. False: it was of no
 * interest, and the thread goes on or is gone.
 */
static bool take(struct remote_process *p, int tid, int status, bool stopping)
{
	struct remote_thread *t = remote_process_by_tid(p, tid);

	if (WIFEXITED(status) || WIFSIGNALED(status)) {
		if (tid == p->pid) {
			p->gone = true;
			p->status = status;
			return true;
		}
		remote_process_drop(p, tid);
		return false;
	}
	if (!t) {
		meet(p, tid, status);
		t = remote_process_by_tid(p, tid);
		if (p->how)
			remote_run_set_debug(t, p->how->points, 0, p->how->word);
		if (!stopping)
			let_go(t, false);
		return false;
	}
	t->running = false;
	if (is_event(status, PTRACE_EVENT_STOP)) {
		remote_run_stand_before_call(t);
		if (!stopping)
			let_go(t, false);
		return false;
	}
	if (status >> 16) {
		if (is_event(status, PTRACE_EVENT_EXEC)) {
			while (p->threads > 1)
				remote_process_drop(p, p->thread[0].tid == p->pid
							       ? p->thread[1].tid
							       : p->thread[0].tid);
			remote_process_open_memory(p);
			t = remote_process_by_tid(p, tid);
			/* The kernel has cleared them. */
			t->control = 0;
			memset(t->address, 0, sizeof(t->address));
			if (p->how)
				remote_run_set_debug(t, p->how->points,
						     t->number == p->how->number ? p->how->mark : 0,
						     p->how->word);
		}
		let_go(t, false);
		return false;
	}
	return true;
}

/* A trap that is an instruction, a step or a register; not one that somebody has sent. */
static bool is_our_trap(const struct remote_thread *t)
{
	siginfo_t info;

	return ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info) != 0 || info.si_code > 0;
}

void remote_run_put_off(struct remote_thread *t, int status, const struct remote_points *points)
{
	struct user_regs_struct regs;

	if (WSTOPSIG(status) == SIGTRAP && is_our_trap(t)) {
		int hit = debug_hit(t);

		/* It comes to the breakpoint again. */
		if (hit < 0 && remote_process_registers(t, &regs) == 0 &&
		    remote_run_has_break(points, regs.rip - 1)) {
			regs.rip--;
			remote_process_set_registers(t, &regs);
		}
		if (hit < 0 || hit >= REMOTE_WATCHES)
			return;
		ptrace(PTRACE_POKEUSER, t->tid, DR(6), 1ul << hit);
	}
	t->has_pending = true;
	t->pending = status;
}

static void stop_all(struct remote_process *p, const struct remote_points *points)
{
	int status;

	for (size_t i = 0; i < p->threads; i++) {
		if (p->thread[i].running)
			ptrace(PTRACE_INTERRUPT, p->thread[i].tid, NULL, NULL);
	}
	for (size_t i = 0; i < p->threads && !p->gone;) {
		struct remote_thread *t = &p->thread[i];
		int tid = t->tid;

		if (!t->running) {
			i++;
			continue;
		}
		if (!remote_process_await(tid, &status)) {
			remote_process_drop(p, tid);
			continue;
		}
		if (!take(p, tid, status, true))
			continue;
		t = remote_process_by_tid(p, tid);
		if (!t)
			continue;
		remote_run_put_off(t, status, points);
	}
}

static bool is_quiet(const struct remote_run *how, int signal)
{
	return how->quiet && signal > 0 && signal < 64 && *how->quiet >> signal & 1;
}

static bool is_counted(const struct remote_process *p, const struct remote_watch *w)
{
	char name[REPLAY_NAME_BYTES] = "";
	uint64_t now = 0;

	return remote_process_read(p, w->counter, &now, sizeof(now)) == sizeof(now) &&
	       now == w->value &&
	       (!w->owner || (remote_process_read(p, w->owner, name, sizeof(name)) > 0 &&
			      strncmp(name, w->name, sizeof(name)) == 0));
}

/* Several may watch the same word for different values. */
static bool is_wanted(const struct remote_process *p, const struct remote_points *points, int hit)
{
	if (!points->watch[hit].only)
		return true;
	for (unsigned i = 0; i < REMOTE_WATCHES; i++) {
		const struct remote_watch *w = &points->watch[i];

		if (w->only && w->address == points->watch[hit].address && is_counted(p, w))
			return true;
	}
	return false;
}

/* What the stop of a thread is. False: nothing to tell, it may go on. */
bool remote_run_explain(const struct remote_process *p, const struct remote_run *how,
			struct remote_thread *t, int status, struct remote_stop *stop)
{
	struct user_regs_struct regs;
	int hit;

	*stop = (struct remote_stop){.number = t->number, .signal = WSTOPSIG(status)};
	if (WSTOPSIG(status) != SIGTRAP || !is_our_trap(t)) {
		t->signal = WSTOPSIG(status);
		stop->kind = REMOTE_SIGNAL;
		return !is_quiet(how, t->signal);
	}
	hit = debug_hit(t);
	if (hit >= 0 && hit < REMOTE_WATCHES && how->points) {
		stop->kind = REMOTE_WATCHED;
		stop->address = how->points->watch[hit].address;
		stop->watch = how->points->watch[hit].kind;
		stop->event = how->points->watch[hit].only;
		return is_wanted(p, how->points, hit);
	}
	if (hit == REMOTE_WATCHES) {
		stop->kind = how->mark ? REMOTE_MARK : REMOTE_TOLD;
		return true;
	}
	if (how->points && how->points->breaks && remote_process_registers(t, &regs) == 0 &&
	    remote_run_has_break(how->points, regs.rip - 1) &&
	    !(how->step && t->number == how->number)) {
		regs.rip--;
		remote_process_set_registers(t, &regs);
		stop->kind = REMOTE_BREAK;
		return true;
	}
	stop->kind = REMOTE_STEPPED;
	return true;
}

static bool has_pending(struct remote_process *p, const struct remote_run *how,
			struct remote_stop *stop)
{
	for (size_t i = 0; i < p->threads; i++) {
		struct remote_thread *t = &p->thread[i];

		if (!t->has_pending || (how->alone && t->number != how->number))
			continue;
		t->has_pending = false;
		if (remote_run_explain(p, how, t, t->pending, stop) && stop->kind != REMOTE_STEPPED)
			return true;
	}
	return false;
}

static void let_all_go(struct remote_process *p, const struct remote_run *how, bool others)
{
	for (size_t i = 0; i < p->threads; i++) {
		struct remote_thread *t = &p->thread[i];
		bool it = t->number == how->number;

		if (!it && (how->alone || !others || (p->only && t->number != p->only)))
			continue;
		remote_run_set_debug(t, how->points, it ? how->mark : 0, how->word);
		let_go(t, how->step && it);
	}
}

/* Waits for the first that has something to tell. */
static void await(struct remote_process *p, const struct remote_run *how, struct remote_stop *stop,
		  bool others)
{
	double cpu = how->cpu ? remote_process_cpu(p) + how->cpu : 0, began = 0;
	/* Where ticks are too far apart it is asked all the time. */
	bool asks = how->cpu && how->cpu < 2e-6 * REMOTE_TICK_US;
	int status, tid;

	for (;;) {
		tid = waitpid(-1, &status, __WALL | (asks ? WNOHANG : 0));
		if (tid > 0) {
			if (!take(p, tid, status, false))
				continue;
			if (p->gone) {
				stop->kind = REMOTE_GONE;
				return;
			}
			if (remote_run_explain(p, how, remote_process_by_tid(p, tid), status, stop))
				return;
			let_go(remote_process_by_tid(p, tid),
			       how->step && remote_process_by_tid(p, tid)->number == how->number);
			continue;
		}
		if (tid < 0 && errno == ECHILD) {
			p->gone = true;
			stop->kind = REMOTE_GONE;
			return;
		}
		if (!began)
			began = now();
		if (how->cpu && remote_process_cpu(p) >= cpu) {
			stop->kind = REMOTE_TIRED;
			return;
		}
		if (!others && now() - began > STEP_ALONE && !how->alone) {
			others = true;
			let_all_go(p, how, true);
		}
		if ((!asks || now() - began > 1e-6 * REMOTE_TICK_US) && how->wake &&
		    how->wake(how->context)) {
			stop->kind = REMOTE_TOLD;
			return;
		}
		asks = how->cpu && cpu - remote_process_cpu(p) < 2e-6 * REMOTE_TICK_US;
	}
}

/* Moves threads that stand on a breakpoint over it. False: one of them has something to tell. */
static bool leave_breaks(struct remote_process *p, const struct remote_run *how,
			 struct remote_stop *stop)
{
	struct user_regs_struct regs;

	for (size_t i = 0; i < p->threads; i++) {
		struct remote_thread *t = &p->thread[i];
		struct remote_points watched = {0};
		struct remote_run over = {.number = t->number, .step = true};

		if (how->alone && t->number != how->number)
			continue;
		if (t->has_pending || remote_process_registers(t, &regs) != 0 ||
		    !remote_run_has_break(how->points, regs.rip))
			continue;
		memcpy(watched.watch, how->points->watch, sizeof(watched.watch));
		over.points = &watched;
		over.wake = how->wake;
		over.context = how->context;
		over.quiet = how->quiet;
		let_all_go(p, &over, false);
		await(p, &over, stop, false);
		stop_all(p, NULL);
		if (stop->kind != REMOTE_STEPPED)
			return false;
	}
	return true;
}

void remote_process_run(struct remote_process *p, const struct remote_run *how,
			struct remote_stop *stop)
{
	const struct remote_thread *t = remote_process_thread(p, how->number);
	enum remote_telling telling = REMOTE_TELLS_NOTHING;

	*stop = (struct remote_stop){.number = how->number};
	if (p->gone) {
		stop->kind = REMOTE_GONE;
		return;
	}
	if (has_pending(p, how, stop))
		return;
	if (p->turns) {
		remote_turns_run(p, how, stop);
		return;
	}
	if (!how->step && how->points && how->points->breaks && !leave_breaks(p, how, stop))
		return;
	if (!how->step)
		remote_run_insert(p, how->points);
	if (how->step && t)
		telling = remote_process_tells(p, t);
	p->how = how;
	let_all_go(p, how, !how->step || p->threads == 1);
	await(p, how, stop, !how->step);
	p->how = NULL;
	if (!p->gone) {
		stop_all(p, how->step ? NULL : how->points);
		if (!how->step)
			remote_run_remove(p, how->points);
		t = remote_process_thread(p, how->number);
		if (t && stop->kind != REMOTE_SIGNAL)
			remote_process_hide_step(p, t, telling);
	}
}
