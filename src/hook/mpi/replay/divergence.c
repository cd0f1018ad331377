/* SPDX-License-Identifier: Apache-2.0 */
/* Replay: what to say when the program asks for something else than the recording has next. */
#include "hook/common/end.h"
#include "hook/kit/text.h"
#include "hook/mpi/replay/replay.h"

static const char *const expectations[TRACE_KINDS] = {
	[TRACE_SRC] = "a wildcard receive (MPI_Recv, MPI_Sendrecv)",
	[TRACE_LOOK] = "a wildcard probe (MPI_Probe, MPI_Mprobe)",
	[TRACE_INDEX] = "MPI_Waitany or MPI_Testany",
	[TRACE_FAIL] = "polls that fail",
	[TRACE_HIT] = "a poll that succeeds",
	[TRACE_SOME] = "MPI_Waitsome or MPI_Testsome",
	[TRACE_FLAG] = "MPI_Test_cancelled",
	[TRACE_TURN] = "a call in another thread's turn",
	[TRACE_STOP] = "the end of the recording",
	[TRACE_WORLD] = "MPI_Init",
};

static void describe_found(const struct hook_thread *t, struct hook_text *out)
{
	hook_text_add(out, trace_call_name(t->mpi.call));
	if (t->mpi.peer != HOOK_NO_PEER) {
		hook_text_add(out,
			      t->mpi.peer == MPI_ANY_SOURCE ? " with any source" : " with rank ");
		if (t->mpi.peer != MPI_ANY_SOURCE)
			hook_text_number(out, t->mpi.peer);
	}
	if (t->mpi.peer != HOOK_NO_PEER && t->mpi.tag != HOOK_NO_TAG) {
		hook_text_add(out, t->mpi.tag == MPI_ANY_TAG ? ", any tag" : ", tag ");
		if (t->mpi.tag != MPI_ANY_TAG)
			hook_text_number(out, t->mpi.tag);
	}
	hook_text_add(out, " as event ");
	hook_text_number(out, (int64_t)t->replay.events);
}

/* Since the last check they were not the recorded ones. */
static void describe_calls(const struct hook_thread *t, uint64_t to, struct hook_text *out)
{
	hook_text_add(out, "the recorded calls and arguments from event ");
	hook_text_number(out, (int64_t)t->replay.checked + 1);
	hook_text_add(out, " to ");
	hook_text_number(out, (int64_t)to);
}

static void describe_expected(const struct hook_thread *t, struct hook_text *out)
{
	if (!t->replay.more) {
		hook_text_add(out, "no further outcome");
		return;
	}
	if (t->replay.next.kind == TRACE_CHECK) {
		describe_calls(t, t->replay.next_event, out);
		return;
	}
	if (t->replay.next.kind == TRACE_END) {
		hook_end_describe(out, (uint32_t)t->replay.next.a, (int64_t)t->replay.next.b);
	} else {
		hook_text_add(out, expectations[t->replay.next.kind]
					   ? expectations[t->replay.next.kind]
					   : "something else");
	}
	if (t->replay.next.kind != TRACE_FAIL) {
		hook_text_add(out, " at event ");
		hook_text_number(out, (int64_t)t->replay.next_event);
	}
}

void replay_other_calls(struct hook_thread *t)
{
	char expected[256], found[256];
	struct hook_text e = hook_text_in(expected, sizeof(expected));
	struct hook_text f = hook_text_in(found, sizeof(found));

	describe_calls(t, t->replay.events, &e);
	describe_found(t, &f);
	hook_diverged(t, trace_call_name(t->mpi.call), expected, found);
}

void replay_diverged(struct hook_thread *t)
{
	char expected[256], found[256];
	struct hook_text e = hook_text_in(expected, sizeof(expected));
	struct hook_text f = hook_text_in(found, sizeof(found));

	describe_expected(t, &e);
	describe_found(t, &f);
	hook_diverged(t, trace_call_name(t->mpi.call), expected, found);
}
