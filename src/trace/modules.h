/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files were where in the memory of an evaluated process: graph/rank-NNNN/p<process>-modules,
 * a line "start end bias path" (hexadecimal) for each part of a file that holds code.
 */
#ifndef TRACE_MODULES_H
#define TRACE_MODULES_H

#include <stddef.h>
#include <stdint.h>

struct trace_modules {
	struct trace_module {
		uint64_t start, end;
		uint64_t bias; /* address in memory minus address in the file's symbols */
		char *path;
	} * module;
	size_t n;
};

/* Empty if there is no such list; lines that make no sense are passed over. */
void trace_modules_open(struct trace_modules *modules, int dirfd, uint32_t process);
void trace_modules_close(struct trace_modules *modules);

/* The file at that address, or NULL. */
const struct trace_module *trace_modules_find(const struct trace_modules *modules,
					      uint64_t address);

#endif
