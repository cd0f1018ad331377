/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks in the ledger: which clock belongs to a message that has come? Messages from one rank with
 * one tag are matched in the order in which they were sent, and the n-th that completes gets the
 * n-th clock. If receives complete in another order than they were posted, it is another message's
 * clock. doc/internals/racing.md proves that no race is missed then, and that a rank never assumes
 * too much knowledge.
 */
#include "hook/mpi/stamp/stamp.h"

/* A message that was too long has come as well. */
static bool has_come(int source, int rc)
{
	if (source < 0 || (uint32_t)source >= stamp_clock.ranks)
		return false;
	return rc == MPI_SUCCESS || hook_mpi_class(rc) == MPI_ERR_TRUNCATE;
}

static void came(int source, int tag, uint64_t key, int rc)
{
	if (has_come(source, rc))
		stamp_came(MPI_COMM_WORLD, tag, source, key, stamp_apart_covers(source, tag));
}

void stamp_apart_came(const MPI_Status *status, int rc)
{
	came(status->MPI_SOURCE, status->MPI_TAG, stamp_next_key(false), rc);
}

void stamp_apart_posted(struct stamp_request *r, int source, int tag, int rc, MPI_Request handle)
{
	static const struct stamp_parcel as_it_is;

	r->flags |= STAMP_APART;
	r->source = source;
	r->tag = tag;
	stamp_posted_recv(r, &as_it_is, rc, handle, MPI_COMM_WORLD, stamp_next_key(true));
}

/* MPICH says nothing of what an Isendrecv got: a clock stays behind unless there was one choice. */
void stamp_apart_deliver(struct stamp_request *r, const MPI_Status *status, int rc)
{
	if (r->flags & STAMP_DELIVERED)
		return;
	r->flags |= STAMP_DELIVERED;
	if (!(r->flags & STAMP_BOTH))
		came(status->MPI_SOURCE, status->MPI_TAG, r->key, rc);
	else if (r->source == MPI_ANY_SOURCE || r->tag == MPI_ANY_TAG)
		stamp_came(r->comm, r->tag, r->source, r->key, 0);
	else
		came(r->source, r->tag, r->key, rc);
}
