/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds where the threads of a living process are, by their stacks. Each thread is stopped only to
 * note its stack. It needs the right to trace the process, and no other tracer may be attached.
 */
#ifndef SYMBOL_PROCESS_H
#define SYMBOL_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_process;

/* What a blocking call of MPI was called with. */
enum symbol_word {
	SYMBOL_PEER,
	SYMBOL_TAG,
	SYMBOL_COMM, /* as MPI has it: */
	SYMBOL_TYPE,
	SYMBOL_COUNT,
	SYMBOL_WORDS,
};

struct symbol_standing {
	char *call;               /* of a library, that the program is in; NULL if it is in none */
	bool sure;                /* that is its name, and not that of a function behind it */
	uint64_t pc;              /* of the frame below: where the call returns to */
	bool known[SYMBOL_WORDS]; /* what could be read of its arguments: */
	uint64_t word[SYMBOL_WORDS];
	bool foreign; /* all of its stack was seen, and is MPI's own */
	char *place;  /* " at file.c:12 (function)": the innermost frame of the program's; or "" */
};

/* NULL if it cannot be looked at. */
struct symbol_process *symbol_process_open(int pid);
void symbol_process_close(struct symbol_process *p);

/* 0 or -errno; the caller frees both strings. */
int symbol_process_look(struct symbol_process *p, int tid, struct symbol_standing *out)
	__attribute__((warn_unused_result));

/*
 * The same, and what a blocking call of MPI was called with, as far as that is sure. `alone`: the
 * program has no other thread.
 */
int symbol_process_look_closely(struct symbol_process *p, int tid, bool alone,
				struct symbol_standing *out) __attribute__((warn_unused_result));

/* Memory of a process; false if not all of it is there. */
bool symbol_process_read(int pid, uint64_t address, void *to, size_t n);

/* The variable of the program or of a library at that address, "name+0x8", or NULL; the caller
 * frees.
 */
char *symbol_process_variable(int pid, uint64_t address);

#endif
