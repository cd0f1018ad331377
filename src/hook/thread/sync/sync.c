/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both modes share, and the switch: before the program makes its first thread nothing has an
 * order that could differ, so nothing is counted, neither in the recording nor in the replay.
 */
#include "hook/thread/sync/sync.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/syscall.h>
#include <stdlib.h>
#include <string.h>

#include "hook/common/end.h"
#include "hook/kit/random.h"
#include "hook/program/atomics.h"
#include "hook/program/modules.h"
#include "hook/session/unseen.h"
#include "hook/thread/atomic/atom.h"
#include "hook/thread/call/real.h"
#include "hook/thread/gomp/gomp.h"
#include "hook/thread/life/stuck.h"
#include "hook/thread/serial/baton.h"
#include "hook/thread/race/race.h"
#include "hook/thread/serial/serial.h"
#include "hook/thread/sync/quick.h"
#include "hook/thread/sync/streams.h"

const struct hook_sync_mode *hook_sync_mode, *hook_sync_plain;
bool hook_sync_replays, hook_sync_minds_blocks;
enum hook_quick hook_sync_quick;

static const struct {
	const char *name;
	enum trace_sync_class how;
} ops[] = {
#define OP(number, name, text, class) [number] = {text, TRACE_SYNC_##class},
	TRACE_SYNC_OPS(OP)
#undef OP
};

_Static_assert(sizeof(ops) / sizeof(ops[0]) == SYNC_OPS, "the last operation has the last number");

const char *hook_sync_name(enum hook_sync_op op)
{
	return ops[op].name;
}

enum trace_sync_class hook_sync_class(enum hook_sync_op op)
{
	return ops[op].how;
}

/* Then libc may turn a mutex that is held into one of another kind. */
static bool locks_are_elided(void)
{
	const char *tunables = getenv("GLIBC_TUNABLES");

	return tunables && strstr(tunables, "elision");
}

static enum hook_quick how_quick(void)
{
	if (locks_are_elided() || hook_process.noise || hook_residue_matters ||
	    !hook_sync_is_of_libc((void *)hook_sync_real.pthread_mutex_lock) ||
	    !hook_sync_is_of_libc((void *)hook_sync_real.pthread_mutex_unlock))
		return HOOK_QUICK_NEVER;
	if (hook_process.mode == HOOK_RECORD)
		return hook_signals ? HOOK_QUICK_LOCK : HOOK_QUICK_PAIR;
	return hook_signals || hook_process.replay.evaluate || hook_process.replay.checkpoint
		       ? HOOK_QUICK_NEVER
		       : HOOK_QUICK_FOLLOW;
}

/* Which of the two the choice was is noted for the replay, which makes no other. */
static bool runs_serially(void)
{
	bool serial = hook_process.threads == TRACE_THREADS_SERIAL;

	if (hook_process.threads == TRACE_THREADS_AUTO && hook_sync_replays)
		return hook_modules_noted(TRACE_NOTE_SERIAL);
	if (hook_sync_replays || serial)
		return serial;
	if (hook_atomics_look()) {
		serial = hook_process.threads == TRACE_THREADS_AUTO;
		hook_atomics_tell(serial);
	}
	if (hook_process.threads == TRACE_THREADS_AUTO)
		hook_modules_note(serial ? TRACE_NOTE_SERIAL : TRACE_NOTE_PARALLEL);
	return serial;
}

const char *hook_sync_hint(void)
{
	return hook_baton_on
		       ? ""
		       : "; threads that share data by atomic operations or without locks can "
			 "do that: record with --threads=serial";
}

/* Threads of V8 agree by the processor's clock on what is compiled when; not even --serial holds.
 */
static void tell_of_engines(bool serial)
{
	static struct hook_unseen v8 = {.key = "v8",
					.what = "the moments at which threads of V8 (JavaScript) "
						"compile and collect garbage"};

	static struct hook_unseen ruby = {
		.key = "ruby",
		.what = "the moments at which Ruby's timer interrupts one of its threads"};

	if (dlsym(RTLD_DEFAULT, "_ZN2v82V87DisposeEv"))
		hook_unseen(&v8);
	if (!serial && dlsym(RTLD_DEFAULT, "ruby_init"))
		hook_unseen(&ruby);
}

void hook_sync_start(void)
{
	bool serial;

	if (hook_sync_mode)
		return;
	hook_sync_resolve();
	hook_end_watch_signals();
	hook_sync_open(hook_thread_self());
	hook_sync_replays = hook_process.mode == HOOK_REPLAY;
	hook_sync_plain = hook_sync_replays ? &hook_sync_replay : &hook_sync_record;
	if (hook_process.replay.races)
		hook_sync_plain = hook_race_start(hook_sync_plain);
	hook_sync_mode = hook_sync_plain;
	serial = runs_serially();
	hook_sync_minds_blocks = serial || hook_race;
	if (hook_process.mode == HOOK_RECORD) {
		hook_gomp_warn();
		tell_of_engines(serial);
	}
	if (!serial) {
		hook_sync_quick = how_quick();
		hook_atoms_start();
		return;
	}
	hook_baton_start(hook_thread_self());
	hook_sync_mode = hook_sync_serial(hook_sync_mode);
}

void hook_sync_stop(void)
{
	hook_sync_quick = HOOK_QUICK_NEVER;
	hook_race_stop();
	hook_atoms_stop();
	hook_sync_mode = NULL;
	hook_sync_replays = false;
	hook_sync_minds_blocks = false;
	hook_baton_stop();
	hook_sync_list_clear();
}

/* Never 0. */
uint64_t hook_sync_new_id(struct hook_thread *t)
{
	if (!t->sync.id_base)
		t->sync.id_base = trace_sync_maker(t->name);
	return trace_sync_object_id(t->sync.id_base, ++t->sync.ids);
}

void hook_sync_noise(struct hook_thread *t)
{
	struct timespec ts = {0, 0};
	uint64_t x = hook_random_next(&t->noise);

	if (x % 16 == 1)
		sched_yield();
	if (x % 64)
		return;
	ts.tv_nsec = (long)((x >> 8) % 200000);
	syscall(SYS_nanosleep, &ts, NULL);
}
