/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of entries, and an open addressing table from key to the first and last entry of that key.
 * Invariant: a slot is in use exactly while its list is not empty.
 */
#include "hook/kit/table.h"

#include <string.h>

#include "hook/kit/pages.h"
#include "hook/kit/random.h"

#define FIRST 1024u /* entries of the first block */

/* Of an index that is not 0. */
static void *entry_at(const struct hook_table *t, uint32_t index)
{
	uint32_t place = index - 1 + FIRST;
	int block = 31 - __builtin_clz(place) - __builtin_ctz(FIRST);

	return t->block[block] + (size_t)(place - (FIRST << block)) * t->bytes;
}

void *hook_table_at(const struct hook_table *t, uint32_t index)
{
	return index ? entry_at(t, index) : NULL;
}

static uint32_t mask_of(const struct hook_table *t)
{
	return (2 * FIRST << t->blocks) - 1;
}

static uint32_t home(const struct hook_table *t, uint64_t key)
{
	return (uint32_t)(hook_random_spread(key) >> 32) & mask_of(t);
}

static struct hook_table_slot *slot_of(const struct hook_table *t, uint64_t key)
{
	uint32_t i = home(t, key);

	while (t->slots[i].first && t->slots[i].key != key)
		i = (i + 1) & mask_of(t);
	return &t->slots[i];
}

/* Only called when every entry is in use; false if memory is out. */
static bool grow(struct hook_table *t)
{
	uint32_t old = t->slots ? mask_of(t) + 1 : 0;
	size_t bytes = (size_t)(FIRST << t->blocks) * t->bytes;
	size_t slots_bytes = sizeof(*t->slots) * (4 * (size_t)FIRST << t->blocks);
	struct hook_table_slot *before = t->slots, *wider;
	char *block = t->blocks < HOOK_TABLE_BLOCKS ? hook_pages(bytes) : NULL;

	if (!block)
		return false;
	wider = hook_pages(slots_bytes);
	if (!wider) {
		hook_pages_free(block, bytes);
		return false;
	}
	t->block[t->blocks++] = block;
	t->slots = wider;
	for (uint32_t i = 0; i < old; i++) {
		if (before[i].first)
			*slot_of(t, before[i].key) = before[i];
	}
	hook_pages_free(before, old * sizeof(*before));
	return true;
}

void *hook_table_new(struct hook_table *t)
{
	uint32_t index = t->free_list;
	struct hook_entry *e;

	if (!index) {
		if (t->used == FIRST * ((1u << t->blocks) - 1) && !grow(t))
			return NULL;
		index = ++t->used;
	}
	e = entry_at(t, index);
	if (index == t->free_list)
		t->free_list = e->next;
	memset(e, 0, t->clear);
	e->index = index;
	return e;
}

uint32_t hook_table_take(struct hook_table *t, uint64_t key)
{
	struct hook_entry *entry = hook_table_find(t, key);

	if (!entry)
		return 0;
	hook_table_remove(t, entry);
	return entry->index;
}

void hook_table_put_back(struct hook_table *t, uint32_t index)
{
	struct hook_entry *entry = entry_at(t, index);

	hook_table_insert(t, entry, entry->key);
}

void hook_table_free(struct hook_table *t, void *entry)
{
	struct hook_entry *e = entry;

	e->next = t->free_list;
	t->free_list = e->index;
}

void hook_table_insert(struct hook_table *t, void *entry, uint64_t key)
{
	struct hook_table_slot *s = slot_of(t, key);
	struct hook_entry *e = entry, *last = hook_table_at(t, s->first ? s->last : 0);

	e->key = key;
	e->next = 0;
	if (last)
		last->next = e->index;
	else
		*s = (struct hook_table_slot){key, e->index, e->index};
	s->last = e->index;
}

void *hook_table_find(const struct hook_table *t, uint64_t key)
{
	return t->slots ? hook_table_at(t, slot_of(t, key)->first) : NULL;
}

/* Moves up what stands behind a slot that has become free, so that no search stops there. */
static void close_gap(struct hook_table *t, uint32_t gap)
{
	uint32_t mask = mask_of(t);

	for (uint32_t i = (gap + 1) & mask; t->slots[i].first; i = (i + 1) & mask) {
		if (((i - home(t, t->slots[i].key)) & mask) >= ((i - gap) & mask)) {
			t->slots[gap] = t->slots[i];
			gap = i;
		}
	}
	t->slots[gap].first = 0;
}

void hook_table_remove(struct hook_table *t, void *entry)
{
	struct hook_entry *e = entry, *before = NULL;
	struct hook_table_slot *s = slot_of(t, e->key);
	uint32_t i = s->first;

	while (i && i != e->index) {
		before = entry_at(t, i);
		i = before->next;
	}
	if (!i)
		return;
	if (before)
		before->next = e->next;
	else
		s->first = e->next;
	if (s->last == i)
		s->last = before ? before->index : 0;
	if (!s->first)
		close_gap(t, (uint32_t)(s - t->slots));
}

void hook_table_forget(struct hook_table *t)
{
	*t = (struct hook_table){.bytes = t->bytes, .clear = t->clear};
}

void hook_table_drop(struct hook_table *t)
{
	for (uint32_t i = 0; i < t->blocks; i++)
		hook_pages_free(t->block[i], (size_t)(FIRST << i) * t->bytes);
	if (t->slots)
		hook_pages_free(t->slots, ((size_t)mask_of(t) + 1) * sizeof(*t->slots));
	hook_table_forget(t);
}
