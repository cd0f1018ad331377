/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay: receives are posted as they were matched, with their source; one that was cancelled is
 * posted where nothing can match it.
 */
#include "hook/mpi/object/posts.h"
#include "hook/mpi/replay/replay.h"

#define NOWHERE_TAG 1

static MPI_Comm nowhere; /* a communicator on which nobody sends */

void replay_posts_open(void)
{
	hook_mpi_make_alone(&nowhere);
}

void replay_posts_close(void)
{
	hook_mpi_top.Comm_free(&nowhere);
}

#ifdef HOOK_FLAVOUR_OPENMPI
static int start_other(struct hook_mpi_receive *o)
{
	int rc;

	o->post = HOOK_PREPARED;
	rc = hook_mpi_receive(&hook_mpi_top, o);
	if (rc != MPI_SUCCESS)
		return rc;
	rc = hook_mpi_top.Start(o->request);
	if (rc != MPI_SUCCESS)
		hook_mpi_top.Request_free(o->request);
	return rc;
}
#endif

int replay_post(const struct hook_mpi_receive *as_asked, uint32_t *flags)
{
	struct hook_mpi_receive o = *as_asked;
	uint32_t code = TRACE_POST_SOURCE;

	if (o.source == MPI_ANY_SOURCE) {
		*flags |= REQUEST_WILD;
		code = hook_posts_wild(hook_requests_next_wild());
		if (code >= TRACE_POST_SOURCE)
			o.source = (int)(code - TRACE_POST_SOURCE);
	} else if (o.source != MPI_PROC_NULL && hook_posts_cancelled(hook_requests_next_post())) {
		code = TRACE_POST_CANCELLED;
	}
	if (code == TRACE_POST_CANCELLED) {
		*flags |= REQUEST_NOWHERE;
		o.source = 0;
		o.tag = NOWHERE_TAG;
		o.comm = nowhere;
	}
#ifdef HOOK_FLAVOUR_OPENMPI
	if (*flags & REQUEST_PERSISTENT && !(*flags & REQUEST_NOWHERE))
		return start_other(&o);
#endif
	return hook_mpi_receive(&hook_mpi_top, &o);
}

void replay_posted(struct hook_thread *t, const struct hook_mpi_receive *o, uint32_t flags)
{
	struct hook_request *r;

	if (o->source == MPI_PROC_NULL)
		return;
	hook_requests_lock();
	r = hook_requests_add(*o->request, flags);
	if (r) {
		hook_requests_post(r);
		r->flags |= flags;
		r->want = *o;
	}
	hook_requests_unlock();
	if (!r)
		hook_failed(t, "out of memory for open receives");
}
