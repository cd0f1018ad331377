/* SPDX-License-Identifier: Apache-2.0 */
/* The checked twin of a recorded program, which `reprise cc` puts beside it. */
#ifndef CMD_TWIN_H
#define CMD_TWIN_H

#include "trace/run.h"

/* Its path, or NULL if there is none; the caller frees. */
char *cmd_twin_beside(const struct trace_run *run);

/* One program for all ranks, since there is one twin: 0, or the exit code after saying so. */
int cmd_twin_check(const struct trace_run *run) __attribute__((warn_unused_result));

#endif
