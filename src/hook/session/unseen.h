/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recording does not hold. A wrapper that lets something through which replay cannot give
 * back notes it here: the first use goes to the trace with its place, is said once on stderr (by
 *the first of all ranks), and every use is counted. `reprise info` shows it in place of "yes, all
 *of it", and a replay that diverges names it as a likely cause.
 *
 *	static struct hook_unseen ring = {.key = "io-uring", .what = "io_uring: ...",
 *					  .remedy = "..."};
 *	hook_unseen(&ring);
 *
 * Good at any time when recording: in signal handlers, in threads that are not the program's, at
 * any hook_depth; errno is kept. In replay, and in processes that are not recorded, it does
 *nothing.
 */
#ifndef HOOK_UNSEEN_H
#define HOOK_UNSEEN_H

#include "hook/common/hook.h"
#include "trace/unseen.h"

struct hook_unseen {
	const char *key;    /* letters, digits and '-', at most 31 */
	const char *what;   /* a noun, good after "not recorded: "; at most 175 bytes */
	const char *remedy; /* NULL, or what to do about it, good after "; "; at most 199 bytes */
	bool quiet; /* no message on stderr: replay copes with it, or another message covers it */
	struct trace_unseen *slot; /* where it is counted, once it was noted */
};

/* The first use: gives it a slot, if only one that nobody reads. */
void hook_unseen_first(struct hook_unseen *u) __attribute__((cold));

/* Of n uses at once. */
static inline void hook_unseen_add(struct hook_unseen *u, uint64_t n)
{
	if (hook_process.mode != HOOK_RECORD)
		return;
	if (!__atomic_load_n(&u->slot, __ATOMIC_ACQUIRE))
		hook_unseen_first(u);
	__atomic_add_fetch(&u->slot->count, n, __ATOMIC_RELAXED);
}

static inline void hook_unseen(struct hook_unseen *u)
{
	hook_unseen_add(u, 1);
}

#endif
