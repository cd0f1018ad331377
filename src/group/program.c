/* SPDX-License-Identifier: Apache-2.0 */
#include "group/program.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "group/mi.h"
#include "symbol/symbol.h"

#define PC "-data-evaluate-expression \"(unsigned long) $pc\""

/* Fortran's main program has a name of its own. */
static char *to_main(const struct group_gdb *gdb)
{
	char *exe = rp_format("/proc/%d/exe", gdb->process), *text;

	text = rp_format("-break-insert -t %s", symbol_has(exe, "MAIN__") ? "MAIN__" : "main");
	free(exe);
	return text;
}

static uint64_t pc_of(const struct group_gdb *gdb)
{
	const char *text = group_gdb_error(gdb) ? NULL : group_mi_string(gdb->answer, "value");

	return text ? strtoull(text, NULL, 0) : 0;
}

/* What is to be done with the breakpoint; the caller frees. */
static char *come_there(const struct group_gdb *gdb, uint64_t pc)
{
	const json_t *made = group_gdb_error(gdb) ? NULL : json_object_get(gdb->answer, "bkpt");
	const char *number = group_mi_string(made, "number"), *at = group_mi_string(made, "addr");

	/* It may begin just where the rank stands. */
	if (number && at && strtoull(at, NULL, 0) == pc)
		return rp_format("-break-delete %s", number);
	return number ? rp_strdup("-exec-continue") : NULL;
}

void group_come_to_main(struct group *g)
{
	char **command = rp_alloc(g->ranks + 1, sizeof(*command));
	uint64_t *pc = rp_alloc(g->ranks + 1, sizeof(*pc));
	bool any = false;

	for (unsigned i = 0; i < g->ranks; i++)
		command[i] = rp_strdup(PC);
	group_ask_each(g, command);
	for (unsigned i = 0; i < g->ranks; i++) {
		pc[i] = pc_of(&g->gdb[i]);
		command[i] = to_main(&g->gdb[i]);
	}
	group_ask_each(g, command);
	for (unsigned i = 0; i < g->ranks; i++) {
		command[i] = come_there(&g->gdb[i], pc[i]);
		any |= command[i] != NULL;
	}
	if (any)
		group_move(g, command);
	free(command);
	free(pc);
}
