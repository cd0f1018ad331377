/* SPDX-License-Identifier: Apache-2.0 */
/* What the target of gdb is told of the races of the run. */
#ifndef CMD_GDB_H
#define CMD_GDB_H

#include "cmd/graph.h"

struct cmd_gdb_races {
	const char *trace;
	struct cmd_graph graph; /* opened when it is asked for first */
	bool is_open;
};

/*
 * For struct remote_known: the races of the rank that are nearest to that event. The trace is
 * evaluated. Nothing if its events cannot be read, after saying why.
 */
char *cmd_gdb_race(void *context, unsigned rank, uint64_t event, bool inside);
void cmd_gdb_races_close(struct cmd_gdb_races *races);

#endif
