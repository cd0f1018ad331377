/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_Recv from any source and MPI_Send, inline for the usual case. Recording and replay cost most
 * in a flood of short messages, where every instruction counts. Unusual cases go the way of all
 * other calls.
 */
#ifndef HOOK_MPI_QUICK_H
#define HOOK_MPI_QUICK_H

#include "hook/mpi/record/record.h"
#include "hook/mpi/replay/credit.h"
#include "hook/mpi/replay/replay.h"
#include "hook/mpi/replay/yield.h"

/* Used if record_quick. The source is mostly that of the last message. */
static inline __attribute__((always_inline)) int quick_record_Recv(struct hook_thread *t, void *buf,
								   int count, MPI_Datatype type,
								   int tag, MPI_Comm comm,
								   MPI_Status *status)
{
	MPI_Status local;
	int rc;

	hook_mpi_begin(t, MPI_ANY_SOURCE, tag, trace_digest_receive((uint64_t)count));
	if (status == MPI_STATUS_IGNORE)
		status = &local;
	rc = hook_mpi_top.Recv(buf, count, type, MPI_ANY_SOURCE, tag, comm, status);
	if (HOOK_LIKELY(rc == MPI_SUCCESS) && HOOK_LIKELY(!hook_requests_count()) &&
	    HOOK_LIKELY(!t->passive) &&
	    HOOK_LIKELY(
		    trace_order_again(&t->record.order, TRACE_SRC, (uint32_t)status->MPI_SOURCE))) {
		trace_stream_set_events(&t->record.order.stream, t->record.order.events, false);
		return rc;
	}
	record_received(t, TRACE_SRC, MPI_ANY_SOURCE, comm, record_told(rc, status));
	hook_mpi_end(t);
	return rc;
}

/* If replay_quick: is the source of the next message the next record, and waiting will be short? */
static inline bool quick_replay_is_source_next(const struct hook_thread *t, MPI_Comm comm)
{
	return t->replay.events + 1 < t->replay.calm &&
	       t->replay.next_event == t->replay.events + 1 && t->replay.next.kind == TRACE_SRC &&
	       t->replay.more && t->replay.next.a <= INT32_MAX &&
	       (!hook_yields || hook_credit_is_sent((int)t->replay.next.a, comm));
}

static inline __attribute__((always_inline)) int quick_replay_Recv(struct hook_thread *t, void *buf,
								   int count, MPI_Datatype type,
								   int tag, MPI_Comm comm,
								   MPI_Status *status)
{
	int source = (int)t->replay.next.a, rc;

	hook_mpi_digest(t, MPI_ANY_SOURCE, tag, trace_digest_receive((uint64_t)count));
	t->replay.events++;
	replay_show_begin(t, source, tag);
	if (HOOK_LIKELY(trace_order_next_again(&t->replay.order_reader, &t->replay.next)))
		t->replay.next_event = trace_order_event(&t->replay.order_reader);
	else
		replay_advance(t);
	rc = hook_mpi_top.Recv(buf, count, type, source, tag, comm, status);
	if (rc == MPI_SUCCESS)
		hook_credit_received(source, comm);
	replay_show_end(t);
	return rc;
}

/* Whether there is no record up to the event that begins. */
static inline bool quick_replay_is_calm(const struct hook_thread *t)
{
	return t->replay.events + 1 < t->replay.calm && t->replay.events + 1 < t->replay.next_event;
}

static inline __attribute__((always_inline)) int quick_replay_Send(struct hook_thread *t,
								   const void *buf, int count,
								   MPI_Datatype type, int dest,
								   int tag, MPI_Comm comm)
{
	int rc;

	hook_mpi_digest(t, dest, tag, trace_digest_argument(0, (uint64_t)count));
	t->replay.events++;
	replay_show_begin(t, dest, tag);
	hook_credit_sending(t, dest, comm);
	rc = hook_mpi_top.Send(buf, count, type, dest, tag, comm);
	replay_show_end(t);
	hook_mpi_leave(t);
	return rc;
}

#endif
