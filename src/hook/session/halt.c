/* SPDX-License-Identifier: Apache-2.0 */
/* Invariant: hook_slot->halted counts the threads that wait here. */
#include "hook/session/halt.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/held.h"
#include "hook/common/end.h"
#include "hook/common/process.h"
#include "hook/common/signal.h"
#include "hook/kit/text.h"
#include "hook/session/private.h"
#include "hook/session/session.h"

static char places[REPLAY_HALT_BYTES + 1]; /* S/halt-NNNN */
static bool known;

static uint32_t wanted(void)
{
	return hook_process.mode == HOOK_REPLAY
		       ? __atomic_load_n(&hook_slot->halt, __ATOMIC_ACQUIRE)
		       : 0;
}

/* "THREAD FIRST SECOND", a line for each. */
static void find(struct hook_thread *t, const char *text, uint64_t *where)
{
	size_t n = strlen(t->name);

	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		char *end;

		if (strncmp(p, t->name, n) != 0 || p[n] != ' ')
			continue;
		*where = strtoull(p + n, &end, 10);
		t->replay.halt_then = strtoull(end, NULL, 10);
		return;
	}
}

static void read_places(void)
{
	char path[1100];
	struct hook_text out = hook_text_in(path, sizeof(path));
	ssize_t n = 0;
	int fd;

	hook_text_add(&out, hook_process.session);
	hook_text_add(&out, "/halt-");
	hook_text_padded(&out, hook_process.rank, 4);
	fd = rp_fd_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd >= 0) {
		n = read(fd, places, sizeof(places) - 1);
		close(fd);
	}
	places[n > 0 ? n : 0] = '\0';
	known = true;
}

void hook_halt_open(struct hook_thread *t)
{
	uint32_t how = wanted();

	if (!(how & (REPLAY_HALT_EVENTS | REPLAY_HALT_OPERATIONS | REPLAY_HALT_CALLS)))
		return;
	if (!known)
		read_places();
	find(t, places,
	     how & REPLAY_HALT_EVENTS       ? &t->replay.halt_at
	     : how & REPLAY_HALT_OPERATIONS ? &t->replay.halt_op
					    : &t->replay.halt_call);
	if (t->replay.halt_call)
		hook_points = 1;
}

void hook_halt_resume(void)
{
	if (!wanted())
		return;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	read_places();
}

static bool may_go(struct hook_thread *t, uint64_t now)
{
	if (__atomic_load_n(&hook_slot->go, __ATOMIC_ACQUIRE)) {
		t->replay.halt_at = t->replay.halt_op = t->replay.halt_call = 0;
		return true;
	}
	if (!__atomic_load_n(&hook_slot->stage, __ATOMIC_ACQUIRE) || t->replay.halt_then <= now)
		return false;
	*(t->replay.halt_at   ? &t->replay.halt_at
	  : t->replay.halt_op ? &t->replay.halt_op
			      : &t->replay.halt_call) = t->replay.halt_then;
	return true;
}

static void await(struct hook_thread *t, uint64_t now)
{
	__atomic_add_fetch(&hook_slot->halted, 1, __ATOMIC_RELEASE);
	while (!may_go(t, now))
		hook_end_nap(t);
	__atomic_sub_fetch(&hook_slot->halted, 1, __ATOMIC_RELEASE);
}

void hook_halt(struct hook_thread *t, uint64_t now)
{
	if (!may_go(t, now))
		await(t, now);
}

/* Where the system lets none but ancestors trace a process, it says who may. */
void hook_halt_start(const void *program)
{
	if (!wanted())
		return;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	hook_slot->program = (uintptr_t)program;
	if (wanted() & REPLAY_HALT_PRIVATE)
		hook_private = true;
	if (wanted() & REPLAY_HALT_START)
		await(hook_thread_self(), 0);
}

bool hook_halt_in_turns(void)
{
	return wanted() & REPLAY_HALT_TURNS;
}

bool hook_halt_is_on(void)
{
	return __atomic_load_n(&hook_slot->halted, __ATOMIC_ACQUIRE) ||
	       (!hook_halt_in_turns() && rp_held(hook_process.pid));
}
