/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/threads.h"

#include <stdbool.h>

#include "base/mem.h"

#define LISTED 4096 /* threads of a rank */

static void read_last(int pid, const struct replay_threads *at, uint64_t entry,
		      struct replay_listed *l)
{
	uint64_t last;

	if (!symbol_process_read(pid, entry + at->handle, &l->handle, sizeof(l->handle)))
		l->handle = 0;
	if (!symbol_process_read(pid, entry + at->last, &last, sizeof(last)) || !last ||
	    !symbol_process_read(pid, last + at->object, &l->object, sizeof(l->object)) ||
	    !symbol_process_read(pid, last + at->cond, &l->cond, sizeof(l->cond)))
		l->object = l->cond = 0;
}

size_t replay_threads_list(const struct replay_slot *slot, struct replay_listed **out)
{
	const struct replay_threads at = slot->threads;
	struct replay_listed *list = NULL;
	uint64_t entry, call;
	size_t n = 0;

	if (!at.first || !symbol_process_read(slot->pid, at.first, &entry, sizeof(entry)))
		entry = 0;
	while (entry && n < LISTED) {
		struct replay_listed l = {0};

		read_last(slot->pid, &at, entry, &l);
		if (!symbol_process_read(slot->pid, entry + at.name, l.name, REPLAY_NAME_BYTES) ||
		    !symbol_process_read(slot->pid, entry + at.tid, &l.tid, sizeof(l.tid)) ||
		    !symbol_process_read(slot->pid, entry + at.call, &call, sizeof(call)) ||
		    !symbol_process_read(slot->pid, entry + at.next, &entry, sizeof(entry)))
			break;
		if (!call || !symbol_process_read(slot->pid, call, l.call, sizeof(l.call) - 1))
			l.call[0] = 0;
		list = rp_widen(list, n, n + 1, sizeof(*list));
		list[n++] = l;
	}
	*out = list;
	return n;
}

/*
 * A wrapper may have jumped to the function that does the work; that one is then on the stack in
 * its place.
 */
const char *replay_threads_call(const struct replay_listed *l, const struct symbol_standing *s)
{
	return !s->sure && l->call[0] ? l->call : s->call;
}
