/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Below the recorder: MPI as the prelude wants it. Functions of MPI that may choose are replaced in
 * hook_mpi_real; the recorder calls them as ever, writes what they did, and need not know why they
 * did it.
 *
 * What a wildcard of the prelude received is known when it is posted. It is posted with that
 * source, and a record says so at once, besides the one to come when it completes: a run that ends
 * before its message comes replays all the same. A persistent one cannot be started with a source;
 * a receive in its place, its shadow, is known here alone, and handles are exchanged on the way to
 * MPI and back.
 */
#include "hook/mpi/explore/explore.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "hook/mpi/object/posts.h"

#define NOWHERE_TAG 1
#define FIRST_SHADOWS 256
#define SCRATCH 3

struct hook_mpi_real explore_below;

static struct shadow {
	MPI_Request handle, real;
} * shadow;
static int shadows, shadow_room;
static int locked;

static void lock(void)
{
	while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void unlock(void)
{
	__atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
}

static int find_shadow(MPI_Request handle)
{
	for (int i = 0; i < shadows; i++) {
		if (shadow[i].handle == handle)
			return i;
	}
	return -1;
}

static MPI_Request real_handle(MPI_Request handle)
{
	int i;

	if (!shadows)
		return handle;
	lock();
	i = find_shadow(handle);
	if (i >= 0)
		handle = shadow[i].real;
	unlock();
	return handle;
}

static void remove_shadow(MPI_Request handle)
{
	int i;

	lock();
	i = find_shadow(handle);
	if (i >= 0)
		shadow[i] = shadow[--shadows];
	unlock();
}

/* Requests as MPI knows them: those of the caller, or a copy with shadows in their owners' place.
 */
struct batch {
	int count;
	MPI_Request *user, *real;
};

static struct batch batch_open(int count, MPI_Request requests[])
{
	struct batch b = {count, requests, requests};

	if (!shadows || count <= 0)
		return b;
	b.real = hook_mpi_scratch(hook_self, SCRATCH, (size_t)count * sizeof(*b.real));
	if (!b.real)
		hook_failed(hook_self, "out of memory for requests");
	for (int i = 0; i < count; i++)
		b.real[i] = real_handle(requests[i]);
	return b;
}

static void batch_close(struct batch *b)
{
	if (b->real == b->user)
		return;
	for (int i = 0; i < b->count; i++) {
		if (real_handle(b->user[i]) == b->user[i])
			b->user[i] = b->real[i];
		else if (b->real[i] == MPI_REQUEST_NULL)
			remove_shadow(b->user[i]);
	}
}

static void __attribute__((noreturn)) diverged(const char *expected, const char *found)
{
	hook_diverged(hook_self, hook_mpi_call_name(hook_self->call), expected, found);
}

static int checked_index(const struct trace_rec *rec, int count)
{
	if (rec->a > (uint64_t)count)
		diverged("a longer array of requests", "one that does not have the recorded index");
	return (int)rec->a - 1;
}

/* The forced one may be named by its receive: where that is in the array was not recorded. */
static int index_of(const struct trace_rec *rec, const struct batch *b)
{
	MPI_Request wanted = MPI_REQUEST_NULL;
	struct hook_request *r;

	if (!rec->b)
		return checked_index(rec, b->count);
	hook_requests_lock();
	r = hook_requests_of_post(rec->b - 1);
	if (r)
		wanted = r->handle;
	hook_requests_unlock();
	for (int i = 0; r && i < b->count; i++) {
		if (b->user[i] == wanted)
			return i;
	}
	diverged("the other request among those given", "none of them");
}

static int forced_Wait(MPI_Request *request, MPI_Status *status)
{
	struct batch b = batch_open(1, request);
	int rc = explore_below.Wait(b.real, status);

	batch_close(&b);
	return rc;
}

static int wait_index(uint64_t event, int count, MPI_Request requests[], int *index,
		      MPI_Status *status)
{
	struct batch b = batch_open(count, requests);
	struct trace_rec rec;
	int rc;

	if (!explore_take(hook_self, event, TRACE_INDEX, &rec) || rec.a == 0) {
		rc = explore_below.Waitany(count, b.real, index, status);
	} else {
		*index = index_of(&rec, &b);
		rc = explore_below.Wait(&b.real[*index], status);
	}
	batch_close(&b);
	return rc;
}

static int forced_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
	return wait_index(hook_self->order.events, count, requests, index, status);
}

/* The indices of `event` that stand behind a record SOME; an error of one is one of all. */
static int wait_indices(uint64_t event, struct batch *b, int n, int indices[],
			MPI_Status statuses[])
{
	struct trace_rec rec;
	int rc = MPI_SUCCESS;

	for (int i = 0; i < n && explore_take(hook_self, event, TRACE_INDEX, &rec); i++) {
		MPI_Status *status =
			statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
		int one;

		indices[i] = index_of(&rec, b);
		one = explore_below.Wait(&b->real[indices[i]], status);
		if (one != MPI_SUCCESS)
			rc = MPI_ERR_IN_STATUS;
		if (one != MPI_SUCCESS && status != MPI_STATUS_IGNORE)
			status->MPI_ERROR = one;
	}
	return rc;
}

static int wait_some(uint64_t event, int incount, MPI_Request requests[], int *outcount,
		     int indices[], MPI_Status statuses[])
{
	struct batch b = batch_open(incount, requests);
	struct trace_rec rec;
	int rc;

	if (!explore_take(hook_self, event, TRACE_SOME, &rec) || rec.a == 0) {
		rc = explore_below.Waitsome(incount, b.real, outcount, indices, statuses);
	} else {
		*outcount = checked_index(&rec, incount + 1);
		rc = wait_indices(event, &b, *outcount, indices, statuses);
	}
	batch_close(&b);
	return rc;
}

static int forced_Waitsome(int incount, MPI_Request requests[], int *outcount, int indices[],
			   MPI_Status statuses[])
{
	return wait_some(hook_self->order.events, incount, requests, outcount, indices, statuses);
}

/* A Waitall that failed: what had completed completes, the rest is pending. */
static int wait_partial(struct batch *b, MPI_Status statuses[])
{
	struct hook_thread *t = hook_self;
	struct trace_rec rec;
	uint64_t n;

	explore_take(t, t->order.events, TRACE_SOME, &rec);
	n = rec.a;
	for (int i = 0; i < b->count && statuses != MPI_STATUSES_IGNORE; i++)
		statuses[i].MPI_ERROR = MPI_ERR_PENDING;
	while (n-- > 1 && explore_take(t, t->order.events, TRACE_INDEX, &rec)) {
		int i = checked_index(&rec, b->count);
		MPI_Status *status =
			statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
		int one = explore_below.Wait(&b->real[i], status);

		if (status != MPI_STATUS_IGNORE)
			status->MPI_ERROR = one;
	}
	return MPI_ERR_IN_STATUS;
}

static int forced_Waitall(int count, MPI_Request requests[], MPI_Status *statuses)
{
	struct hook_thread *t = hook_self;
	struct batch b = batch_open(count, requests);
	int rc;

	if (!t->past && t->more && t->next.kind == TRACE_SOME && t->next_event == t->order.events)
		rc = wait_partial(&b, statuses);
	else
		rc = explore_below.Waitall(count, b.real, statuses);
	batch_close(&b);
	return rc;
}

/*
 * Polls. The recorder begins their event when they have succeeded: it is the next one. What the
 * prelude lets succeed is waited for.
 */
enum verdict { FREE, FAILS, SUCCEEDS };

static enum verdict poll(void)
{
	if (explore_poll_fails(hook_self))
		return FAILS;
	return hook_self->past ? FREE : SUCCEEDS;
}

static uint64_t next_event(void)
{
	return hook_self->order.events + 1;
}

static int forced_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	enum verdict verdict = poll();
	struct trace_rec rec;
	struct batch b;
	int rc = MPI_SUCCESS;

	*flag = verdict == SUCCEEDS;
	if (verdict == FAILS)
		return rc;
	b = batch_open(1, request);
	if (verdict == FREE) {
		rc = explore_below.Test(b.real, flag, status);
		if (!*flag)
			explore_poll_failed();
	} else if (explore_take(hook_self, next_event(), TRACE_HIT, &rec)) {
		rc = explore_below.Wait(b.real, status);
	}
	batch_close(&b);
	return rc;
}

static int forced_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	enum verdict verdict = poll();
	struct trace_rec rec;
	struct batch b;
	int rc = MPI_SUCCESS;

	*flag = verdict == SUCCEEDS;
	if (verdict == FAILS)
		return rc;
	b = batch_open(count, requests);
	if (verdict == FREE) {
		rc = explore_below.Testall(count, b.real, flag, statuses);
		if (!*flag)
			explore_poll_failed();
	} else if (explore_take(hook_self, next_event(), TRACE_HIT, &rec)) {
		rc = explore_below.Waitall(count, b.real, statuses);
	}
	batch_close(&b);
	return rc;
}

static int forced_Testany(int count, MPI_Request requests[], int *index, int *flag,
			  MPI_Status *status)
{
	enum verdict verdict = poll();
	struct batch b;
	int rc;

	*flag = verdict == SUCCEEDS;
	*index = MPI_UNDEFINED;
	if (verdict == FAILS)
		return MPI_SUCCESS;
	if (verdict == SUCCEEDS)
		return wait_index(next_event(), count, requests, index, status);
	b = batch_open(count, requests);
	rc = explore_below.Testany(count, b.real, index, flag, status);
	if (!*flag)
		explore_poll_failed();
	batch_close(&b);
	return rc;
}

static int forced_Testsome(int incount, MPI_Request requests[], int *outcount, int indices[],
			   MPI_Status statuses[])
{
	enum verdict verdict = poll();
	struct batch b;
	int rc;

	*outcount = 0;
	if (verdict == FAILS)
		return MPI_SUCCESS;
	if (verdict == SUCCEEDS)
		return wait_some(next_event(), incount, requests, outcount, indices, statuses);
	b = batch_open(incount, requests);
	rc = explore_below.Testsome(incount, b.real, outcount, indices, statuses);
	if (!*outcount)
		explore_poll_failed();
	batch_close(&b);
	return rc;
}

#ifdef HOOK_FLAVOUR_MPICH
static int forced_Parrived(MPI_Request request, int partition, int *flag)
{
	enum verdict verdict = poll();
	struct trace_rec rec;
	int rc = MPI_SUCCESS;

	*flag = 0;
	if (verdict == FAILS)
		return rc;
	do {
		rc = explore_below.Parrived(request, partition, flag);
		if (!*flag && verdict == FREE)
			explore_poll_failed();
		else if (!*flag)
			sched_yield();
	} while (verdict == SUCCEEDS && rc == MPI_SUCCESS && !*flag);
	if (verdict == SUCCEEDS)
		explore_take(hook_self, next_event(), TRACE_HIT, &rec);
	return rc;
}
#endif

/* The recorder asks by this, too, on its own account. */
static int forced_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	return explore_below.Request_get_status(real_handle(request), flag, status);
}

int explore_Request_get_status(struct hook_thread *t, MPI_Request request, int *flag,
			       MPI_Status *status)
{
	enum verdict verdict = poll();
	MPI_Status local;
	struct trace_rec rec;
	int rc;

	*flag = 0;
	if (verdict == FAILS) {
		record_failed_poll(t);
		return MPI_SUCCESS;
	}
	if (verdict == SUCCEEDS) {
		while (forced_Request_get_status(request, flag, &local) == MPI_SUCCESS && !*flag)
			sched_yield();
		explore_take(t, next_event(), TRACE_HIT, &rec);
	}
	rc = record_Request_get_status(t, request, flag, status);
	if (!*flag)
		explore_poll_failed();
	return rc;
}

static int forced_Test_cancelled(const MPI_Status *status, int *flag)
{
	struct hook_thread *t = hook_self;
	struct trace_rec rec;
	int rc = explore_below.Test_cancelled(status, flag);

	if (t->call == CALL_Test_cancelled && explore_take(t, t->order.events, TRACE_FLAG, &rec))
		*flag = (int)rec.a;
	return rc;
}

/* Where the prelude wants this receive to be posted: true if not as the program says. */
struct place {
	int source, tag;
	MPI_Comm comm;
};

static bool placed(struct place *p, uint64_t post, uint64_t wild)
{
	bool is_wild = p->source == MPI_ANY_SOURCE;
	uint32_t code = is_wild ? hook_posts_wild(wild) : TRACE_POST_UNKNOWN;

	if (!is_wild && p->source != MPI_PROC_NULL && hook_posts_cancelled(post))
		code = TRACE_POST_CANCELLED;
	if (code == TRACE_POST_CANCELLED)
		*p = (struct place){0, NOWHERE_TAG, explore_nowhere()};
	else if (code >= TRACE_POST_SOURCE)
		p->source = (int)(code - TRACE_POST_SOURCE);
	return code != TRACE_POST_UNKNOWN;
}

static void place_call(struct place *p)
{
	uint32_t call = hook_self->call;

#ifdef HOOK_FLAVOUR_MPICH
	if (call == CALL_Irecv_c)
		call = CALL_Irecv;
#endif
	if (call == CALL_Irecv)
		placed(p, hook_requests_next_post(), hook_requests_next_wild());
}

static int forced_Irecv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
			MPI_Request *request)
{
	struct place p = {source, tag, comm};

	place_call(&p);
	return explore_below.Irecv(buf, count, type, p.source, p.tag, p.comm, request);
}

#ifdef HOOK_FLAVOUR_MPICH
static int forced_Irecv_c(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag,
			  MPI_Comm comm, MPI_Request *request)
{
	struct place p = {source, tag, comm};

	place_call(&p);
	return explore_below.Irecv_c(buf, count, type, p.source, p.tag, p.comm, request);
}
#endif

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
			record_fate(t, r, code);
	}
	hook_requests_unlock();
}

int explore_Irecv(struct hook_thread *t, void *buf, MPI_Count count, MPI_Datatype type, int source,
		  int tag, MPI_Comm comm, MPI_Request *request)
{
	int rc = hook_mpi_record.Irecv(t, buf, count, type, source, tag, comm, request);

	if (rc == MPI_SUCCESS && source == MPI_ANY_SOURCE)
		note_known(t, 1, request);
	return rc;
}

int explore_Recv_init(struct hook_thread *t, void *buf, MPI_Count count, MPI_Datatype type,
		      int source, int tag, MPI_Comm comm, MPI_Request *request)
{
	int rc = hook_mpi_record.Recv_init(t, buf, count, type, source, tag, comm, request);
	struct hook_request *r;

	if (rc != MPI_SUCCESS || source == MPI_PROC_NULL)
		return rc;
	hook_requests_lock();
	r = hook_requests_find(*request);
	if (r) {
		r->buf = buf;
		r->count = count;
		explore_below.Type_dup(type, &r->type);
	}
	hook_requests_unlock();
	return rc;
}

/* For one more; the lock is held. */
static void make_room(void)
{
	size_t bytes = sizeof(*shadow) * (size_t)shadow_room;
	int room = shadow_room ? 2 * shadow_room : FIRST_SHADOWS;
	struct shadow *more;

	if (shadows < shadow_room)
		return;
	more = mmap(NULL, sizeof(*more) * (size_t)room, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (more == MAP_FAILED) {
		unlock();
		hook_failed(hook_self, "out of memory for requests");
	}
	if (shadow) {
		memcpy(more, shadow, bytes);
		munmap(shadow, bytes);
	}
	shadow = more;
	shadow_room = room;
}

static int start_shadow(const struct hook_request *r, const struct place *p, MPI_Request handle)
{
	int rc;

	lock();
	make_room();
#ifdef HOOK_FLAVOUR_MPICH
	rc = explore_below.Irecv_c(r->buf, r->count, r->type, p->source, p->tag, p->comm,
				   &shadow[shadows].real);
#else
	rc = explore_below.Irecv(r->buf, (int)r->count, r->type, p->source, p->tag, p->comm,
				 &shadow[shadows].real);
#endif
	if (rc == MPI_SUCCESS)
		shadow[shadows++].handle = handle;
	unlock();
	return rc;
}

/* The numbers of posts are given later, to all that were started. */
static int start_one(MPI_Request *request, uint64_t *post, uint64_t *wild)
{
	struct hook_request *r;
	struct place p;

	hook_requests_lock();
	r = hook_requests_find(*request);
	hook_requests_unlock();
	if (!r)
		return explore_below.Start(request);
	p = (struct place){r->source, r->tag, r->comm};
	if (!placed(&p, (*post)++, r->flags & REQUEST_WILD ? (*wild)++ : 0))
		return explore_below.Start(request);
	return start_shadow(r, &p, *request);
}

static int forced_Startall(int count, MPI_Request requests[])
{
	uint64_t post = hook_requests_next_post(), wild = hook_requests_next_wild();
	int rc = MPI_SUCCESS;

	for (int i = 0; i < count && rc == MPI_SUCCESS; i++)
		rc = start_one(&requests[i], &post, &wild);
	return rc;
}

static int forced_Start(MPI_Request *request)
{
	return forced_Startall(1, request);
}

int explore_Startall(struct hook_thread *t, int count, MPI_Request requests[])
{
	int rc = hook_mpi_record.Startall(t, count, requests);

	if (rc == MPI_SUCCESS)
		note_known(t, count, requests);
	return rc;
}

int explore_Start(struct hook_thread *t, MPI_Request *request)
{
	int rc = hook_mpi_record.Start(t, request);

	if (rc == MPI_SUCCESS)
		note_known(t, 1, request);
	return rc;
}

int explore_Request_free(struct hook_thread *t, MPI_Request *request)
{
	struct hook_request *r, copy = {0};
	int rc;

	hook_requests_lock();
	r = hook_requests_find(*request);
	if (r)
		copy = *r;
	hook_requests_unlock();
	rc = record_Request_free(t, request);
	if (copy.flags & REQUEST_PERSISTENT)
		explore_below.Type_free(&copy.type);
	return rc;
}

static int forced_Request_free(MPI_Request *request)
{
	MPI_Request real = real_handle(*request);

	if (real != *request) {
		remove_shadow(*request);
		explore_below.Request_free(&real);
	}
	return explore_below.Request_free(request);
}

/* In the recorder's hands, which holds the lock. What got its message must get it again. */
static int forced_Cancel(MPI_Request *request)
{
	struct hook_request *r = hook_requests_find(*request);
	MPI_Request real = real_handle(*request);
	bool gets = false;

	if (r && r->flags & REQUEST_WILD)
		gets = hook_posts_wild(r->wild) >= TRACE_POST_SOURCE;
	else if (r)
		gets = !hook_self->past && !hook_posts_cancelled(r->post);
	return gets ? MPI_SUCCESS : explore_below.Cancel(&real);
}

void explore_install(void)
{
	explore_below = hook_mpi_real;
	hook_mpi_real.Irecv = forced_Irecv;
	hook_mpi_real.Start = forced_Start;
	hook_mpi_real.Startall = forced_Startall;
	hook_mpi_real.Wait = forced_Wait;
	hook_mpi_real.Waitany = forced_Waitany;
	hook_mpi_real.Waitsome = forced_Waitsome;
	hook_mpi_real.Waitall = forced_Waitall;
	hook_mpi_real.Test = forced_Test;
	hook_mpi_real.Testany = forced_Testany;
	hook_mpi_real.Testsome = forced_Testsome;
	hook_mpi_real.Testall = forced_Testall;
	hook_mpi_real.Request_get_status = forced_Request_get_status;
	hook_mpi_real.Request_free = forced_Request_free;
	hook_mpi_real.Cancel = forced_Cancel;
	hook_mpi_real.Test_cancelled = forced_Test_cancelled;
#ifdef HOOK_FLAVOUR_MPICH
	hook_mpi_real.Irecv_c = forced_Irecv_c;
	hook_mpi_real.Parrived = forced_Parrived;
#endif
}
