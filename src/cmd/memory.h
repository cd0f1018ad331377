/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise evaluate --memory: which dependences between threads a trace of memory has to hold; and
 * replay --parallel, which obeys them.
 */
#ifndef CMD_MEMORY_H
#define CMD_MEMORY_H

#include "replay/front.h"

/* `twin` may be NULL: the one beside the program. The exit code. */
int cmd_memory(const char *trace, const char *twin, unsigned shift, double patience)
	__attribute__((warn_unused_result));

/*
 * Readies f, of an open run, for a replay that obeys them; they are looked for first if need be.
 * *path is f's, and for the caller to free. 0, or the exit code after saying why not.
 */
int cmd_memory_obey(struct replay_front *f, const char *twin, char **path)
	__attribute__((warn_unused_result));

#endif
