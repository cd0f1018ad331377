/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs: values the outside world gives to the program. A wrapper says how to get the value; the
 * mode decides whether that is done and noted (record) or the noted value is given back (replay).
 * Wrappers call these only where hook_depth was 0; the depth is raised while they work.
 */
#ifndef HOOK_INPUT_H
#define HOOK_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hook/common/hook.h"
#include "hook/common/note.h"

/* Looks up all real functions; called at start, so that no wrapper has to do it later. */
void hook_reals_resolve(void);

/* Gets the real value: 0 (or a number of bytes), or -errno. */
typedef int hook_input_number_fn(void *ctx, uint64_t *value);
typedef ssize_t hook_input_bytes_fn(void *ctx, void *buffer, size_t size);

/* 0 and *value, or -1 and errno. `kind` is a number kind of enum trace_input_kind. */
int hook_input_number(uint32_t kind, const char *call, hook_input_number_fn *fetch, void *ctx,
		      uint64_t *value);

/* Bytes put in the buffer, or -1 and errno. `kind` is a bytes kind. */
ssize_t hook_input_bytes(uint32_t kind, const char *call, hook_input_bytes_fn *fetch, void *ctx,
			 void *buffer, size_t size);

/*
 * What the program gives to a call, or a hash of it: as it was when recorded. Without a recording
 * to compare with, that is the value itself.
 */
uint32_t hook_input_given(struct hook_thread *t, uint32_t kind, const char *call, uint32_t value);

/* Recording: a record of the thread; a failure to write it ends the recording. */
void hook_input_put_number(struct hook_thread *t, uint32_t kind, uint64_t value);
void hook_input_put_bytes(struct hook_thread *t, uint32_t kind, const void *bytes, size_t n);

/* Replay: its next record, of this kind or TRACE_IN_ERRNO; false: there are no more. */
bool hook_input_take(struct hook_thread *t, uint32_t kind, const char *call,
		     struct trace_input_rec *rec);

/* Replay: the record has more bytes than the call has room for. */
void hook_input_diverged_by_size(struct hook_thread *t, const char *call, size_t recorded,
				 size_t asked) __attribute__((noreturn));

/* Replay: opens the recorded inputs of a thread, if that has not been done. */
void hook_input_open(struct hook_thread *t);

/* Replay: the process or, negative, group that the program knows by this number. */
pid_t hook_input_real_pid(pid_t pid);

/* Replay: this was the program's own pid. */
void hook_input_was_pid(pid_t pid);

/* The process is restored from an image: that was its number. */
void hook_input_pid_changed(pid_t before);

/*
 * Replay gave out recorded pids. A path below /proc/PID with such a pid is turned into the one it
 * stands for, in `buffer`; any other path is returned as it is.
 */
#define HOOK_INPUT_PATH 128
const char *hook_input_real_path(const char *path, char buffer[HOOK_INPUT_PATH]);

#endif
