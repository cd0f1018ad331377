/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a command line as a person typed it: is there a launcher in it, and which of its words are
 * programs? Words are never changed; new ones are only put between them, so quoting cannot go
 * wrong.
 */
#ifndef LAUNCH_COMMAND_H
#define LAUNCH_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "launch/flavour.h"

struct launch_segment {
	size_t program; /* index of the program's word */
	bool moved;     /* an option says where to look for it: do not look from here */
};

struct launch_command {
	bool has_launcher;
	size_t launcher; /* index of the launcher's word */
	enum launch_mpi mpi;
	struct launch_segment *segment; /* one, or several for MPMD */
	size_t segments;
};

/*
 * 0, or the exit code after saying why. Without a launcher there is one segment, at 0. argv has at
 * least one word and ends in NULL.
 */
int launch_command_parse(struct launch_command *command, char *const *argv)
	__attribute__((warn_unused_result));
void launch_command_free(struct launch_command *command);

/* argv with the words of `prefix` before each program. The caller frees the list, not the words. */
char **launch_command_rewrite(const struct launch_command *command, char *const *argv,
			      char *const *prefix);

#endif
