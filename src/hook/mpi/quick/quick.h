/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_Recv from any source and MPI_Send, inline for the usual case. Recording and replay cost most
 * in a flood of short messages, where every instruction counts. Unusual cases go the way of all
 * other calls, by a jump: the wrapper has no frame for them.
 *
 * Recording has one word, t->record.quick: the event up to which an event has only to be counted.
 * It is 0 in other modes, and as soon as anything else is to be done.
 */
#ifndef HOOK_MPI_QUICK_H
#define HOOK_MPI_QUICK_H

#include "hook/mpi/record/record.h"
#include "hook/mpi/replay/credit.h"
#include "hook/mpi/replay/replay.h"
#include "hook/mpi/replay/yield.h"

/* The wrapper where no quick way fits. */
int other_MPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
		   MPI_Status *status);
int other_MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm);

static inline bool quick_record_fits(const struct hook_thread *t)
{
	return HOOK_LIKELY(hook_depth == 0) && HOOK_LIKELY(t != NULL) &&
	       HOOK_LIKELY(t->record.order.events + 1 < t->record.quick) &&
	       HOOK_LIKELY(!hook_baton_on);
}

/* hook_mpi_enter and hook_mpi_begin, where one word has said that they do nothing else. */
static inline __attribute__((always_inline)) void quick_record_begin(struct hook_thread *t,
								     uint32_t call,
								     const void *site, int peer,
								     int tag, uint64_t extra)
{
	hook_depth = 1;
	hook_mpi_frame = (uintptr_t)__builtin_frame_address(0);
	t->mpi.call = call;
	t->mpi.peer = peer;
	t->mpi.tag = tag;
	t->mpi.site = site;
	t->mpi.digest = trace_call_digest(t->mpi.digest, call, peer, tag, extra);
	trace_stream_begin_event(&t->record.order.stream, ++t->record.order.events,
				 (uint32_t)t->mpi.digest);
}

/* It still has only to be counted, and so recording has not stopped. */
static inline bool quick_record_may_end(const struct hook_thread *t)
{
	return HOOK_LIKELY(t->record.quick != 0) && HOOK_LIKELY(!hook_baton_on);
}

static inline __attribute__((always_inline)) int quick_record_end(struct hook_thread *t)
{
	trace_stream_set_events(&t->record.order.stream, t->record.order.events, false);
	hook_mpi_frame = 0;
	hook_depth = 0;
	return MPI_SUCCESS;
}

/* From any source, which is mostly that of the last message, and with a status. */
static inline __attribute__((always_inline)) int
quick_record_Recv(struct hook_thread *t, const void *site, void *buf, int count, MPI_Datatype type,
		  int source, int tag, MPI_Comm comm, MPI_Status *status)
{
	int rc;

	(void)source;
	quick_record_begin(t, CALL_Recv, site, MPI_ANY_SOURCE, tag,
			   trace_digest_receive((uint64_t)count));
	rc = hook_mpi_top.Recv(buf, count, type, MPI_ANY_SOURCE, tag, comm, status);
	if (HOOK_LIKELY(rc == MPI_SUCCESS) && HOOK_LIKELY(!hook_requests_count()) &&
	    quick_record_may_end(t) &&
	    HOOK_LIKELY(
		    trace_order_again(&t->record.order, TRACE_SRC, (uint32_t)status->MPI_SOURCE)))
		return quick_record_end(t);
	return record_received_quickly(t, comm, rc, status);
}

static inline __attribute__((always_inline)) int
quick_record_Send(struct hook_thread *t, const void *site, const void *buf, int count,
		  MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
	int rc;

	quick_record_begin(t, CALL_Send, site, dest, tag,
			   trace_digest_argument(0, (uint64_t)count));
	rc = hook_mpi_top.Send(buf, count, type, dest, tag, comm);
	if (HOOK_LIKELY(rc == MPI_SUCCESS) && HOOK_LIKELY(!hook_mpi_pending) &&
	    quick_record_may_end(t))
		return quick_record_end(t);
	return record_sent_quickly(t, rc);
}

static inline bool quick_replay_fits(const struct hook_thread *t)
{
	return hook_depth == 0 && t && t->opened && !hook_baton_on &&
	       t->replay.events + 1 < t->replay.calm && !t->replay.holds;
}

/* Is the source of the next message the next record, and waiting will be short? */
static inline bool quick_replay_is_source_next(const struct hook_thread *t, MPI_Comm comm)
{
	return t->replay.next_event == t->replay.events + 1 && t->replay.next.kind == TRACE_SRC &&
	       t->replay.more && t->replay.next.a <= INT32_MAX &&
	       (!hook_yields || hook_credit_is_sent((int)t->replay.next.a, comm));
}

/* hook_mpi_enter and hook_mpi_begin. */
static inline __attribute__((always_inline)) void
quick_replay_begin(struct hook_thread *t, uint32_t call, const void *site, int peer, int tag,
		   int seen, uint64_t extra)
{
	hook_depth = 1;
	hook_mpi_frame = (uintptr_t)__builtin_frame_address(0);
	t->mpi.call = call;
	t->mpi.peer = HOOK_NO_PEER;
	t->mpi.site = site;
	t->mpi.digest = trace_call_digest(t->mpi.digest, call, peer, tag, extra);
	t->replay.events++;
	replay_show_begin(t, seen, tag);
}

/* If replay_quick, for a receive from any source whose source is the next record. */
static __attribute__((noinline)) int quick_replay_Recv(void *buf, int count, MPI_Datatype type,
						       int source, int tag, MPI_Comm comm,
						       MPI_Status *status)
{
	struct hook_thread *t = hook_self;
	int rc;

	if (source != MPI_ANY_SOURCE || !quick_replay_fits(t) ||
	    !quick_replay_is_source_next(t, comm))
		return other_MPI_Recv(buf, count, type, source, tag, comm, status);
	source = (int)t->replay.next.a;
	quick_replay_begin(t, CALL_Recv, __builtin_return_address(0), MPI_ANY_SOURCE, tag, source,
			   trace_digest_receive((uint64_t)count));
	if (HOOK_LIKELY(trace_order_next_again(&t->replay.order_reader, &t->replay.next)))
		t->replay.next_event = trace_order_event(&t->replay.order_reader);
	else
		replay_advance(t);
	rc = hook_mpi_top.Recv(buf, count, type, source, tag, comm, status);
	if (rc == MPI_SUCCESS)
		hook_credit_received(source, comm);
	replay_show_end(t);
	hook_mpi_leave(t);
	return rc;
}

/* If replay_quick, where there is no record up to the event that begins. */
static __attribute__((noinline)) int
quick_replay_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
	struct hook_thread *t = hook_self;
	int rc;

	if (!quick_replay_fits(t) || t->replay.events + 1 >= t->replay.next_event)
		return other_MPI_Send(buf, count, type, dest, tag, comm);
	quick_replay_begin(t, CALL_Send, __builtin_return_address(0), dest, tag, dest,
			   trace_digest_argument(0, (uint64_t)count));
	hook_credit_sending(t, dest, comm);
	rc = hook_mpi_top.Send(buf, count, type, dest, tag, comm);
	replay_show_end(t);
	hook_mpi_leave(t);
	return rc;
}

#endif
