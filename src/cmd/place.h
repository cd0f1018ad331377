/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in the program of the sites that events name: file and line of the innermost frame that is
 * the user's own, or of all of these.
 */
#ifndef CMD_PLACE_H
#define CMD_PLACE_H

#include <stdint.h>

#include "trace/modules.h"

/*
 * "file.c:12 (function)", "function" or, of a file without symbols, "file+0x1234": the place at
 * that address of the file, which a call returns to; the caller frees.
 */
char *cmd_place_in(const char *path, uint64_t at);

/* The same of the innermost frame that is the user's own, or "?". */
char *cmd_place_text(const struct trace_modules *modules, const uint64_t address[], uint32_t depth);

/* The same of all frames that are the user's own, innermost first; rp_strings_free() frees. */
char **cmd_place_stack(const struct trace_modules *modules, const uint64_t address[],
		       uint32_t depth);

/* "name", "name+0x28" of the variable at that address, or NULL; the caller frees. */
char *cmd_place_variable(const struct trace_modules *modules, uint64_t address);

#endif
