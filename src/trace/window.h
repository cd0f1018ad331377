/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `0.window`: what a recording in a racing mode has not decided yet, as a file that is mapped while
 * the program runs. Whatever ends the program, the sources that stand here count as written. A
 * header page, then slots of two words:
 *
 *   word  0 if the slot is free; else the number of the wildcard (40 bits) and source + 1 (24 bits)
 *   how many wildcards from that number on have this source (32 bits), and a check of all (32 bits)
 *
 * The second word is stored first, so that a slot is always as it was or as it is to be.
 */
#ifndef TRACE_WINDOW_H
#define TRACE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_WINDOW_MAX_NUMBER ((1ull << 40) - 1)
#define TRACE_WINDOW_MAX_SOURCE ((1u << 24) - 2)

struct trace_window {
	uint64_t *word; /* mapped, two per slot; NULL if there is none */
	uint32_t slots;
	size_t mapped;
};

/* 0 or -errno. */
int trace_window_create(struct trace_window *w, int dirfd, const char *name, uint32_t slots)
	__attribute__((warn_unused_result));
void trace_window_set(struct trace_window *w, uint32_t slot, uint64_t number, uint32_t source,
		      uint32_t count);
void trace_window_clear(struct trace_window *w, uint32_t slot);
void trace_window_close(struct trace_window *w);

/* Opens to read: 0, or -errno and *why, a sentence part. */
int trace_window_open(struct trace_window *w, int dirfd, const char *name, const char **why)
	__attribute__((warn_unused_result));
/* true if the slot is taken. */
bool trace_window_get(const struct trace_window *w, uint32_t slot, uint64_t *number,
		      uint32_t *source, uint32_t *count);

#endif
