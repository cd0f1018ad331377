/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program ends by itself: by exit or by MPI_Abort. Recording: the last record says how. Replay:
 * a rank that comes to its end says its last word and waits until all others have come to theirs,
 * because the launcher kills them all as soon as one dies. Invariant: nothing here returns to the
 * program in a state it would not be in without us.
 */
#include "hook/process/ends.h"

#include "hook/common/thread.h"
#include "hook/output/output.h"
#include "hook/session/discard.h"
#include "hook/session/session.h"
#include "hook/thread/life/stuck.h"
#include "hook/thread/serial/baton.h"

#define NAPS_BEHIND 500

/* Of threads that would end the process, only one did so when recorded. */
static bool ends_process(struct hook_thread *t)
{
	if (hook_thread_is_main(t) && !(hook_slot->flags & REPLAY_BY_HELPER))
		return true;
	hook_thread_open(t);
	return hook_slot->flags & (REPLAY_CUT | REPLAY_STOPPED) || hook_end_is_own(t);
}

/* It was another thread, which has yet to come there. */
static bool left_to_another;

/*
 * Recording: a second thread that exits could end the process before the first has written down how
 * it ends. It comes later, unless the first one waits for it.
 */
static void come_second(void)
{
	static bool exits;

	if (!__atomic_exchange_n(&exits, true, __ATOMIC_ACQ_REL))
		return;
	hook_depth = 1;
	for (int i = 0; i < NAPS_BEHIND; i++)
		hook_end_sleep();
	hook_depth = 0;
}

void hook_end_exits(int status)
{
	struct hook_thread *t = hook_thread_self();

	if (!hook_sync_mode)
		return;
	if (hook_process.mode == HOOK_RECORD) {
		come_second();
		return;
	}
	if (!ends_process(t))
		hook_end_of_recording(t, "exit");
	if (__atomic_load_n(&left_to_another, __ATOMIC_ACQUIRE))
		hook_end_by_exit(status);
}

void hook_end_by_exit(int status)
{
	struct hook_thread *t = hook_thread_self();
	bool early = hook_process.mpi_open;

	if (hook_process.mode == HOOK_REPLAY && hook_sync_mode && !ends_process(t)) {
		__atomic_store_n(&left_to_another, true, __ATOMIC_RELEASE);
		hook_end_of_recording(t, "exit");
	}
	if (__atomic_exchange_n(&hook_process.ended, true, __ATOMIC_ACQ_REL))
		return;
	hook_depth = 1;
	if (hook_process.mode == HOOK_RECORD) {
		if (hook_sync_has_others(t))
			hook_output_ends_with_others();
		hook_end_finish_record(t, early ? TRACE_END_EARLY : TRACE_END_EXIT,
				       (uint64_t)status);
		hook_slot->state = REPLAY_GONE;
		if (hook_process.record.discard && status == 0 && !early)
			hook_discard();
		return;
	}
	hook_baton_leave(t);
	if (hook_slot->flags & REPLAY_STOPPED)
		hook_end_of_recording(t, "exit");
	t->wait.in = "exit";
	if (!hook_sync_await_others(t))
		hook_sync_say_behind(t);
	hook_end_check(t, "exit", early ? TRACE_END_EARLY : TRACE_END_EXIT, status);
	hook_end_write_all();
	hook_session_last_word(t, REPLAY_WHY_EXIT, "", status, "", NULL, 0);
	if (status != 0 || early || hook_slot->halt & REPLAY_HALT_END)
		hook_end_wait_for_all(t, true);
	hook_slot->state = REPLAY_GONE;
}

void hook_end_by_abort(struct hook_thread *t, int code)
{
	if (__atomic_exchange_n(&hook_process.ended, true, __ATOMIC_ACQ_REL))
		return;
	if (hook_process.mode == HOOK_RECORD) {
		hook_end_finish_record(t, TRACE_END_ABORT, (uint64_t)code);
		return;
	}
	hook_baton_leave(t);
	t->wait.in = "MPI_Abort";
	if (!hook_sync_await_others(t))
		hook_sync_say_behind(t);
	hook_end_check(t, "MPI_Abort", TRACE_END_ABORT, code);
	hook_end_say_word(t, REPLAY_WHY_ABORT, "MPI_Abort", code, "");
	hook_end_wait_for_all(t, true);
}
