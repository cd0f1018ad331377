/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay: receives are posted as they were matched.
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

uint32_t replay_place(struct hook_mpi_receive *o, uint64_t post, uint64_t wild)
{
	bool is_wild = o->source == MPI_ANY_SOURCE;
	uint32_t code = is_wild ? hook_posts_wild(wild) : TRACE_POST_UNKNOWN;

	if (!is_wild && o->source != MPI_PROC_NULL && hook_posts_cancelled(post))
		code = TRACE_POST_CANCELLED;
	if (code == TRACE_POST_CANCELLED) {
		o->source = 0;
		o->tag = NOWHERE_TAG;
		o->comm = nowhere;
	} else if (code >= TRACE_POST_SOURCE) {
		o->source = (int)(code - TRACE_POST_SOURCE);
	}
	return code;
}

int replay_post(const struct hook_mpi_receive *as_asked, uint32_t *flags)
{
	struct hook_mpi_receive o = *as_asked;

	if (replay_place(&o, hook_requests_next_post(), hook_requests_next_wild()) ==
	    TRACE_POST_CANCELLED)
		*flags |= REQUEST_NOWHERE;
#ifdef HOOK_FLAVOUR_OPENMPI
	if (*flags & REQUEST_PERSISTENT && !(*flags & REQUEST_NOWHERE))
		return start_other(&o);
#endif
	return hook_mpi_receive(&hook_mpi_top, &o);
}

void replay_posted(struct hook_thread *t, const struct hook_mpi_receive *o, uint32_t flags)
{
	if (!hook_requests_begin(o, flags))
		hook_failed(t, "out of memory for open receives");
}
