/* SPDX-License-Identifier: Apache-2.0 */
/* The process: is it one of ours, see hook.h. */
#ifndef HOOK_PROCESS_H
#define HOOK_PROCESS_H

#include "hook/common/hook.h"
#include "hook/kit/text.h"

/* In MPI_Init of a process that stayed inert so far: true if it is recorded from here on. */
bool hook_process_claim_late(void);

/* It is recorded or replayed, and we are not in a child of vfork, which shares our memory. */
bool hook_process_is_this(void);

/* In a forked child: from now on it is none of ours. */
void hook_process_is_child(void);

/* The path of a file of the rank; `at` is `end` if it did not fit. */
struct hook_text hook_rank_path(char *out, size_t size, const char *name);

/* The same file under a number that is out of the program's way. */
int hook_high_fd(int fd);

#endif
