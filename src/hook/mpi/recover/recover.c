/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a rank alone: what is sent goes nowhere, what is received comes from the log. Ranks
 * that are restarted together may have to send again what the log does not have (live.c).
 * Invariant: each answer that the log was written for is taken once, by the same call of the same
 * event; where the log has something else the replay ends, it never guesses.
 */
#include "hook/mpi/recover/recover.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "hook/common/end.h"
#include "hook/common/signal.h"

#define SELF_TAG 1

static MPI_Comm alone; /* of this rank; messages are probed on it that stand in for others */
static bool finalized;

struct hook_log *recover_self(void)
{
	struct hook_log *log = hook_log_self();

	if (log && hook_signal_image)
		hook_signal_image(hook_self);
	if (log && hook_self->replay.final)
		hook_end_of_recording(hook_self, trace_call_name(hook_self->mpi.call));
	return log;
}

/* Of a communicator that is none MPI tells MPI_COMM_WORLD. */
int recover_raise(struct hook_log *log, MPI_Comm comm, int rc)
{
	bool known = comm == MPI_COMM_SELF || recover_comm(comm);

	log->inside++;
	hook_mpi_real.Comm_call_errhandler(known ? comm : MPI_COMM_WORLD, rc);
	log->inside--;
	return rc;
}

bool recover_fails(struct hook_log *log, MPI_Comm comm, int *rc)
{
	if (!hook_log_take_error(log, TRACE_LOG_ERROR, rc))
		return false;
	recover_raise(log, comm, *rc);
	return true;
}

void recover_status(MPI_Status *status, const struct trace_log_rec *rec)
{
	if (status == MPI_STATUS_IGNORE)
		return;
	status->MPI_SOURCE = rec->source;
	status->MPI_TAG = rec->tag;
#ifdef HOOK_FLAVOUR_OPENMPI
	status->_ucount = rec->count;
	status->_cancelled = rec->cancelled;
#else
	status->count_lo = (int)(uint32_t)rec->count;
	status->count_hi_and_cancelled =
		(int)((uint32_t)(rec->count >> 32) << 1 | (uint32_t)rec->cancelled);
#endif
}

int recover_message(struct hook_log *log, const struct hook_block *b, MPI_Status *status)
{
	bool live = recover_live_is_next(log);
	struct trace_log_rec rec = hook_log_take(log, live ? TRACE_LOG_LIVE : TRACE_LOG_MESSAGE);
	struct hook_block part = hook_block_part(b, rec.count);

	hook_log_answer(log);
	log->gone = rec.gone;
	if (hook_block_bytes(&part) != rec.bytes)
		hook_failed(hook_self, "the log has a message that does not fit here");
	if (live)
		recover_live_take(log, &rec, &part);
	else
		hook_block_read(&part, rec.data, rec.bytes);
	if (!rec.error || rec.count)
		recover_status(status, &rec);
	return rec.error;
}

void recover_post(struct hook_log *log, MPI_Request *request)
{
	log->inside++;
	hook_stand_in(request);
	log->inside--;
}

static int recover_send(const struct hook_mpi_send *o)
{
	struct hook_block b = {(void *)(uintptr_t)o->buf, o->count, o->type};
	struct hook_log *log = recover_self();
	int rc;

	if (!log)
		return hook_mpi_send(&hook_mpi_real, o);
	if (recover_fails(log, o->comm, &rc))
		return rc;
	if (o->post != HOOK_PREPARED)
		recover_live_send(log, &b, o->dest, o->comm);
	if (o->post == HOOK_BLOCKING)
		return rc;
	recover_post(log, o->request);
	hook_want_send(*o->request, o);
	return rc;
}

/* The message that stands in for the one that was probed. */
static void take_message(struct hook_log *log, MPI_Message *message)
{
	log->inside++;
	hook_mpi_real.Mrecv(NULL, 0, MPI_BYTE, message, MPI_STATUS_IGNORE);
	log->inside--;
}

static int receive_now(struct hook_log *log, const struct hook_mpi_receive *o)
{
	struct hook_block b = {o->buf, o->count, o->type};
	int rc = recover_message(log, &b, o->status);

	if (o->message && *o->message != MPI_MESSAGE_NULL)
		take_message(log, o->message);
	return rc == MPI_SUCCESS ? rc : recover_raise(log, o->comm, rc);
}

/* From nobody: MPI does that by itself, on whatever communicator. */
static int receive_nothing(struct hook_log *log, const struct hook_mpi_receive *asked)
{
	struct hook_mpi_receive o = *asked;
	int rc;

	o.comm = alone;
	log->inside++;
	rc = hook_mpi_receive(&hook_mpi_real, &o);
	log->inside--;
	return rc;
}

static int recover_receive(const struct hook_mpi_receive *o)
{
	struct hook_log *log = recover_self();
	struct hook_block b = {o->buf, o->count, o->type};
	int rc;

	if (!log)
		return hook_mpi_receive(&hook_mpi_real, o);
	if (!o->message && o->source == MPI_PROC_NULL)
		return receive_nothing(log, o);
	if (o->post == HOOK_BLOCKING)
		return receive_now(log, o);
	if (recover_fails(log, o->comm, &rc))
		return rc;
	if (o->message && *o->message != MPI_MESSAGE_NULL)
		take_message(log, o->message);
	recover_post(log, o->request);
	hook_want_message(*o->request, hook_want_flags(o->post), &b, o->comm);
	return rc;
}

static int recover_exchange(const struct hook_mpi_exchange *o)
{
	struct hook_block b = {o->receive.buf, o->receive.count, o->receive.type};
	struct hook_block sent = {(void *)(uintptr_t)o->send.buf, o->send.count, o->send.type};
	struct hook_log *log = recover_self();
	int rc;

	if (!log)
		return hook_mpi_exchange(&hook_mpi_real, o);
	recover_live_send(log, &sent, o->send.dest, o->send.comm);
	if (o->receive.post == HOOK_BLOCKING) {
		rc = recover_message(log, &b, o->receive.status);
		return rc == MPI_SUCCESS ? rc : recover_raise(log, o->send.comm, rc);
	}
	if (recover_fails(log, o->send.comm, &rc))
		return rc;
	recover_post(log, o->receive.request);
	hook_want_message(*o->receive.request, HOOK_WANT_ACTIVE, &b, o->send.comm);
	return rc;
}

/* A message to ourselves is there as soon as it is sent. */
static void make_message(struct hook_log *log, MPI_Message *message)
{
	MPI_Request request;

	log->inside++;
	hook_mpi_real.Isend(NULL, 0, MPI_BYTE, 0, SELF_TAG, alone, &request);
	hook_mpi_real.Mprobe(0, SELF_TAG, alone, message, MPI_STATUS_IGNORE);
	hook_mpi_real.Request_free(&request);
	log->inside--;
}

static int recover_probe(const struct hook_mpi_probe *asked)
{
	struct hook_mpi_probe o = *asked;
	struct hook_log *log = recover_self();
	struct trace_log_rec rec;

	if (!log)
		return hook_mpi_probe(&hook_mpi_real, asked);
	if (o.source == MPI_PROC_NULL) {
		o.comm = alone;
		return hook_mpi_probe(&hook_mpi_real, &o);
	}
	if (o.flag)
		*o.flag = 1;
	if (o.status == MPI_STATUS_IGNORE)
		return MPI_SUCCESS;
	rec = hook_log_take(log, TRACE_LOG_PROBE);
	hook_log_answer(log);
	if (rec.error)
		return recover_raise(log, o.comm, rec.error);
	recover_status(o.status, &rec);
	if (o.message)
		make_message(log, o.message);
	return MPI_SUCCESS;
}

/* The others are not there to end MPI with. Where they are, as in tests, it is ended as ever. */
static int recover_Finalize(void)
{
	struct hook_log *log = recover_self();

	if (hook_process.replay.recover == HOOK_RECOVER_AMONG)
		return hook_mpi_real.Finalize();
	if (log)
		log->inside++;
	recover_delete_attributes();
	if (log)
		log->inside--;
	finalized = true;
	return MPI_SUCCESS;
}

/* MPI would tell the launcher, which is not there, and wait for its answer. */
static int recover_Abort(MPI_Comm comm, int code)
{
	if (hook_process.replay.recover == HOOK_RECOVER_AMONG)
		return hook_mpi_real.Abort(comm, code);
	syscall(SYS_exit_group, code);
	return MPI_ERR_OTHER;
}

HOOK_EXPORT int MPI_Finalized(int *flag)
{
	int rc = MPI_SUCCESS;

	*flag = 1;
	if (!finalized && hook_mpi_real.Finalized)
		rc = hook_mpi_real.Finalized(flag);
	else if (!finalized)
		*flag = 0;
	return rc;
}

HOOK_EXPORT int PMPI_Finalized(int *flag) __attribute__((alias("MPI_Finalized")));

HOOK_MPI_LAYER_MESSAGES(recover)

void hook_recover_open(struct hook_thread *t)
{
	(void)t;
	hook_mpi_make_alone(&alone);
	recover_install_messages(&hook_mpi_top);
	hook_mpi_top.Finalize = recover_Finalize;
	hook_mpi_top.Abort = recover_Abort;
	recover_install_requests(&hook_mpi_top);
	recover_install_collectives(&hook_mpi_top);
	recover_install_comms(&hook_mpi_top);
	recover_install_attributes(&hook_mpi_top);
	recover_install_topology(&hook_mpi_top);
	hook_end_progress = NULL;
}
