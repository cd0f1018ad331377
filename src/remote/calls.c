/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/calls.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#define CALL_BYTES 2          /* of the instruction */
#define SOME_TIME 50000000    /* nanoseconds, for a time of day that nobody knows */
#define STEP_FLAGS 0x10100ull /* of the next instruction alone: stepped, and not stopped at */
#define ALL_BITS 0xffffffffu

/* As the instruction leaves them, whoever has made it. */
static void leave_behind(struct user_regs_struct *regs)
{
	regs->orig_rax = (unsigned long long)-1;
	regs->rcx = regs->rip + CALL_BYTES;
	regs->eflags &= ~STEP_FLAGS;
	regs->r11 = regs->eflags;
}

static enum remote_call done(struct user_regs_struct *regs, long result)
{
	leave_behind(regs);
	regs->rip += CALL_BYTES;
	regs->rax = (unsigned long long)result;
	return REMOTE_CALL_DONE;
}

static enum remote_call waits(struct remote_process *p, struct remote_thread *t,
			      struct user_regs_struct *regs, enum remote_wait wait)
{
	leave_behind(regs);
	t->wait = wait;
	t->since = ++p->waits;
	t->woken = t->late = t->again = false;
	return REMOTE_CALL_WAITS;
}

/* Until when, for a time at that address. */
static int64_t until(const struct remote_process *p, uint64_t at, bool absolute)
{
	struct timespec ts;

	if (!at)
		return -1;
	if (remote_process_read(p, at, &ts, sizeof(ts)) != sizeof(ts) || absolute ||
	    ts.tv_sec > 1000)
		return p->clock + SOME_TIME;
	return p->clock + ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* How many of those who wait there have been woken, the first ones first. */
static long wake(struct remote_process *p, uint64_t word, uint64_t most, uint32_t bits)
{
	long woken = 0;

	while ((uint64_t)woken < most) {
		struct remote_thread *first = NULL;

		for (size_t i = 0; i < p->threads; i++) {
			struct remote_thread *t = &p->thread[i];

			if (t->wait == REMOTE_ON_WORD && t->word == word && !t->woken &&
			    t->bits & bits && (!first || t->since < first->since))
				first = t;
		}
		if (!first)
			break;
		first->woken = true;
		woken++;
	}
	return woken;
}

static enum remote_call judge_futex(struct remote_process *p, struct remote_thread *t,
				    struct user_regs_struct *regs)
{
	int op = (int)regs->rsi, command = op & FUTEX_CMD_MASK;
	bool bits = command == FUTEX_WAIT_BITSET || command == FUTEX_WAKE_BITSET;
	uint32_t now = 0;

	switch (command) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		/* The kernel says what is wrong. */
		if (remote_process_read(p, regs->rdi, &now, sizeof(now)) != sizeof(now) ||
		    now != (uint32_t)regs->rdx)
			return REMOTE_CALL_MADE;
		t->word = regs->rdi;
		t->value = now;
		t->bits = bits ? (uint32_t)regs->r9 : ALL_BITS;
		t->until = until(p, regs->r10, bits);
		return waits(p, t, regs, REMOTE_ON_WORD);
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
		if (!(op & FUTEX_PRIVATE_FLAG))
			break;
		return done(regs, wake(p, regs->rdi, regs->rdx & 0x7fffffff,
				       bits ? (uint32_t)regs->r9 : ALL_BITS));
	default:
		break;
	}
	/* Everybody there looks for himself; that may always happen. */
	if (command != FUTEX_LOCK_PI && command != FUTEX_UNLOCK_PI) {
		wake(p, regs->rdi, UINT64_MAX, ALL_BITS);
		wake(p, regs->r8, UINT64_MAX, ALL_BITS);
	}
	return REMOTE_CALL_MADE;
}

/* Whoever gets a signal looks at it first, and then makes its call again. */
static void poke(struct remote_process *p, int tid)
{
	for (size_t i = 0; i < p->threads; i++) {
		struct remote_thread *t = &p->thread[i];

		if ((t->tid == tid || !tid) && !remote_process_is_out(t))
			t->again = true;
	}
}

enum remote_call remote_call_judge(struct remote_process *p, struct remote_thread *t,
				   struct user_regs_struct *regs)
{
	switch (regs->rax) {
	case SYS_futex:
		return judge_futex(p, t, regs);
	case SYS_nanosleep:
		t->until = until(p, regs->rdi, false);
		return t->until < 0 ? REMOTE_CALL_MADE : waits(p, t, regs, REMOTE_ASLEEP);
	case SYS_clock_nanosleep:
		t->until = until(p, regs->rdx, regs->rsi != 0);
		return t->until < 0 ? REMOTE_CALL_MADE : waits(p, t, regs, REMOTE_ASLEEP);
	case SYS_sched_yield:
		done(regs, 0);
		return REMOTE_CALL_YIELDS;
	case SYS_tgkill:
		poke(p, (int)regs->rsi);
		return REMOTE_CALL_MADE;
	case SYS_tkill:
		poke(p, (int)regs->rdi);
		return REMOTE_CALL_MADE;
	case SYS_kill:
		poke(p, 0);
		return REMOTE_CALL_MADE;
	case SYS_exit:
		return t->tid == p->pid && p->threads > 1 ? REMOTE_CALL_LEAVES : REMOTE_CALL_MADE;
	default:
		return REMOTE_CALL_MADE;
	}
}

bool remote_call_is_over(const struct remote_process *p, const struct remote_thread *t)
{
	uint32_t now;

	if (t->wait == REMOTE_READY)
		return true;
	if (remote_process_is_out(t))
		return false;
	if (t->woken || t->late || t->again)
		return true;
	return t->wait == REMOTE_ON_WORD &&
	       remote_process_read(p, t->word, &now, sizeof(now)) == sizeof(now) && now != t->value;
}

bool remote_call_end(struct remote_thread *t)
{
	struct user_regs_struct regs;
	bool again = t->again && !t->woken && !t->late;
	long result = t->wait == REMOTE_ASLEEP || t->woken ? 0 : t->late ? -ETIMEDOUT : -EAGAIN;

	t->wait = REMOTE_READY;
	t->again = false;
	if (again || remote_process_registers(t, &regs) != 0)
		return false;
	done(&regs, result);
	return remote_process_set_registers(t, &regs) == 0;
}
