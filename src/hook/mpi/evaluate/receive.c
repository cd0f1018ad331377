/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluation: the calls that receive or look for messages. Each is made by the replay; that the
 * program does not want to know the status must not keep us from knowing it.
 */
#include "hook/mpi/evaluate/evaluate.h"
#include "hook/mpi/replay/replay.h"

static void returned(struct evaluate *e, int rc, const MPI_Status *status)
{
	if (!e->last)
		evaluate_note(e, rc, status);
}

static int evaluate_Recv(struct hook_thread *t, void *buf, MPI_Count count, MPI_Datatype type,
			 int source, int tag, MPI_Comm comm, MPI_Status *status)
{
	struct hook_mpi_act act = {.kind = HOOK_ACT_RECV, .peer = source, .tag = tag, .comm = comm};
	struct evaluate *e = evaluate_begin(t, &act);
	MPI_Status local;
	int rc;

	if (status == MPI_STATUS_IGNORE)
		status = &local;
	rc = hook_mpi_replay.Recv(t, buf, count, type, source, tag, comm, status);
	returned(e, rc, status);
	return rc;
}

static int evaluate_Irecv(struct hook_thread *t, void *buf, MPI_Count count, MPI_Datatype type,
			  int source, int tag, MPI_Comm comm, MPI_Request *request)
{
	struct hook_mpi_act act = {.kind = HOOK_ACT_IRECV,
				   .peer = source,
				   .tag = tag,
				   .comm = comm,
				   .request = request};
	struct evaluate *e;
	int rc;

	e = evaluate_begin(t, &act);
	rc = hook_mpi_replay.Irecv(t, buf, count, type, source, tag, comm, request);
	returned(e, rc, NULL);
	return rc;
}

static int evaluate_Recv_init(struct hook_thread *t, void *buf, MPI_Count count, MPI_Datatype type,
			      int source, int tag, MPI_Comm comm, MPI_Request *request)
{
	struct hook_mpi_act act = {.kind = HOOK_ACT_RECV_INIT,
				   .peer = source,
				   .tag = tag,
				   .comm = comm,
				   .request = request};
	struct evaluate *e;
	int rc;

	e = evaluate_begin(t, &act);
	rc = hook_mpi_replay.Recv_init(t, buf, count, type, source, tag, comm, request);
	returned(e, rc, NULL);
	return rc;
}

static struct hook_mpi_act exchange_act(const struct hook_mpi_exchange *x)
{
	return (struct hook_mpi_act){
		.kind = HOOK_ACT_EXCHANGE,
		.peer = x->dest,
		.tag = x->sendtag,
		.want_peer = x->source,
		.want_tag = x->recvtag,
		.count = x->dest >= 0 ? x->sendcount : 0,
		.type = x->sendtype,
		.comm = x->comm,
	};
}

static int evaluate_exchange(struct hook_thread *t, const struct hook_mpi_exchange *x, bool replace,
			     MPI_Status *status)
{
	struct hook_mpi_act act = exchange_act(x);
	struct evaluate *e = evaluate_begin(t, &act);
	MPI_Status local;
	int rc;

	if (status == MPI_STATUS_IGNORE)
		status = &local;
	rc = hook_mpi_replay.exchange(t, x, replace, status);
	returned(e, rc, status);
	return rc;
}

#ifdef HOOK_FLAVOUR_MPICH
static int evaluate_iexchange(struct hook_thread *t, const struct hook_mpi_exchange *x,
			      bool replace, MPI_Request *request)
{
	struct hook_mpi_act act = exchange_act(x);
	struct evaluate *e;
	int rc;

	act.kind = HOOK_ACT_IEXCHANGE;
	act.request = request;
	e = evaluate_begin(t, &act);
	rc = hook_mpi_replay.iexchange(t, x, replace, request);
	returned(e, rc, NULL);
	return rc;
}
#endif

static int evaluate_Probe(struct hook_thread *t, int source, int tag, MPI_Comm comm,
			  MPI_Status *status)
{
	struct hook_mpi_act act = {
		.kind = HOOK_ACT_PROBE, .peer = source, .tag = tag, .comm = comm};
	struct evaluate *e = evaluate_begin(t, &act);
	MPI_Status local;
	int rc;

	if (status == MPI_STATUS_IGNORE)
		status = &local;
	rc = hook_mpi_replay.Probe(t, source, tag, comm, status);
	returned(e, rc, status);
	return rc;
}

static int evaluate_Mprobe(struct hook_thread *t, int source, int tag, MPI_Comm comm,
			   MPI_Message *message, MPI_Status *status)
{
	struct hook_mpi_act act = {.kind = HOOK_ACT_MPROBE,
				   .peer = source,
				   .tag = tag,
				   .comm = comm,
				   .message = message};
	struct evaluate *e = evaluate_begin(t, &act);
	MPI_Status local;
	int rc;

	if (status == MPI_STATUS_IGNORE)
		status = &local;
	rc = hook_mpi_replay.Mprobe(t, source, tag, comm, message, status);
	returned(e, rc, status);
	return rc;
}

static int evaluate_Iprobe(struct hook_thread *t, int source, int tag, MPI_Comm comm, int *flag,
			   MPI_Status *status)
{
	struct hook_mpi_act act = {
		.kind = HOOK_ACT_PROBE, .poll = true, .peer = source, .tag = tag, .comm = comm};
	struct evaluate *e;
	MPI_Status local;
	int rc;

	if (replay_poll_would_fail(t))
		return hook_mpi_replay.Iprobe(t, source, tag, comm, flag, status);
	e = evaluate_begin(t, &act);
	if (status == MPI_STATUS_IGNORE)
		status = &local;
	rc = hook_mpi_replay.Iprobe(t, source, tag, comm, flag, status);
	if (*flag || rc != MPI_SUCCESS)
		returned(e, rc, status);
	return rc;
}

static int evaluate_Improbe(struct hook_thread *t, int source, int tag, MPI_Comm comm, int *flag,
			    MPI_Message *message, MPI_Status *status)
{
	struct hook_mpi_act act = {.kind = HOOK_ACT_MPROBE,
				   .poll = true,
				   .peer = source,
				   .tag = tag,
				   .comm = comm,
				   .message = message};
	struct evaluate *e;
	MPI_Status local;
	int rc;

	if (replay_poll_would_fail(t))
		return hook_mpi_replay.Improbe(t, source, tag, comm, flag, message, status);
	e = evaluate_begin(t, &act);
	if (status == MPI_STATUS_IGNORE)
		status = &local;
	rc = hook_mpi_replay.Improbe(t, source, tag, comm, flag, message, status);
	if (*flag || rc != MPI_SUCCESS)
		returned(e, rc, status);
	return rc;
}

void evaluate_receive_calls(struct hook_mpi_mode *mode)
{
	mode->exchange = evaluate_exchange;
#ifdef HOOK_FLAVOUR_MPICH
	mode->iexchange = evaluate_iexchange;
#endif
	mode->Recv = evaluate_Recv;
	mode->Irecv = evaluate_Irecv;
	mode->Recv_init = evaluate_Recv_init;
	mode->Probe = evaluate_Probe;
	mode->Mprobe = evaluate_Mprobe;
	mode->Iprobe = evaluate_Iprobe;
	mode->Improbe = evaluate_Improbe;
}
