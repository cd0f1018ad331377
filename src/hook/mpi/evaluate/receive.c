/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluation: the calls that receive or look for messages. Each is made by the replay. Even if the
 * program ignores the status, we need it.
 */
#include "hook/mpi/evaluate/evaluate.h"
#include "hook/mpi/replay/replay.h"

static void returned(struct evaluate *e, int rc, const MPI_Status *status)
{
	if (!e->last)
		evaluate_note(e, rc, status);
}

static int evaluate_receive(struct hook_thread *t, const struct hook_mpi_receive *asked)
{
	struct hook_mpi_receive own = *asked, *o = &own;
	static const enum hook_mpi_act_kind kinds[] = {HOOK_ACT_RECV, HOOK_ACT_IRECV,
						       HOOK_ACT_RECV_INIT};
	struct hook_mpi_act act = {.kind = kinds[o->post],
				   .peer = o->source,
				   .tag = o->tag,
				   .comm = o->comm,
				   .request = o->request};
	struct evaluate *e = evaluate_begin(t, &act);
	MPI_Status local;
	int rc;

	if (o->status == MPI_STATUS_IGNORE)
		o->status = &local;
	rc = hook_mpi_replay.receive(t, o);
	returned(e, rc, o->status);
	return rc;
}

static int evaluate_exchange(struct hook_thread *t, const struct hook_mpi_exchange *asked)
{
	struct hook_mpi_exchange own = *asked, *o = &own;
	struct hook_mpi_act act = {
		.kind = o->post == HOOK_POSTED ? HOOK_ACT_IEXCHANGE : HOOK_ACT_EXCHANGE,
		.peer = o->dest,
		.tag = o->sendtag,
		.want_peer = o->source,
		.want_tag = o->recvtag,
		.count = o->dest >= 0 ? o->sendcount : 0,
		.type = o->sendtype,
		.comm = o->comm,
		.request = o->request,
	};
	struct evaluate *e = evaluate_begin(t, &act);
	MPI_Status local;
	int rc;

	if (o->status == MPI_STATUS_IGNORE)
		o->status = &local;
	rc = hook_mpi_replay.exchange(t, o);
	returned(e, rc, o->status);
	return rc;
}

static int evaluate_probe(struct hook_thread *t, const struct hook_mpi_probe *asked)
{
	struct hook_mpi_probe own = *asked, *o = &own;
	struct hook_mpi_act act = {.kind = o->message ? HOOK_ACT_MPROBE : HOOK_ACT_PROBE,
				   .poll = o->poll,
				   .peer = o->source,
				   .tag = o->tag,
				   .comm = o->comm,
				   .message = o->message};
	struct evaluate *e;
	MPI_Status local;
	int rc;

	if (o->poll && replay_poll_would_fail(t))
		return hook_mpi_replay.probe(t, o);
	e = evaluate_begin(t, &act);
	if (o->status == MPI_STATUS_IGNORE)
		o->status = &local;
	rc = hook_mpi_replay.probe(t, o);
	if (!o->flag || *o->flag || rc != MPI_SUCCESS)
		returned(e, rc, o->status);
	return rc;
}

void evaluate_receive_calls(struct hook_mpi_mode *mode)
{
	mode->receive = evaluate_receive;
	mode->exchange = evaluate_exchange;
	mode->probe = evaluate_probe;
}
