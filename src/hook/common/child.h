/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children of the program. They are not recorded: replay makes them again. Their numbers, how they
 * end, and the order in which the parent learns that are inputs of the parent, and are given back.
 * But a wait that reaped a child waits in replay until that very child has really ended. The code
 * is in input/process/child.c; code that waits for something asks here.
 */
#ifndef HOOK_CHILD_H
#define HOOK_CHILD_H

#include <semaphore.h>
#include <stdio.h>

#include "hook/common/hook.h"

/* In the parent: a call has made this child, or -1 and errno. Returns what the program is to get.
 */
pid_t hook_child_made(const char *call, pid_t pid);

/* Recording: there is a child of which nothing is recorded. */
void hook_child_note(void);

/* Replay: the child that the program knows by this number; 0: there is none. */
pid_t hook_child_real(pid_t given);

/* Replay: are there children that may yet do something for the program? */
bool hook_child_any(void);

/*
 * Replay, in a wait for something that children do. The struct is all 0 at first. True, after
 * saying so, when none of them has done anything for so long that they will not do it. They run
 * again, beside the program, and may be in another state; the program does not need them, because
 * it gets what was recorded.
 */
struct hook_child_patience {
	int64_t since, looked; /* ns */
	uint64_t work;
};
bool hook_child_given_up(struct hook_child_patience *p, int seconds);

/*
 * Replay: a semaphore that processes share. A child may hold it that did not hold it when recorded.
 */
void hook_child_wait_semaphore(sem_t *s);

/*
 * Seconds for which a child may sleep although, when recorded, it had already done what is waited
 * for.
 */
#define HOOK_CHILD_PATIENCE 20

/* pclose(3), with the recorded status. */
int hook_child_pclose(FILE *f);

#endif
