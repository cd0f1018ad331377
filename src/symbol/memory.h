/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the memory of another process held while one of its threads stood in a call. Of the thread's
 * stack there is a copy. What nobody may write has not changed. Other memory may have: it counts
 * only if the process has no other thread of the program, and then it has to be read once more
 * while the thread stands there again.
 */
#ifndef SYMBOL_MEMORY_H
#define SYMBOL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMBOL_STACK 32768 /* bytes of it */

struct symbol_memory {
	int pid;
	bool alone; /* the program has no other thread */
	uint64_t stack;
	size_t stack_bytes;
	uint8_t copy[SYMBOL_STACK];
	struct symbol_memory_word *word; /* what was read and may change */
	size_t words;
	bool changes; /* some of that was not read from the copy */
	bool same;    /* all of it was the same when it was noted again */
};

/* To be called while the thread stands, with its stack pointer: the first time takes the copy. */
void symbol_memory_note(struct symbol_memory *m, uint64_t stack);

/* False if it is not known what was there. */
bool symbol_memory_read(struct symbol_memory *m, uint64_t address, void *to, size_t n);

void symbol_memory_forget(struct symbol_memory *m);

#endif
