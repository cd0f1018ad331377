/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Below the recorder: MPI as the prelude wants it. Functions of MPI that may choose are replaced in
 * hook_mpi_top; the recorder calls them as ever, writes what they did, and need not know why they
 * did it.
 *
 * What a wildcard of the prelude received is known when it is posted. It is posted with that
 * source, and a record says so at once, besides the one to come when it completes: a run that ends
 * before its message comes replays all the same. A persistent one cannot be started with a source;
 * a receive in its place, its proxy, is known to this layer alone, and handles are exchanged on the
 * way to MPI and back.
 */
#include "hook/mpi/explore/explore.h"

#include "hook/mpi/object/posts.h"
#include "hook/mpi/replay/replay.h"

struct hook_mpi_calls explore_below;

int explore_proxies;

/* The receive that another one was started in the place of, or NULL. */
static struct hook_request *owner_of_proxy(MPI_Request handle)
{
	struct hook_request *r = explore_proxies ? hook_requests_find(handle) : NULL;

	return r && r->proxy != MPI_REQUEST_NULL ? r : NULL;
}

MPI_Request explore_real_handle(MPI_Request handle)
{
	const struct hook_request *r;

	hook_requests_lock();
	r = owner_of_proxy(handle);
	if (r)
		handle = r->proxy;
	hook_requests_unlock();
	return handle;
}

void explore_remove_proxy(MPI_Request handle)
{
	struct hook_request *r;

	hook_requests_lock();
	r = owner_of_proxy(handle);
	if (r) {
		r->proxy = MPI_REQUEST_NULL;
		explore_proxies--;
	}
	hook_requests_unlock();
}

/* One of the program's own, and not a half of something else. */
static bool is_irecv(const struct hook_mpi_receive *o)
{
	if (o->post != HOOK_POSTED || o->message)
		return false;
#ifdef HOOK_FLAVOUR_MPICH
	if (hook_self->mpi.call == CALL_Irecv_c)
		return true;
#endif
	return hook_self->mpi.call == CALL_Irecv;
}

static int forced_receive(struct hook_mpi_receive *o)
{
	if (is_irecv(o))
		replay_place(o, hook_requests_next_post(), hook_requests_next_wild());
	return hook_mpi_receive(&explore_below, o);
}

/* Writes what is known of wildcards that were just posted. */
static void note_known(struct hook_thread *t, int count, const MPI_Request requests[])
{
	hook_requests_lock();
	for (int i = 0; i < count; i++) {
		struct hook_request *r = hook_requests_find(requests[i]);
		uint32_t code;

		if (!r ||
		    (r->flags & (REQUEST_WILD | REQUEST_ACTIVE)) != (REQUEST_WILD | REQUEST_ACTIVE))
			continue;
		code = hook_posts_wild(r->wild);
		if (code != TRACE_POST_UNKNOWN)
			record_fate(t, r->wild, code);
	}
	hook_requests_unlock();
}

void explore_posted(struct hook_thread *t, const struct hook_mpi_receive *o)
{
	if (o->post == HOOK_POSTED)
		note_known(t, 1, o->request);
	else
		hook_requests_keep(*o->request);
}

static int start_proxy(struct hook_mpi_receive *o, struct hook_request *r)
{
	MPI_Request proxy;
	int rc;

	o->post = HOOK_POSTED;
	o->request = &proxy;
	rc = hook_mpi_receive(&explore_below, o);
	if (rc != MPI_SUCCESS)
		return rc;
	hook_requests_lock();
	r->proxy = proxy;
	explore_proxies++;
	hook_requests_unlock();
	return rc;
}

/* The numbers of posts are given later, to all that were started. */
static int start_one(MPI_Request *request, uint64_t *post, uint64_t *wild)
{
	struct hook_mpi_receive o;
	struct hook_request *r;

	hook_requests_lock();
	r = hook_requests_find(*request);
	hook_requests_unlock();
	if (!r)
		return explore_below.Start(request);
	o = r->want;
	if (replay_place(&o, (*post)++, r->flags & REQUEST_WILD ? (*wild)++ : 0) ==
	    TRACE_POST_UNKNOWN)
		return explore_below.Start(request);
	return start_proxy(&o, r);
}

static int forced_start(const struct hook_mpi_start *o)
{
	uint64_t post = hook_requests_next_post(), wild = hook_requests_next_wild();
	int rc = MPI_SUCCESS;

	for (int i = 0; i < o->count && rc == MPI_SUCCESS; i++)
		rc = start_one(&o->requests[i], &post, &wild);
	return rc;
}

int explore_start(struct hook_thread *t, const struct hook_mpi_start *o)
{
	int rc = hook_mpi_record.start(t, o);

	if (rc == MPI_SUCCESS)
		note_known(t, o->count, o->requests);
	return rc;
}

int explore_release(struct hook_thread *t, const struct hook_mpi_release *o)
{
	struct hook_request *r, copy = {0};
	int rc;

	hook_requests_lock();
	r = hook_requests_find(*o->request);
	if (r && !o->cancel)
		copy = *r;
	hook_requests_unlock();
	rc = hook_mpi_record.release(t, o);
	if (copy.flags & REQUEST_PERSISTENT)
		explore_below.Type_free(&copy.want.type);
	return rc;
}

static int free_request(MPI_Request *request)
{
	MPI_Request real = explore_real_handle(*request);

	if (real != *request) {
		explore_remove_proxy(*request);
		explore_below.Request_free(&real);
	}
	return explore_below.Request_free(request);
}

/* In the recorder's hands, which holds the lock. What got its message must get it again. */
static int cancel_request(MPI_Request *request)
{
	struct hook_request *r = hook_requests_find(*request);
	MPI_Request real = explore_real_handle(*request);
	bool gets = false;

	if (r && r->flags & REQUEST_WILD)
		gets = hook_posts_wild(r->wild) >= TRACE_POST_SOURCE;
	else if (r)
		gets = !hook_self->explore.past && !hook_posts_cancelled(r->post);
	return gets ? MPI_SUCCESS : explore_below.Cancel(&real);
}

static int forced_release(const struct hook_mpi_release *o)
{
	return o->cancel ? cancel_request(o->request) : free_request(o->request);
}

HOOK_MPI_LAYER_RECEIVE(forced)
HOOK_MPI_LAYER_REQUESTS(forced)

void explore_install(void)
{
	explore_below = hook_mpi_top;
	forced_install_receive(&hook_mpi_top);
	forced_install_requests(&hook_mpi_top);
	hook_mpi_top.Test_cancelled = forced_Test_cancelled;
}
