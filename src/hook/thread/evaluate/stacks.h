/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation: where calls come from, as numbers in a stream of stacks. See stacks.c. */
#ifndef HOOK_STACKS_H
#define HOOK_STACKS_H

#include "hook/common/hook.h"

struct hook_stacks;

/* Below S/graph: where the streams of this rank go. Ends the replay if it is not there. */
int hook_evaluate_directory(void);

/*
 * Events cannot be written, -rc says why: ends the replay, unless that is for something else.
 * Nothing may be written any more where hook_process.replay.unevaluated is true.
 */
void hook_evaluate_lost(struct hook_thread *t, int rc);

/* What is evaluated of this replay is not kept. */
void hook_evaluate_give_up(struct hook_thread *t);

/* "<name>.sites". Ends the replay if it cannot be made. */
struct hook_stacks *hook_stacks_open(const char *name);

/* Those of a thread, opened at first use. */
struct hook_stacks *hook_stacks_of(struct hook_thread *t);

/* The number of the stack that ends in the call at `site`; 0 if it cannot be written. */
uint32_t hook_stacks_site(struct hook_stacks *s, const void *site);

/* The stack itself, the call at `site` first: how many return addresses there are. */
uint32_t hook_stacks_walk(const void *site, uint64_t *frame, uint32_t most);

/* May be NULL. */
void hook_stacks_close(struct hook_stacks *s);

/* Writes the list of loaded files, if it has grown: see mapped.c. */
void hook_mapped_write(int dirfd);

#endif
