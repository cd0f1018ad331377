/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/twin.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launch/moved.h"

char *cmd_twin_beside(const struct trace_run *run)
{
	char *program = launch_moved_path(run->rank[0].start.program);
	char *twin = rp_format("%s-checked", program);

	free(program);
	if (access(twin, X_OK) == 0)
		return twin;
	free(twin);
	return NULL;
}

int cmd_twin_check(const struct trace_run *run)
{
	for (size_t i = 1; i < run->ranks; i++) {
		if (strcmp(run->rank[i].start.program, run->rank[0].start.program) == 0)
			continue;
		rp_say("the ranks in %s ran different programs: their data cannot be examined",
		       run->dir.show);
		return RP_EXIT_BAD_INPUT;
	}
	return 0;
}
