/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of a rank alone. The replay only asks for requests that had completed: so each of ours
 * that is asked for completes, with what the log has. The others are requests that the program
 * completes itself, which MPI waits for, or such that need nobody else.
 */
#include "hook/mpi/recover/recover.h"

/* One of ours has completed: its error. */
static int give(struct hook_log *log, struct hook_want *w, MPI_Status *status)
{
	static const struct trace_log_rec nothing = {.source = MPI_ANY_SOURCE, .tag = MPI_ANY_TAG};
	int rc = MPI_SUCCESS;

	if (!(w->flags & HOOK_WANT_ACTIVE)) {
		recover_status(status, &nothing);
		hook_log_answer(log);
		return rc;
	}
	if (w->flags & HOOK_WANT_MESSAGE)
		return recover_message(log, &w->block, status);
	recover_status(status, &nothing);
	if (hook_log_take_error(log, TRACE_LOG_SENT, &rc))
		return rc;
	if (w->flags & HOOK_WANT_RESULT)
		hook_result_read(log, &w->result);
	return rc;
}

/* Not ours. */
static int wait_for(struct hook_log *log, MPI_Request *request, MPI_Status *status, bool keep)
{
	int rc, flag = 0;

	log->inside++;
	rc = keep ? hook_mpi_real.Request_get_status(*request, &flag, status)
		  : hook_mpi_real.Wait(request, status);
	log->inside--;
	return rc;
}

static int complete_one(struct hook_log *log, MPI_Request *request, MPI_Status *status, bool keep,
			MPI_Comm *comm)
{
	struct hook_want *w;
	uint32_t index;
	bool stays;
	int rc;

	hook_mpi_lock(&hook_wants_locked);
	index = hook_want_take(*request);
	hook_mpi_unlock(&hook_wants_locked);
	if (!index) {
		if (*request != MPI_REQUEST_NULL)
			hook_log_answer(log);
		return wait_for(log, request, status, keep);
	}
	w = hook_want_at(index);
	*comm = w->comm;
	rc = give(log, w, status);
	if (!keep)
		w->flags &= ~(uint32_t)(HOOK_WANT_ACTIVE | HOOK_WANT_CANCEL);
	stays = keep || (w->flags & HOOK_WANT_PERSISTENT && !(rc && log->gone));
	hook_mpi_lock(&hook_wants_locked);
	if (stays)
		hook_want_put_back(index);
	else
		hook_want_drop(index);
	hook_mpi_unlock(&hook_wants_locked);
	log->inside++;
	if (!stays)
		hook_stand_in_end(request);
	log->inside--;
	return rc;
}

static MPI_Status *status_at(const struct hook_mpi_completion *o, int i)
{
	return o->statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &o->statuses[i];
}

static int complete_all(struct hook_log *log, const struct hook_mpi_completion *o)
{
	MPI_Comm comm = MPI_COMM_WORLD;
	int rc = MPI_SUCCESS;

	for (int i = 0; i < o->count; i++) {
		MPI_Status *status = status_at(o, i);
		int one = complete_one(log, &o->requests[i], status, false, &comm);

		if (status != MPI_STATUS_IGNORE)
			status->MPI_ERROR = one;
		if (one != MPI_SUCCESS)
			rc = MPI_ERR_IN_STATUS;
	}
	return rc == MPI_SUCCESS ? rc : recover_raise(log, comm, rc);
}

static bool is_active(MPI_Request request)
{
	struct hook_want *w;
	bool active;

	hook_mpi_lock(&hook_wants_locked);
	w = hook_want_find(request);
	active = w ? (w->flags & HOOK_WANT_ACTIVE) != 0 : request != MPI_REQUEST_NULL;
	hook_mpi_unlock(&hook_wants_locked);
	return active;
}

/* The first that is active: where there are several, the replay has asked for one alone. */
static int complete_any(struct hook_log *log, const struct hook_mpi_completion *o)
{
	MPI_Comm comm = MPI_COMM_WORLD;
	int i = 0, rc;

	while (i < o->count && !is_active(o->requests[i]))
		i++;
	*o->indices = i < o->count ? i : MPI_UNDEFINED;
	if (i == o->count) {
		recover_status(o->statuses, &(struct trace_log_rec){.source = MPI_ANY_SOURCE,
								    .tag = MPI_ANY_TAG});
		return MPI_SUCCESS;
	}
	rc = complete_one(log, &o->requests[i], o->statuses, false, &comm);
	return rc == MPI_SUCCESS ? rc : recover_raise(log, comm, rc);
}

static int recover_complete(const struct hook_mpi_completion *o)
{
	struct hook_log *log = recover_self();
	MPI_Comm comm = MPI_COMM_WORLD;
	int rc;

	if (!log || !o->requests)
		return hook_mpi_complete(&hook_mpi_real, o);
	if (hook_log_is_error(log)) {
		recover_fails(log, MPI_COMM_WORLD, &rc);
		return rc;
	}
	if (o->flag)
		*o->flag = 1;
	switch (o->how) {
	case HOOK_ONE:
	case HOOK_PART:
		rc = complete_one(log, o->requests, o->statuses, o->keep, &comm);
		return rc == MPI_SUCCESS ? rc : recover_raise(log, comm, rc);
	case HOOK_ANY:
		return complete_any(log, o);
	case HOOK_ALL:
		return complete_all(log, o);
	case HOOK_SOME:
		break;
	}
	/* What had completed is waited for one by one: nothing was active. */
	*o->outcount = MPI_UNDEFINED;
	return MPI_SUCCESS;
}

static int recover_start(const struct hook_mpi_start *o)
{
	struct hook_log *log = recover_self();
	int rc;

	if (!log)
		return hook_mpi_start(&hook_mpi_real, o);
	if (recover_fails(log, MPI_COMM_WORLD, &rc))
		return rc;
	for (int i = 0; i < o->count; i++) {
		struct hook_want *w;

		hook_mpi_lock(&hook_wants_locked);
		w = hook_want_find(o->requests[i]);
		if (w)
			w->flags |= HOOK_WANT_ACTIVE;
		hook_mpi_unlock(&hook_wants_locked);
		if (w && w->flags & HOOK_WANT_SEND)
			recover_live_send(log, &w->block, w->dest, w->comm);
		if (!w)
			rc = hook_mpi_real.Start(&o->requests[i]);
	}
	return rc;
}

/* As the log was written: one that was cancelled takes nothing. */
static void keep_open(struct hook_want *w)
{
	uint32_t open = HOOK_WANT_ACTIVE | HOOK_WANT_MESSAGE;
	struct hook_block b;

	if ((w->flags & (open | HOOK_WANT_CANCEL)) != open)
		return;
	b = hook_want_block(w);
	hook_orphan_add(&b, MPI_REQUEST_NULL);
}

static void cancel(uint32_t index)
{
	hook_want_at(index)->flags |= HOOK_WANT_CANCEL;
	hook_want_put_back(index);
}

static int recover_release(const struct hook_mpi_release *o)
{
	struct hook_log *log = recover_self();
	uint32_t index;
	int rc;

	if (!log)
		return hook_mpi_release(&hook_mpi_real, o);
	if (recover_fails(log, MPI_COMM_WORLD, &rc))
		return rc;
	hook_mpi_lock(&hook_wants_locked);
	index = hook_want_take(*o->request);
	if (index && !o->cancel)
		keep_open(hook_want_at(index));
	if (index && o->cancel)
		cancel(index);
	else if (index)
		hook_want_drop(index);
	hook_mpi_unlock(&hook_wants_locked);
	log->inside++;
	if (!index)
		rc = hook_mpi_release(&hook_mpi_real, o);
	else if (!o->cancel)
		hook_stand_in_end(o->request);
	log->inside--;
	return rc;
}

HOOK_MPI_LAYER_REQUESTS(recover)
