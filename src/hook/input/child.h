/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children of the program. They are not recorded: replay makes them again. Their numbers, how they
 * end and in which order the parent learns that are inputs of the parent, and given back; but a
 * wait that reaped a child waits in replay until that very child has really come to its end.
 */
#ifndef HOOK_INPUT_CHILD_H
#define HOOK_INPUT_CHILD_H

#include <stdio.h>

#include "hook/input/io.h"

/* In the parent: a call has made this child, or -1 and errno. Returns what the program is to get.
 */
pid_t hook_child_made(const char *call, pid_t pid);

/* Recording: there is a child of which nothing is recorded. */
void hook_child_note(void);

/* Replay: the child that the program knows by this number; 0: there is none. */
pid_t hook_child_real(pid_t given);

/* Replay: are there children that may yet do something for the program? */
bool hook_child_any(void);

/* pclose(3), with the recorded status. */
int hook_child_pclose(FILE *f);

#endif
