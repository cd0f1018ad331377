/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that take turns: one of them runs until it waits for another one, or yields; then the
 * next one that can, by number. What they wait for is decided by us (calls.h), and nobody waits for
 * time while another one can run. So which instruction of which thread follows which one depends on
 * nothing but the replay: the whole process does the same each time, as one thread does.
 *
 * What cannot be foreseen is counted (`unsure`): a thread that waits in the kernel for something
 * that we do not know, or runs for so long that it may wait for a word that nobody else can change.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/ptrace.h>

#include "remote/calls.h"
#include "remote/process-inner.h"

#define AT_CALL (SIGTRAP | 0x80)
#define IN_KERNEL 0.05 /* seconds after which a thread that sleeps there lets others run */
#define RETRY 1000000  /* nanoseconds of the process's clock until it tries again */
#define LONG_TURN 3.0  /* seconds of processor time */
#define NAP_US 500     /* where nobody can run */

struct run {
	struct remote_process *p;
	const struct remote_run *how;
	struct remote_stop *stop;
	double cpu;      /* until then, or 0 */
	double turn_cpu; /* when the turn began, or would have if all of it were in this run */
	bool inserted;   /* breakpoints are in memory */
	bool first;      /* nobody has run yet */
	struct remote_run over; /* from a breakpoint on which a thread stands */
	struct remote_points watched;
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void set_breaks(struct run *r, bool in)
{
	if (in == r->inserted)
		return;
	if (in)
		remote_run_insert(r->p, r->how->points);
	else
		remote_run_remove(r->p, r->how->points);
	r->inserted = in;
}

/* --- whose turn it is */

/* The next one by number that can run, not the one who had the turn unless there is no other. */
static struct remote_thread *next(const struct remote_process *p)
{
	struct remote_thread *after = NULL, *lowest = NULL;

	for (size_t i = 0; i < p->threads; i++) {
		struct remote_thread *t = &p->thread[i];

		if (!remote_call_is_over(p, t))
			continue;
		if (t->number > p->turn && (!after || t->number < after->number))
			after = t;
		if (!lowest || t->number < lowest->number)
			lowest = t;
	}
	return after ? after : lowest;
}

/* Nobody can run: the first whose time is over does. */
static bool let_time_pass(struct remote_process *p)
{
	struct remote_thread *first = NULL;

	for (size_t i = 0; i < p->threads; i++) {
		struct remote_thread *t = &p->thread[i];

		if ((t->wait == REMOTE_ON_WORD || t->wait == REMOTE_ASLEEP) && t->until >= 0 &&
		    (!first || t->until < first->until ||
		     (t->until == first->until && t->number < first->number)))
			first = t;
	}
	if (!first)
		return false;
	p->clock = first->until > p->clock ? first->until : p->clock;
	first->late = true;
	return true;
}

static bool others_can_run(const struct remote_process *p, const struct remote_thread *t)
{
	for (size_t i = 0; i < p->threads; i++) {
		if (&p->thread[i] != t && remote_call_is_over(p, &p->thread[i]))
			return true;
	}
	return false;
}

static void begin_turn(struct run *r, const struct remote_thread *t)
{
	r->p->turn = t->number;
	r->p->taken++;
	r->p->turn_cpu = 0;
	r->turn_cpu = remote_process_cpu(r->p);
}

static void forget(struct remote_process *p, int tid, int status)
{
	if (tid != p->pid) {
		remote_process_drop(p, tid);
		return;
	}
	p->gone = true;
	p->status = status;
}

/* Of threads that stand: somebody has ended the process. */
static void take_ends(struct remote_process *p)
{
	int status, tid;

	while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
		if (!WIFSTOPPED(status))
			forget(p, tid, status);
	}
}

/* NULL: it is told to stop, or gone. */
static struct remote_thread *take_turn(struct run *r)
{
	struct remote_process *p = r->p;
	struct remote_thread *t = remote_process_thread(p, p->turn);

	/* Its turn may have begun without it. */
	if (t && (t->wait == REMOTE_READY || (t->ran < p->taken && remote_call_is_over(p, t))))
		return t;
	while (!(t = next(p))) {
		take_ends(p);
		if (p->gone)
			return NULL;
		if (r->how->wake && r->how->wake(r->how->context)) {
			r->stop->kind = REMOTE_TOLD;
			return NULL;
		}
		usleep(let_time_pass(p) ? NAP_US : REMOTE_TICK_US);
	}
	begin_turn(r, t);
	return t;
}

static void give_turn_away(struct run *r)
{
	struct remote_thread *t = next(r->p);

	if (t)
		begin_turn(r, t);
}

/* --- calls */

static bool stands_before_call(const struct remote_process *p, const struct user_regs_struct *regs)
{
	uint8_t code[2];

	return remote_process_read(p, regs->rip, code, 2) == 2 && code[0] == 0x0f &&
	       code[1] == 0x05;
}

/* The kernel has just begun the call, and is not to make it. */
static void call_off(const struct remote_thread *t, const struct user_regs_struct *regs)
{
	struct user_regs_struct none = *regs;
	int status;

	none.orig_rax = (unsigned long long)-1;
	if (remote_process_set_registers(t, &none) == 0 &&
	    ptrace(PTRACE_SYSCALL, t->tid, NULL, NULL) == 0)
		remote_process_await(t->tid, &status);
}

static bool is_in_call(const struct remote_thread *t)
{
	struct ptrace_syscall_info info;

	return ptrace(PTRACE_GET_SYSCALL_INFO, t->tid, sizeof(info), &info) > 0 &&
	       info.op == PTRACE_SYSCALL_INFO_ENTRY;
}

/* Its end is not told of before that of the others. */
static void leave(const struct remote_process *p, struct remote_thread *t)
{
	t->wait = REMOTE_LEFT;
	ptrace(PTRACE_CONT, t->tid, NULL, NULL);
	while (remote_process_state(p->pid, t->tid) != 'Z' &&
	       remote_process_state(p->pid, t->tid) != 'X')
		usleep(NAP_US);
}

/* What becomes of the call that the thread stands before, or that the kernel has just begun. */
static enum remote_call call(struct run *r, struct remote_thread *t, bool begun)
{
	struct user_regs_struct regs, was;
	enum remote_call what;

	if (remote_process_registers(t, &regs) != 0)
		return REMOTE_CALL_MADE;
	was = regs;
	if (begun) {
		regs.rax = regs.orig_rax;
		regs.rip -= 2;
	} else if (!stands_before_call(r->p, &regs)) {
		return REMOTE_CALL_MADE;
	}
	what = remote_call_judge(r->p, t, &regs);
	if (what == REMOTE_CALL_MADE || what == REMOTE_CALL_LEAVES)
		return what;
	if (begun)
		call_off(t, &was);
	remote_process_set_registers(t, &regs);
	if (what == REMOTE_CALL_YIELDS)
		give_turn_away(r);
	return what;
}

/* --- running */

/* The thread that has just been made stands, and waits for its turn. */
static void meet(struct remote_process *p, const struct remote_thread *maker)
{
	unsigned long tid;
	int status;

	if (ptrace(PTRACE_GETEVENTMSG, maker->tid, NULL, &tid) == 0 &&
	    remote_process_await((int)tid, &status) && WIFSTOPPED(status))
		remote_process_add(p, (int)tid, p->numbers + 1);
}

static void is_another_program(struct run *r, struct remote_thread *t)
{
	struct remote_process *p = r->p;

	while (p->threads > 1)
		remote_process_drop(p, p->thread[0].tid == p->pid ? p->thread[1].tid
								  : p->thread[0].tid);
	t = &p->thread[0];
	remote_process_open_memory(p);
	t->control = 0;
	memset(t->address, 0, sizeof(t->address));
	p->turn = t->number;
}

/* It has been told to stop. Its status is the last one. */
static void come_to_stop(struct run *r, int tid)
{
	struct remote_process *p = r->p;
	struct user_regs_struct regs;
	int status;

	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	for (;;) {
		struct remote_thread *t = remote_process_by_tid(p, tid);

		if (!t || !remote_process_await(tid, &status))
			return;
		t->running = false;
		if (!WIFSTOPPED(status)) {
			forget(p, tid, status);
			return;
		}
		if (status >> 16 == PTRACE_EVENT_STOP) {
			remote_run_stand_before_call(t);
			return;
		}
		if (status >> 16 == PTRACE_EVENT_CLONE) {
			meet(p, t);
		} else if (status >> 16 == PTRACE_EVENT_EXEC) {
			is_another_program(r, t);
			return;
		} else if (status >> 16 == 0 && WSTOPSIG(status) == AT_CALL) {
			/* What has not begun can be begun later. */
			if (is_in_call(t) && remote_process_registers(t, &regs) == 0) {
				call_off(t, &regs);
				regs.rax = regs.orig_rax;
				regs.rip -= 2;
				regs.orig_rax = (unsigned long long)-1;
				remote_process_set_registers(t, &regs);
			} else {
				remote_run_stand_before_call(t);
			}
			return;
		} else if (status >> 16 == 0) {
			remote_run_put_off(t, status, r->inserted ? r->how->points : NULL);
			return;
		}
		t = remote_process_by_tid(p, tid);
		if (!t || ptrace(PTRACE_SYSCALL, tid, NULL, NULL) != 0)
			return;
	}
}

enum outcome { OUTCOME_STATUS, OUTCOME_STOP, OUTCOME_OTHERS };

/* Waits for its next status; or stops it, for good or for the sake of others. */
static enum outcome await(struct run *r, struct remote_thread *t, int *status)
{
	struct remote_process *p = r->p;
	const struct remote_run *how = r->how;
	bool asks = r->cpu && r->cpu - remote_process_cpu(p) < 2e-6 * REMOTE_TICK_US;
	double began = 0, asleep = 0;
	int got, tid = t->tid;

	for (;;) {
		got = waitpid(tid, status, __WALL | (asks ? WNOHANG : 0));
		if (got == tid)
			return OUTCOME_STATUS;
		if (got < 0 && errno == ECHILD) {
			forget(p, tid, 0);
			return OUTCOME_OTHERS;
		}
		if (!began)
			began = now();
		if (r->cpu && remote_process_cpu(p) >= r->cpu) {
			come_to_stop(r, tid);
			r->stop->kind = REMOTE_TIRED;
			return OUTCOME_STOP;
		}
		asks = r->cpu && r->cpu - remote_process_cpu(p) < 2e-6 * REMOTE_TICK_US;
		if (asks && now() - began < 1e-6 * REMOTE_TICK_US)
			continue;
		if (how->wake && how->wake(how->context)) {
			come_to_stop(r, tid);
			r->stop->kind = REMOTE_TOLD;
			return OUTCOME_STOP;
		}
		if (remote_process_state(p->pid, tid) != 'S')
			asleep = 0;
		else if (!asleep)
			asleep = now();
		if ((asleep && now() - asleep > IN_KERNEL) ||
		    remote_process_cpu(p) - r->turn_cpu > LONG_TURN) {
			if (!others_can_run(p, t) && !let_time_pass(p))
				continue;
			come_to_stop(r, tid);
			p->unsure++;
			t = remote_process_by_tid(p, tid);
			if (t && asleep && !t->has_pending) {
				t->wait = REMOTE_ASLEEP;
				t->until = p->clock + RETRY;
				t->woken = t->late = false;
				t->again = true;
				t->since = ++p->waits;
			}
			give_turn_away(r);
			return OUTCOME_OTHERS;
		}
	}
}

/* What the status of the thread means. True: there is something to tell. */
static bool take(struct run *r, struct remote_thread *t, int status, const struct remote_run *as)
{
	struct remote_process *p = r->p;

	t->running = false;
	if (!WIFSTOPPED(status)) {
		forget(p, t->tid, status);
		if (p->gone)
			r->stop->kind = REMOTE_GONE;
		return p->gone;
	}
	if (status >> 16 == PTRACE_EVENT_CLONE) {
		meet(p, t);
		return false;
	}
	if (status >> 16 == PTRACE_EVENT_EXEC) {
		is_another_program(r, t);
		r->inserted = false;
		return false;
	}
	if (status >> 16) {
		remote_run_stand_before_call(t);
		return false;
	}
	if (WSTOPSIG(status) != AT_CALL)
		return remote_run_explain(p, as, t, status, r->stop);
	if (is_in_call(t) && call(r, t, true) == REMOTE_CALL_LEAVES)
		leave(p, t);
	return false;
}

/* The thread whose turn it is runs until something happens. True: there is something to tell. */
static bool go(struct run *r, struct remote_thread *t)
{
	const struct remote_run *how = r->how, *as = how;
	bool step = how->step && t->number == how->number, mine = t->number == how->number;
	enum remote_telling telling = REMOTE_TELLS_NOTHING;
	struct user_regs_struct regs;
	unsigned number = t->number;
	int signal = t->signal, status;
	bool told;

	if (!step && r->first && how->points && remote_process_registers(t, &regs) == 0 &&
	    remote_run_has_break(how->points, regs.rip))
		as = &r->over;
	r->first = false;
	step |= as == &r->over;
	if (step && !signal) {
		enum remote_call what = call(r, t, false);

		if (what == REMOTE_CALL_DONE || what == REMOTE_CALL_YIELDS) {
			*r->stop = (struct remote_stop){.kind = REMOTE_STEPPED, .number = number};
			return as == how;
		}
		if (what == REMOTE_CALL_WAITS)
			return false;
		/* Whoever leaves is met in the call: no step ends behind it. */
		step = what != REMOTE_CALL_LEAVES;
		telling = remote_process_tells(r->p, t);
	}
	set_breaks(r, !step);
	remote_run_set_debug(t, how->points, mine ? how->mark : 0, how->word);
	t->signal = 0;
	if (ptrace(step ? PTRACE_SINGLESTEP : PTRACE_SYSCALL, t->tid, NULL, (void *)(long)signal) !=
	    0) {
		/* It was ended from outside. */
		if (errno != ESRCH || !remote_process_wait(t->tid, &status, 1))
			return false;
		return take(r, t, status, as);
	}
	t->running = true;
	switch (await(r, t, &status)) {
	case OUTCOME_STATUS:
		break;
	case OUTCOME_STOP:
		return true;
	case OUTCOME_OTHERS:
		return false;
	}
	told = take(r, t, status, as);
	t = remote_process_thread(r->p, number);
	if (t && step && told && r->stop->kind != REMOTE_SIGNAL)
		remote_process_hide_step(r->p, t, telling);
	return told && !(as == &r->over && r->stop->kind == REMOTE_STEPPED);
}

void remote_turns_run(struct remote_process *p, const struct remote_run *how,
		      struct remote_stop *stop)
{
	struct run r = {.p = p, .how = how, .stop = stop, .first = true};
	struct remote_thread *t;
	bool over = false;

	r.over = *how;
	if (how->points)
		memcpy(r.watched.watch, how->points->watch, sizeof(r.watched.watch));
	r.over.points = &r.watched;
	r.cpu = how->cpu ? remote_process_cpu(p) + how->cpu : 0;
	r.turn_cpu = remote_process_cpu(p) - p->turn_cpu;
	while (!over && (t = take_turn(&r))) {
		*stop = (struct remote_stop){.number = t->number};
		if (how->turn && p->taken >= how->turn) {
			stop->kind = REMOTE_TURN;
			break;
		}
		t->ran = p->taken;
		if (t->wait == REMOTE_READY || !remote_call_end(t)) {
			over = go(&r, t);
		} else if (how->step && t->number == how->number) {
			stop->kind = REMOTE_STEPPED;
			over = true;
		}
		over |= p->gone;
	}
	if (!p->gone) {
		set_breaks(&r, false);
		p->turn_cpu = remote_process_cpu(p) - r.turn_cpu;
	} else {
		stop->kind = REMOTE_GONE;
	}
}
