/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks in the ledger: which clock belongs to a message that has come? Messages from one rank with
 * one tag are matched in the order in which they were sent, and the n-th to complete gets the n-th
 * clock. That may be another's where receives complete in another order than they were posted.
 * So whoever completes before one that was posted earlier, and that could have got its message,
 * leaves that one a limit: what is covered by the clock it took itself, which may be the other's.
 * Invariant: no message is taken to cover more than it does. What a rank knows is never too much,
 * either: when n messages have completed, one of them is the n-th or a later one.
 */
#include "hook/mpi/carry.h"

static struct carry_request *first, *last; /* open receives in the order of their posts */

static bool fits(const struct carry_request *r, int source, int tag)
{
	return (r->source == source || r->source == MPI_ANY_SOURCE) &&
	       (r->tag == tag || r->tag == MPI_ANY_TAG);
}

/* A message that was too long has come as well. */
static bool has_come(int source, int rc)
{
	int class = rc;

	if (source < 0 || (uint32_t)source >= carry_clock.ranks)
		return false;
	if (rc != MPI_SUCCESS)
		carry_mpi.Error_class(rc, &class);
	return rc == MPI_SUCCESS || class == MPI_ERR_TRUNCATE;
}

/* `to`: the receive that it came to; NULL: one that was posted after all that are open. */
static uint64_t covers_at_most(int source, int tag, const struct carry_request *to)
{
	uint64_t covers = carry_apart_covers(source, tag);

	for (struct carry_request *r = first; r && r != to; r = r->later) {
		if (fits(r, source, tag) && covers < r->most)
			r->most = covers;
	}
	return to && to->most < covers ? to->most : covers;
}

void carry_apart_came(const MPI_Status *status, int rc)
{
	int source = status->MPI_SOURCE, tag = status->MPI_TAG;

	if (has_come(source, rc))
		carry_came(MPI_COMM_WORLD, tag, source, carry_next_key(false),
			   covers_at_most(source, tag, NULL));
}

void carry_apart_started(struct carry_request *r)
{
	r->most = UINT64_MAX;
	r->flags |= CARRY_OPEN;
	r->later = NULL;
	r->earlier = last;
	if (last)
		last->later = r;
	else
		first = r;
	last = r;
}

void carry_apart_forget(struct carry_request *r)
{
	if (!(r->flags & CARRY_OPEN))
		return;
	r->flags &= ~(uint32_t)CARRY_OPEN;
	if (r->earlier)
		r->earlier->later = r->later;
	else
		first = r->later;
	if (r->later)
		r->later->earlier = r->earlier;
	else
		last = r->earlier;
}

void carry_apart_posted(struct carry_request *r, int source, int tag, int rc, MPI_Request handle)
{
	if (rc != MPI_SUCCESS) {
		carry_request_drop(r);
		return;
	}
	r->flags |= CARRY_RECV | CARRY_APART;
	r->comm = MPI_COMM_WORLD;
	r->source = source;
	r->tag = tag;
	r->key = carry_next_key(true);
	carry_request_insert(r, handle);
	if (r->flags & CARRY_PERSISTENT)
		return;
	r->flags |= CARRY_ACTIVE;
	carry_apart_started(r);
}

/* MPICH says nothing of what an Isendrecv got: a clock stays behind unless there was one choice. */
void carry_apart_deliver(struct carry_request *r, const MPI_Status *status, int rc)
{
	bool unseen = r->flags & CARRY_BOTH;
	int source = unseen ? r->source : status->MPI_SOURCE;
	int tag = unseen ? r->tag : status->MPI_TAG;
	bool unknown = unseen && (source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG);

	if (r->flags & CARRY_DELIVERED)
		return;
	r->flags |= CARRY_DELIVERED;
	if (unknown)
		carry_came(r->comm, tag, source, r->key, 0);
	else if (has_come(source, rc))
		carry_came(r->comm, tag, source, r->key, covers_at_most(source, tag, r));
	carry_apart_forget(r);
}
