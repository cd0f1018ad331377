/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds where the threads of a living process are, by their stacks. Each thread is stopped for as
 * long as that takes. It needs the right to trace the process, and no other tracer may be attached.
 */
#ifndef SYMBOL_PROCESS_H
#define SYMBOL_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_process;

struct symbol_standing {
	char *call;        /* of a library, that the program is in; NULL if it is in none */
	bool sure;         /* that is its name, and not that of a function behind it */
	uint64_t pc;       /* of that frame: */
	int32_t peer, tag; /* of a blocking call of MPI for one message, if they could be read: */
	bool has_peer, has_tag;
	char *place; /* " at file.c:12 (function)": the innermost frame of the program's; or "" */
};

/* NULL if it cannot be looked at. */
struct symbol_process *symbol_process_open(int pid);
void symbol_process_close(struct symbol_process *p);

/* 0 or -errno; the caller frees both strings. */
int symbol_process_look(struct symbol_process *p, int tid, struct symbol_standing *out)
	__attribute__((warn_unused_result));

/* The same; and what the debug information of the program tells of the partner of a call of MPI. */
int symbol_process_look_closely(struct symbol_process *p, int tid, struct symbol_standing *out)
	__attribute__((warn_unused_result));

/* Memory of a process; false if not all of it is there. */
bool symbol_process_read(int pid, uint64_t address, void *to, size_t n);

/* The variable of the program or of a library at that address, "name+0x8", or NULL; the caller
 * frees.
 */
char *symbol_process_variable(int pid, uint64_t address);

#endif
