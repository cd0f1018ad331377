/* SPDX-License-Identifier: Apache-2.0 */
/* What the ends of a process have in common: see hook/common/end.h for what others ask for. */
#ifndef HOOK_ENDS_H
#define HOOK_ENDS_H

#include "hook/common/end.h"

/* For two milliseconds, whatever the program has made of nanosleep. */
void hook_end_sleep(void);

/* Replay: until every rank has said its last word; MPI may move messages meanwhile. */
void hook_end_wait_for_all(const struct hook_thread *t, bool may_progress);

/* The front ends us sooner, if there is one. */
void hook_end_stay_and_leave(int status) __attribute__((noreturn));

/* What is kept in memory, of events and of what threads did, is written. */
void hook_end_write_all(void);

/* Replay: the last word of the rank, with its stack. */
void hook_end_say_word(const struct hook_thread *t, const char *why, const char *call,
		       int64_t value, const char *text);

/* Recording: the events since the last digest are checked, too. */
void hook_end_put_digest(struct hook_thread *t);

/* Recording: the last record says how it ended; all streams are closed. */
void hook_end_finish_record(struct hook_thread *t, uint32_t how, uint64_t value);

/*
 * Replay: does the program end otherwise than it did? Then *expected says how it should go on.
 * Nothing is known of the end of a run that was killed, or that ended inside a call of MPI.
 */
bool hook_end_is_other(struct hook_thread *t, uint32_t how, int64_t value,
		       struct hook_text *expected);

/* Replay: returns if it ends, by this call, as it did. */
void hook_end_check(struct hook_thread *t, const char *call, uint32_t how, int64_t value);

#endif
