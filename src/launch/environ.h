/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of the program, in the variable `environ` of this process. */
#ifndef LAUNCH_ENVIRON_H
#define LAUNCH_ENVIRON_H

#include <stdbool.h>
#include <stdint.h>

/* Replaces environ: the recorded variables, but the launcher's and ours as they are now. */
void launch_environ_restore(char *const *recorded);

/*
 * Replaces environ by the one the recorded launcher was started in (trace_meta.env), except for
 * variables of the user's session or of the batch system. Does nothing if recorded is NULL.
 */
void launch_environ_of_front(char *const *recorded);

/* Was this process started by one that is recorded or replayed? Its hooks do not show that. */
bool launch_environ_is_inside(void);

/* Puts the hook library before whatever is preloaded. 0, or the exit code after saying why not. */
int launch_environ_preload(const char *library) __attribute__((warn_unused_result));

/* The same for a library that never lets the program begin. */
int launch_environ_audit(const char *library) __attribute__((warn_unused_result));

/*
 * Adds a variable of such a length that arguments and environment take `size` bytes of the
 * initial stack, whatever else is in them: without ASLR, the stack of the program is then at the
 * same addresses in each run. With size 0, or if it is too small, a good size is taken.
 */
uint64_t launch_environ_pad(const char *path, char *const *argv, uint64_t size);

#endif
