/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source places of code addresses, from symbols and debug information on disk. An address is given
 * as a file and a virtual address in it, as its ELF symbols have them: for position-independent
 * files the address in memory minus the load address (dlpi_addr of dl_iterate_phdr), for others
 * the address in memory itself (dlpi_addr is 0).
 */
#ifndef SYMBOL_SYMBOL_H
#define SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>

struct symbol_place {
	const char *function; /* "?" if unknown */
	uint64_t offset;      /* of the address in the function */
	const char *file;     /* as in the debug information; "?" if unknown */
	int line;             /* 0 if unknown */
	bool exported;        /* other files may call the function by its name */
};

/*
 * Always fills in *place; strings live until symbol_forget(). True if at least the function is
 * known. `returns` says that the address is one a call returns to: its place is that of the call.
 */
bool symbol_find(const char *module, uint64_t address, bool returns, struct symbol_place *place);

/*
 * The same from "path+0x1234", as hooks write it. False also if the text is not of that form, and
 * then nothing is known.
 */
bool symbol_find_text(const char *text, bool returns, struct symbol_place *place);

/* " at file.c:12 (function)" of "path+0x1234", an address that a call returns to; the caller frees.
 */
char *symbol_text(const char *where);

/*
 * The variable that lies at the address of the file: its name, which lives as long; NULL if none
 * does. *offset is how far into it.
 */
const char *symbol_variable(const char *module, uint64_t address, uint64_t *offset);

/* Does the file define a function of that name? */
bool symbol_has(const char *module, const char *function);

/* Is this file ours, MPI's or libc's? Their frames are not where the user's mistake is. */
bool symbol_is_foreign(const char *module);

/* Is it libc's, or of a language? */
bool symbol_is_runtime(const char *module);

/* Closes every file that was opened. */
void symbol_forget(void);

#endif
