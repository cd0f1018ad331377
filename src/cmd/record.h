/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a recording: for cmd-record.c alone. */
#ifndef CMD_RECORD_H
#define CMD_RECORD_H

#include "launch/command.h"
#include "launch/front.h"
#include "trace/dir.h"
#include "trace/meta.h"

struct cmd_recorded {
	const struct launch_command *command;
	const char *name; /* of the command */
	bool discard;     /* the trace of a run that ends well */
};

/* After the run: says in one sentence what was recorded. */
void cmd_record_finish(const struct cmd_recorded *o, struct trace_dir *dir, struct trace_meta *meta,
		       const struct launch_ended *ended);

/* There is nothing to keep. */
void cmd_record_remove(struct trace_dir *dir);

#endif
