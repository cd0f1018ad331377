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
	hook_text_add(out, hook_mpi_call_name(t->call));
	if (t->peer != HOOK_NO_PEER) {
		hook_text_add(out, t->peer == MPI_ANY_SOURCE ? " with any source" : " with rank ");
		if (t->peer != MPI_ANY_SOURCE)
			hook_text_number(out, t->peer);
	}
	if (t->peer != HOOK_NO_PEER && t->tag != HOOK_NO_TAG) {
		hook_text_add(out, t->tag == MPI_ANY_TAG ? ", any tag" : ", tag ");
		if (t->tag != MPI_ANY_TAG)
			hook_text_number(out, t->tag);
	}
	hook_text_add(out, " as event ");
	hook_text_number(out, (int64_t)t->events);
}

static void describe_expected(const struct hook_thread *t, struct hook_text *out)
{
	if (!t->more) {
		hook_text_add(out, "no further outcome");
		return;
	}
	if (t->next.kind == TRACE_CHECK) {
		hook_text_add(out, "the recorded calls and arguments from event ");
		hook_text_number(out, (int64_t)t->checked + 1);
		hook_text_add(out, " to ");
		hook_text_number(out, (int64_t)t->next_event);
		return;
	}
	if (t->next.kind == TRACE_END) {
		hook_end_describe(out, (uint32_t)t->next.a, (int64_t)t->next.b);
	} else {
		hook_text_add(out, expectations[t->next.kind] ? expectations[t->next.kind]
							      : "something else");
	}
	if (t->next.kind != TRACE_FAIL) {
		hook_text_add(out, " at event ");
		hook_text_number(out, (int64_t)t->next_event);
	}
}

void replay_diverged(struct hook_thread *t)
{
	char expected[256], found[256];
	struct hook_text e = hook_text_in(expected, sizeof(expected));
	struct hook_text f = hook_text_in(found, sizeof(found));

	describe_expected(t, &e);
	describe_found(t, &f);
	hook_diverged(t, hook_mpi_call_name(t->call), expected, found);
}
