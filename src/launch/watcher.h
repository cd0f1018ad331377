/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that start a program as a child of theirs: debuggers, tracers, timeout and the like. */
#ifndef LAUNCH_WATCHER_H
#define LAUNCH_WATCHER_H

#include <stdbool.h>

#include "launch/flavour.h"

/*
 * 0, or the exit code after saying what to type instead. `word` is the command to be recorded,
 * `mpi` the MPI that it uses. Behind most such commands, an MPI program is found among the
 * children.
 */
int launch_watcher_check(const char *word, enum launch_mpi mpi, bool has_launcher)
	__attribute__((warn_unused_result));

/* Is this the name of a debugger? */
bool launch_watcher_is_debugger(const char *word);

#endif
