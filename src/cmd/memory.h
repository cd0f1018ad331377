/* SPDX-License-Identifier: Apache-2.0 */
/* reprise evaluate --memory: which dependences between threads a trace of memory would hold. */
#ifndef CMD_MEMORY_H
#define CMD_MEMORY_H

/* `twin` may be NULL: the one beside the program. The exit code. */
int cmd_memory(const char *trace, const char *twin, unsigned shift, double patience)
	__attribute__((warn_unused_result));

#endif
