/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls in which threads wait for each other, where threads take turns (turns.c). The kernel
 * never sees them: who would wait stands before the call until its wait is over, and is then moved
 * behind it. So it depends on nothing but the program when that is.
 */
#ifndef REMOTE_CALLS_H
#define REMOTE_CALLS_H

#include "remote/process.h"

enum remote_call {
	REMOTE_CALL_MADE,   /* by the kernel */
	REMOTE_CALL_DONE,   /* by us; the thread stands behind it */
	REMOTE_CALL_YIELDS, /* the same, and it is the turn of others */
	REMOTE_CALL_WAITS,  /* it is noted in the thread for what; it stands before the call */
	REMOTE_CALL_LEAVES, /* the thread, and others go on without it */
};

/* What becomes of the call that the thread stands before, with these registers; they become those
   that it is to have, unless the kernel makes the call. */
enum remote_call remote_call_judge(struct remote_process *p, struct remote_thread *t,
				   struct user_regs_struct *regs);

/* Is its wait over? And moves it behind the call, or lets it make the call again. True: behind. */
bool remote_call_is_over(const struct remote_process *p, const struct remote_thread *t);
bool remote_call_end(struct remote_thread *t);

#endif
