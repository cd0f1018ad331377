/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks beside messages: memory that all ranks of one host have mapped, in which a sender writes
 * the clock of each message just before it sends it. The receiver of a message takes the oldest
 * clock from that sender with that tag that it has not taken yet: messages of one sender with one
 * tag do not overtake each other. Nothing of MPI is in here.
 *
 * If a clock was written for a message that never came, all later clocks from the same sender with
 * the same tag go to the message after their own. Such a clock knows less than the right one, which
 * is safe. If a clock cannot be written, no later one is written either, for the same reason.
 */
#ifndef HOOK_LEDGER_H
#define HOOK_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Makes and maps the memory, for rank 0 and clocks of so many bytes. Returns the descriptor, or -1.
 * Others find the memory by it in /proc until it is closed, and recognise it by the word, which
 * must be unique.
 */
int hook_ledger_make(uint64_t word, uint32_t ranks, size_t clock_bytes);
/* Maps what another rank has made, if it is at `path`. */
bool hook_ledger_join(const char *path, uint64_t word, uint32_t rank, uint32_t ranks,
		      size_t clock_bytes);
void hook_ledger_close(void);

/*
 * Numbers that each rank has for each other: a row for rank `from`. There are two tables, used in
 * turns. A rank writes only when it knows that all have read the one before last.
 */
uint32_t *hook_ledger_row(unsigned int turn, uint32_t from);

struct hook_ledger_entry {
	uint32_t number; /* from 1 on, per sender and receiver; written last */
	int32_t tag;
	uint64_t clock[];
};

/* Of a receiver, for its sender. */
struct hook_ledger_out {
	struct hook_ledger_entry *next; /* NULL: the block is full, or there is none */
	uint32_t number, left;          /* of the next entry; entries left in the block */
	uint32_t block, oldest;         /* that is written, that is not free yet; 0: none */
	bool lost;
};

/* Of a sender, for its receiver. */
struct hook_ledger_in {
	const struct hook_ledger_entry *next;
	uint32_t number, left;
	uint32_t block;
	uint32_t early; /* clocks that were read and wait for their messages */
	bool lost;
};

extern struct hook_ledger_out *hook_ledger_outs;
extern struct hook_ledger_in *hook_ledger_ins;
extern size_t hook_ledger_stride; /* bytes from entry to entry */

bool hook_ledger_next_block(uint32_t dest);
const void *hook_ledger_search(uint32_t source, int32_t tag);

/*
 * The place for the clock of the next message to `dest`, where up to 8 bytes more may be zeroed; it
 * counts from hook_ledger_wrote on. NULL: there is none.
 */
static inline void *hook_ledger_place(uint32_t dest)
{
	struct hook_ledger_out *out = &hook_ledger_outs[dest];

	if (__builtin_expect(!out->left, 0) && !hook_ledger_next_block(dest))
		return NULL;
	return out->next->clock;
}

static inline void hook_ledger_wrote(uint32_t dest, int32_t tag)
{
	struct hook_ledger_out *out = &hook_ledger_outs[dest];
	struct hook_ledger_entry *entry = out->next;

	entry->tag = tag;
	__atomic_store_n(&entry->number, out->number++, __ATOMIC_RELEASE);
	out->next = (struct hook_ledger_entry *)((char *)entry + hook_ledger_stride);
	out->left--;
}

/* The clock of a message that has come, until the next call; NULL: it has none. */
static inline const void *hook_ledger_take(uint32_t source, int32_t tag)
{
	struct hook_ledger_in *in = &hook_ledger_ins[source];
	const struct hook_ledger_entry *entry = in->next;

	if (__builtin_expect(!in->left || in->early, 0) ||
	    __atomic_load_n(&entry->number, __ATOMIC_ACQUIRE) != in->number || entry->tag != tag)
		return hook_ledger_search(source, tag);
	in->number++;
	in->left--;
	in->next = (const struct hook_ledger_entry *)((const char *)entry + hook_ledger_stride);
	return entry->clock;
}

#endif
