/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the replay of a rank for a debugger: alone, traced from its first instruction. */
#ifndef REMOTE_START_H
#define REMOTE_START_H

#include "remote/travel.h"

/*
 * Brings the rank to where its history begins: main, or where MPI_Init returns. `t` has its
 * functions; the front has its run, and is closed by remote_start_close. 0, or the exit code after
 * saying why.
 */
int remote_start(struct remote_travel *t) __attribute__((warn_unused_result));
/* The same in an open session, without a process. */
int remote_start_first(struct remote_travel *t) __attribute__((warn_unused_result));
/* No more than the process, before its first instruction, from the image that the front names. */
int remote_start_process(struct remote_travel *t) __attribute__((warn_unused_result));
void remote_start_close(struct remote_travel *t);

/* Has it started other processes? They run again, and need to find what it has written for them. */
bool remote_start_has_children(const struct remote_travel *t);

/* For struct remote_run: it is at its end, or somebody wants it to stop. */
bool remote_start_is_over(void *context);
/* It did not come where it should: says so, and returns the exit code. */
int remote_start_say_lost(struct remote_travel *t);

#endif
