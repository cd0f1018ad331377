/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread is sent SIGTRAP, and then has the processor trap after every instruction, some thousand
 * times. If all its registers come back to what they were, and it has changed nothing in memory
 * meanwhile, it will do the same for ever unless another thread changes what it reads: it waits. If
 * it has changed nothing but registers and its own stack, and reads the same few words again and
 * again, it waits, too, but may give up some time. Otherwise it computes. If it reads the same word
 * again and again without changing it, it may do so until another thread changes it. Instructions
 * other than plain ones on general registers (vectors, strings, system calls), and our own code,
 * end the probe. One thread is probed at a time. If a debugger is at work, replay stops the thread
 * without a probe. Invariant: a SIGTRAP that we did not send has its default effect.
 */
#include "hook/thread/serial/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/x86.h"
#include "hook/kit/proc.h"
#include "hook/kit/text.h"
#include "hook/session/session.h"
#include "hook/thread/serial/baton.h"

#define STEPS 2000
#define STEPS_AT_WORK 400 /* of one that changes what others can see */
#define PLACES 16
#define LOOKS 4 /* at one place, to be waiting for it */
#define TRAP_FLAG 0x100
#define LONGEST_INSTRUCTION 15
#define REGISTERS 16
#define RED_ZONE 128
#define LEAST_TRACED_NS 50000000ull
#define OWN_STACK (64 << 10) /* above the stack pointer: of the loop and who called it */

enum state { IDLE, ASKED, STEPPING };

static struct {
	struct hook_thread *thread; /* that is asked, or NULL */
	enum state state;
	unsigned steps;
	bool changed; /* registers aside: it has changed something since `renewed` */
	bool works;   /* it has changed what others can see */
	/* a written place, to be compared after the instruction */
	const void *target;
	unsigned size;
	uint8_t before[8];
	bool own;
	/* what was read outside of its stack */
	uintptr_t place[PLACES];
	unsigned looks[PLACES];
	bool written[PLACES]; /* changed by itself */
	unsigned places;
	bool many; /* there were more */
	/* registers at some earlier step, and since when nothing was changed */
	greg_t then[REGISTERS + 1];
	unsigned renewed;
} probe;

/* In the order of their numbers in instructions, then the instruction pointer. */
static const int order[REGISTERS + 1] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
					 REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
					 REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

static uintptr_t address_of(const struct rp_x86 *insn, const greg_t *regs)
{
	uintptr_t at = (uintptr_t)(intptr_t)insn->offset;

	if (insn->base == RP_X86_RIP)
		at += (uintptr_t)regs[REG_RIP] + insn->length;
	else if (insn->base < REGISTERS)
		at += (uintptr_t)regs[order[insn->base]];
	if (insn->index < REGISTERS)
		at += (uintptr_t)regs[order[insn->index]] << insn->shift;
	return at;
}

static bool is_own(uintptr_t at, const greg_t *regs)
{
	return at - ((uintptr_t)regs[REG_RSP] - RED_ZONE) < OWN_STACK;
}

/* A number from PLACES on: there are too many. */
static unsigned place_of(uintptr_t at)
{
	unsigned i = 0;

	while (i < probe.places && probe.place[i] != at)
		i++;
	if (i == PLACES) {
		probe.many = true;
	} else if (i == probe.places) {
		probe.place[i] = at;
		probe.looks[i] = 0;
		probe.written[i] = false;
		probe.places++;
	}
	return i;
}

static void note_look(uintptr_t at)
{
	unsigned i = place_of(at);

	if (i < PLACES)
		probe.looks[i]++;
}

/* The instruction that has just run. */
static void look_back(void)
{
	bool same = !probe.target || memcmp(probe.target, probe.before, probe.size) == 0;
	unsigned i;

	if (!same)
		probe.changed = true;
	if (!same && !probe.own) {
		probe.works = true;
		i = place_of((uintptr_t)probe.target);
		if (i < PLACES)
			probe.written[i] = true;
	}
	probe.target = NULL;
}

/* The kernel is asked to read a mask there, for an operation that there is not. */
static bool is_there(uintptr_t at, unsigned size)
{
	const uintptr_t first = at & ~7ul, last = (at + size - 1) & ~7ul;

	for (uintptr_t p = first; p <= last; p += 8) {
		if (syscall(SYS_rt_sigprocmask, -1, p, NULL, 8) >= 0 || errno == EFAULT)
			return false;
	}
	return true;
}

/* The instruction that comes next: false if it is none for a wait. */
static bool look_ahead(const greg_t *regs)
{
	const uint8_t *code = (const uint8_t *)regs[REG_RIP];
	struct rp_x86 insn;
	uintptr_t at;

	rp_x86_decode(code, code + LONGEST_INSTRUCTION, &insn);
	if (insn.access == RP_X86_OTHER)
		return false;
	if (insn.access == RP_X86_NONE || insn.local)
		return insn.access != RP_X86_WRITES;
	at = address_of(&insn, regs);
	if (insn.access == RP_X86_WRITES) {
		/* It may be a fault that the program handles. */
		if (!is_own(at, regs) && !is_there(at, insn.size))
			return false;
		probe.target = (const void *)at;
		probe.size = insn.size;
		probe.own = is_own(at, regs);
		memcpy(probe.before, probe.target, insn.size);
	}
	if (!is_own(at, regs))
		note_look(at);
	return true;
}

/* Brent's way to find a cycle: compare with a state that is renewed at every power of two. */
static bool is_back(const greg_t *regs)
{
	bool same = !probe.changed && probe.steps > probe.renewed;

	for (int i = 0; same && i <= REGISTERS; i++)
		same = probe.then[i] == regs[order[i]];
	if (same)
		return true;
	if ((probe.steps & (probe.steps - 1)) == 0) {
		for (int i = 0; i <= REGISTERS; i++)
			probe.then[i] = regs[order[i]];
		probe.renewed = probe.steps;
		probe.changed = false;
	}
	return false;
}

static enum hook_probe verdict(void)
{
	for (unsigned i = 0; i < probe.places; i++) {
		if (probe.looks[i] < LOOKS || (probe.works && probe.written[i]))
			continue;
		return probe.works || probe.many ? HOOK_PROBE_LOOKS : HOOK_PROBE_COUNTS;
	}
	return HOOK_PROBE_COMPUTES;
}

static void answer(greg_t *regs, enum hook_probe what)
{
	struct hook_thread *t = probe.thread;

	regs[REG_EFL] &= ~TRAP_FLAG;
	probe.state = IDLE;
	__atomic_store_n(&probe.thread, NULL, __ATOMIC_RELEASE);
	hook_baton_answer(t, what);
}

static void step(greg_t *regs, int depth)
{
	look_back();
	if (depth)
		answer(regs, HOOK_PROBE_COMPUTES);
	else if (is_back(regs))
		answer(regs, HOOK_PROBE_WAITS);
	else if (++probe.steps > (probe.works || probe.many ? STEPS_AT_WORK : STEPS))
		answer(regs, verdict());
	else if (!look_ahead(regs))
		answer(regs, HOOK_PROBE_COMPUTES);
}

static void begin(greg_t *regs, int depth)
{
	probe.steps = probe.places = probe.renewed = 0;
	probe.target = NULL;
	probe.changed = probe.works = probe.many = false;
	probe.state = STEPPING;
	regs[REG_EFL] |= TRAP_FLAG;
	step(regs, depth);
}

static void by_default(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL};

	sigaction(SIGTRAP, &action, NULL);
	syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), SIGTRAP);
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	bool asked = hook_self && __atomic_load_n(&probe.thread, __ATOMIC_ACQUIRE) == hook_self;
	int error = errno, depth = hook_depth;

	(void)sig;
	hook_depth = HOOK_CLOSED;
	if (asked && probe.state == ASKED && info->si_code == SI_TKILL)
		begin(regs, depth);
	else if (asked && probe.state == STEPPING && info->si_code == TRAP_TRACE)
		step(regs, depth);
	else
		by_default();
	if (asked)
		hook_return_to(hook_self, depth);
	else
		hook_depth = depth;
	errno = error;
}

/*
 * Nobody else has a use for the signal; its handler is put there when it is first needed. Handlers
 * of the program may run in it, and be asked in their turn.
 */
static bool has_signal(void)
{
	struct sigaction now,
		ours = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER};

	if (sigaction(SIGTRAP, NULL, &now) != 0)
		return false;
	if (now.sa_flags & SA_SIGINFO)
		return now.sa_sigaction == on_trap;
	return now.sa_handler == SIG_DFL && sigaction(SIGTRAP, &ours, NULL) == 0;
}

/* The signal by which it may be asked, 0 if there is none: where one is blocked it would not come.
 */
static int signal_for(const struct hook_thread *t)
{
	char status[2048];
	const char *tracer, *blocked;
	int sig;

	hook_proc_of_thread(t->kernel_tid, "status", status, sizeof(status));
	tracer = hook_proc_value(status, "TracerPid:");
	blocked = hook_proc_value(status, "SigBlk:");
	if (!tracer || !blocked)
		return 0;
	sig = *tracer == '0' ? SIGTRAP : SIGURG;
	return strtoull(blocked, NULL, 16) >> (sig - 1) & 1 ? 0 : sig;
}

/* Is it in a call that no handler lets go on, not even one with SA_RESTART? */
static bool would_fail(const struct hook_thread *t)
{
	char text[64];

	if (!hook_proc_of_thread(t->kernel_tid, "syscall", text, sizeof(text)) || text[0] < '0' ||
	    text[0] > '9')
		return false;
	switch (strtol(text, NULL, 10)) {
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_msgsnd:
	case SYS_msgrcv:
	case SYS_io_getevents:
		return true;
	default:
		return false;
	}
}

static uint64_t cpu_ns(const struct hook_thread *t)
{
	clockid_t its_clock = (clockid_t)(~(unsigned int)t->kernel_tid << 3 | 6);
	struct timespec ts = {0, 0};

	syscall(SYS_clock_gettime, its_clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void on_urgent(int sig, siginfo_t *info, void *context)
{
	struct hook_thread *t = hook_self;
	int error = errno, depth = hook_depth;

	(void)sig, (void)info, (void)context;
	if (!t || __atomic_load_n(&probe.thread, __ATOMIC_ACQUIRE) != t || probe.state != ASKED)
		return;
	hook_depth = HOOK_CLOSED;
	probe.state = IDLE;
	__atomic_store_n(&probe.thread, NULL, __ATOMIC_RELEASE);
	if (!depth)
		hook_baton_answer(t, HOOK_PROBE_WAITS);
	hook_return_to(t, depth);
	errno = error;
}

/*
 * A debugger takes every trap for its own. In replay it is known that the thread comes to wait in a
 * loop before anything else, and once it has computed for longer than the whole run took it does.
 * Debuggers let this signal pass without a word.
 */
static bool may_stop(const struct hook_thread *t)
{
	static const struct hook_thread *who;
	static uint32_t version;
	static uint64_t since;
	struct sigaction now, ours = {.sa_sigaction = on_urgent,
				      .sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER};

	if (hook_process.mode != HOOK_REPLAY || !hook_slot->recorded_ms)
		return false;
	if (who != t || version != t->serial.baton) {
		who = t;
		version = t->serial.baton;
		since = cpu_ns(t);
	}
	if (cpu_ns(t) - since < LEAST_TRACED_NS + hook_slot->recorded_ms * 1250000 ||
	    sigaction(SIGURG, NULL, &now) != 0)
		return false;
	if (now.sa_flags & SA_SIGINFO)
		return now.sa_sigaction == on_urgent;
	return now.sa_handler == SIG_DFL && sigaction(SIGURG, &ours, NULL) == 0;
}

bool hook_probe_ask(struct hook_thread *t)
{
	int sig;

	if (__atomic_load_n(&probe.thread, __ATOMIC_ACQUIRE))
		return probe.thread == t;
	sig = signal_for(t);
	if (!sig || would_fail(t) || !(sig == SIGTRAP ? has_signal() : may_stop(t)))
		return false;
	probe.state = ASKED;
	__atomic_store_n(&probe.thread, t, __ATOMIC_RELEASE);
	if (syscall(SYS_tgkill, hook_process.pid, t->kernel_tid, sig) == 0)
		return true;
	__atomic_store_n(&probe.thread, NULL, __ATOMIC_RELEASE);
	return false;
}
