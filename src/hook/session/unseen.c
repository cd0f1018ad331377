/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file per rank, mapped at the first need. If it cannot be made, or is full, there is only the
 * message on stderr, which is said once, too.
 */
#include "hook/session/unseen.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "hook/common/process.h"
#include "hook/kit/time.h"

static struct trace_unseen *slots;
static struct trace_unseen nowhere;
static uint64_t begun;

__attribute__((constructor)) static void begin(void)
{
	begun = hook_time_now();
}

static void fill(struct trace_unseen *f, const struct hook_unseen *u)
{
	const struct hook_thread *t = hook_self;

	f->ns = hook_time_now() - begun;
	f->process = hook_process.process;
	strncpy(f->key, u->key, sizeof(f->key) - 1);
	strncpy(f->what, u->what, sizeof(f->what) - 1);
	if (u->remedy)
		strncpy(f->remedy, u->remedy, sizeof(f->remedy) - 1);
	if (t) {
		f->event = t->record.order.events;
		memcpy(f->thread, t->name, sizeof(f->thread) - 1);
	}
}

static struct trace_unseen *map_slots(void)
{
	char path[1200];

	if (hook_process.rank_fd >= 0)
		return trace_unseen_map(hook_process.rank_fd, TRACE_UNSEEN_NAME);
	hook_rank_path(path, sizeof(path), TRACE_UNSEEN_NAME);
	return trace_unseen_map(AT_FDCWD, path);
}

static void note(struct hook_unseen *u)
{
	struct trace_unseen f = {0}, *mapped = __atomic_load_n(&slots, __ATOMIC_ACQUIRE);
	struct trace_unseen *slot = NULL;

	if (!mapped) {
		/* Two threads may map it: the loser's mapping is as good, and stays. */
		mapped = map_slots();
		__atomic_store_n(&slots, mapped, __ATOMIC_RELEASE);
	}
	fill(&f, u);
	if (mapped)
		slot = trace_unseen_take(mapped, &f);
	if (!u->quiet)
		hook_say_once(u->key, "not recorded: ", u->what,
			      u->remedy ? "; " : "; a replay may differ there",
			      u->remedy ? u->remedy : "", NULL);
	__atomic_store_n(&u->slot, slot ? slot : &nowhere, __ATOMIC_RELEASE);
}

void hook_unseen_first(struct hook_unseen *u)
{
	int depth = hook_depth, error = errno;

	hook_depth = HOOK_CLOSED;
	note(u);
	hook_depth = depth;
	errno = error;
}
