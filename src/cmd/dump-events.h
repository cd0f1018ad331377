/* SPDX-License-Identifier: Apache-2.0 */
/* reprise dump --events: the events of an evaluated trace, a line each. */
#ifndef CMD_DUMP_EVENTS_H
#define CMD_DUMP_EVENTS_H

#include <stdbool.h>

#include "trace/dir.h"

/* rank < 0 and thread NULL mean all; the exit code. */
int cmd_dump_events(const struct trace_dir *dir, long rank, const char *thread, bool json);

#endif
