/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the hooks: entries by key, a number. Whoever knows something of objects (requests by
 * handle, locks by address, files) keeps a table with entries of its own, each of which begins with
 * a struct hook_entry. Entries never move. Several may have the same key; then the oldest is found,
 * and `next` leads to the others. Locking is the owner's matter.
 */
#ifndef HOOK_TABLE_H
#define HOOK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOOK_TABLE_BLOCKS 20

struct hook_entry {
	uint64_t key;
	uint32_t index; /* from 1 */
	uint32_t next;  /* of the same key, or free */
};

struct hook_table_slot {
	uint64_t key;
	uint32_t first, last;
};

/* All else is 0 at first. */
struct hook_table {
	size_t bytes; /* of an entry */
	size_t clear; /* of them, from the beginning, those that are 0 in a new one */
	char *block[HOOK_TABLE_BLOCKS]; /* each twice as large as the one before */
	uint32_t blocks, used, free_list;
	struct hook_table_slot *slots; /* at least twice as many as there are entries */
};

/* An entry that no key leads to yet; NULL if memory is out. */
void *hook_table_new(struct hook_table *t);
void hook_table_insert(struct hook_table *t, void *entry, uint64_t key);
void *hook_table_find(const struct hook_table *t, uint64_t key);
/* Its key does not lead to it any more. */
void hook_table_remove(struct hook_table *t, void *entry);
/* The same by its key: its index, or 0. It can be put back under that key. */
uint32_t hook_table_take(struct hook_table *t, uint64_t key);
void hook_table_put_back(struct hook_table *t, uint32_t index);
/* It is not used any more; it must have been removed. */
void hook_table_free(struct hook_table *t, void *entry);
/* All entries are gone: their memory is given back, or left to whoever shares it. */
void hook_table_drop(struct hook_table *t);
void hook_table_forget(struct hook_table *t);
/* By index; NULL for 0. Those up to t->used are, or were, in use. */
void *hook_table_at(const struct hook_table *t, uint32_t index);

#endif
