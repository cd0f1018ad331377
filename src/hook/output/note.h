/* SPDX-License-Identifier: Apache-2.0 */
/* The stream of what a process prints, for those who put something else there: see note.c. */
#ifndef HOOK_OUTPUT_NOTE_H
#define HOOK_OUTPUT_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Held while something is put; a handler of a fault that comes in between goes without. */
void hook_output_lock(void);
void hook_output_unlock(void);

/* Is it a child, whose files are noted by another stream? */
bool hook_output_of_child(void);
/* A child that the recorded process has forked itself; what it executes is added up. */
bool hook_output_of_forked(void);
void hook_output_child_ran(uint64_t hash);

/* Does this process have the stream, and may it be put into? */
bool hook_output_keeps(void);

/* One record; false if there is no room. */
bool hook_output_put(uint64_t head, const void *bytes, size_t n);

/* Has the program opened files to write them? */
bool hook_output_has_files(void);

#endif
