/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocking calls as both modes make them. Where threads take turns a blocking call would keep its
 * turn for as long as it blocks; so it is made of a post in its turn and a wait outside.
 */
#include "hook/mpi/replay/credit.h"
#include "hook/mpi/call/mpi.h"
#include "hook/mpi/replay/yield.h"

int hook_mpi_irecv(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag,
		   MPI_Comm comm, MPI_Request *request)
{
#ifdef HOOK_FLAVOUR_MPICH
	if (count > INT_MAX)
		return hook_mpi_real.Irecv_c(buf, count, type, source, tag, comm, request);
#endif
	return hook_mpi_real.Irecv(buf, (int)count, type, source, tag, comm, request);
}

int hook_mpi_isend(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag,
		   MPI_Comm comm, MPI_Request *request)
{
#ifdef HOOK_FLAVOUR_MPICH
	if (count > INT_MAX)
		return hook_mpi_real.Isend_c(buf, count, type, dest, tag, comm, request);
#endif
	return hook_mpi_real.Isend(buf, (int)count, type, dest, tag, comm, request);
}

int hook_mpi_do_recv(struct hook_thread *t, void *buf, MPI_Count count, MPI_Datatype type,
		     int source, int tag, MPI_Comm comm, MPI_Status *status)
{
	MPI_Request request;
	int rc;

	hook_mpi_turn_take(t);
	if (source == MPI_ANY_SOURCE && hook_mpi_mode->source)
		source = hook_mpi_mode->source(t);
	/* Where the call itself would fail at once, nothing is waited for. */
	if (hook_yields && count >= 0 && type != MPI_DATATYPE_NULL &&
	    !hook_credit_is_sent(source, comm)) {
		rc = hook_yield_probe(source, tag, comm, NULL, MPI_STATUS_IGNORE);
		if (rc != MPI_SUCCESS)
			return rc;
	}
	if (!hook_mpi_turns)
		return hook_mpi_recv(buf, count, type, source, tag, comm, status);
	rc = hook_mpi_irecv(buf, count, type, source, tag, comm, &request);
	hook_mpi_turn_pass(t);
	return rc == MPI_SUCCESS ? hook_mpi_wait(&request, status) : rc;
}

/* Waits for [receive, send] so that an error of either is returned as the blocking call would. */
static int wait_both(MPI_Request requests[2], MPI_Status *status)
{
	int first = hook_mpi_wait(&requests[0], status);
	int second = hook_mpi_wait(&requests[1], MPI_STATUS_IGNORE);

	return first != MPI_SUCCESS ? first : second;
}

int hook_mpi_do_sendrecv(struct hook_thread *t, const struct hook_mpi_exchange *x,
			 MPI_Status *status)
{
	MPI_Request requests[2];
	int source, rc;

	hook_mpi_turn_take(t);
	source = x->source;
	if (source == MPI_ANY_SOURCE && hook_mpi_mode->source)
		source = hook_mpi_mode->source(t);
	if (!hook_mpi_turns && x->comm == x->recvcomm && x->sendcount <= INT_MAX &&
	    x->recvcount <= INT_MAX)
		return hook_mpi_real.Sendrecv(x->sendbuf, (int)x->sendcount, x->sendtype, x->dest,
					      x->sendtag, x->recvbuf, (int)x->recvcount,
					      x->recvtype, source, x->recvtag, x->comm, status);
	rc = hook_mpi_irecv(x->recvbuf, x->recvcount, x->recvtype, source, x->recvtag, x->recvcomm,
			    &requests[0]);
	if (rc == MPI_SUCCESS)
		rc = hook_mpi_isend(x->sendbuf, x->sendcount, x->sendtype, x->dest, x->sendtag,
				    x->comm, &requests[1]);
	hook_mpi_turn_pass(t);
	return rc == MPI_SUCCESS ? wait_both(requests, status) : rc;
}

#ifdef HOOK_FLAVOUR_MPICH
/* MPICH's Pack refuses MPI_BOTTOM: the type begins as far below an address of ours. */
static int pack_absolute(const struct hook_mpi_real *mpi, const struct hook_mpi_exchange *x,
			 void *to, MPI_Count room, MPI_Count *packed)
{
	MPI_Count below = -(MPI_Count)(intptr_t)to;
	MPI_Datatype type;
	int rc = mpi->Type_create_struct_c(1, &x->sendcount, &below, &x->sendtype, &type);

	if (rc != MPI_SUCCESS)
		return rc;
	mpi->Type_commit(&type);
	rc = mpi->Pack_c(to, 1, type, to, room, packed, x->comm);
	mpi->Type_free(&type);
	return rc;
}
#endif

int hook_mpi_pack(const struct hook_mpi_real *mpi, const struct hook_mpi_exchange *x, void *to,
		  MPI_Count room, MPI_Count *packed)
{
	*packed = 0;
	if (room == 0)
		return MPI_SUCCESS;
#ifdef HOOK_FLAVOUR_MPICH
	if (x->sendbuf == MPI_BOTTOM)
		return pack_absolute(mpi, x, to, room, packed);
	return mpi->Pack_c(x->sendbuf, x->sendcount, x->sendtype, to, room, packed, x->comm);
#else
	int position = 0;
	int rc = mpi->Pack(x->sendbuf, (int)x->sendcount, x->sendtype, to, (int)room, &position,
			   x->comm);

	*packed = position;
	return rc;
#endif
}

/* What is sent is packed first, because its place is where the receive writes. */
static int replace_by_parts(struct hook_thread *t, const struct hook_mpi_exchange *x,
			    MPI_Status *status)
{
	struct hook_mpi_exchange parts = *x;
	MPI_Count packed = 0;
	int size = 0, rc;
	void *copy;

	rc = hook_mpi_real.Pack_size((int)x->sendcount, x->sendtype, x->comm, &size);
	if (rc != MPI_SUCCESS)
		return rc;
	copy = hook_mpi_scratch(t, 2, size > 0 ? (size_t)size : 1);
	if (!copy)
		return MPI_ERR_NO_MEM;
	rc = hook_mpi_pack(&hook_mpi_real, x, copy, size, &packed);
	if (rc == MPI_SUCCESS) {
		parts.sendbuf = copy;
		parts.sendcount = packed;
		parts.sendtype = MPI_PACKED;
		rc = hook_mpi_do_sendrecv(t, &parts, status);
	}
	return rc;
}

int hook_mpi_do_sendrecv_replace(struct hook_thread *t, const struct hook_mpi_exchange *x,
				 MPI_Status *status)
{
	int source;

	if (hook_mpi_turns || x->comm != x->recvcomm)
		return replace_by_parts(t, x, status);
	source = x->source;
	if (source == MPI_ANY_SOURCE && hook_mpi_mode->source)
		source = hook_mpi_mode->source(t);
#ifdef HOOK_FLAVOUR_MPICH
	if (x->recvcount > INT_MAX)
		return hook_mpi_real.Sendrecv_replace_c(x->recvbuf, x->recvcount, x->recvtype,
							x->dest, x->sendtag, source, x->recvtag,
							x->comm, status);
#endif
	return hook_mpi_real.Sendrecv_replace(x->recvbuf, (int)x->recvcount, x->recvtype, x->dest,
					      x->sendtag, source, x->recvtag, x->comm, status);
}

#ifdef HOOK_FLAVOUR_MPICH
int hook_mpi_isendrecv(const struct hook_mpi_exchange *x, bool replace, MPI_Request *request)
{
	if (replace)
		return hook_mpi_real.Isendrecv_replace_c(x->recvbuf, x->recvcount, x->recvtype,
							 x->dest, x->sendtag, x->source, x->recvtag,
							 x->comm, request);
	return hook_mpi_real.Isendrecv_c(x->sendbuf, x->sendcount, x->sendtype, x->dest, x->sendtag,
					 x->recvbuf, x->recvcount, x->recvtype, x->source,
					 x->recvtag, x->comm, request);
}
#endif

int hook_mpi_Sendrecv(struct hook_thread *t, const void *sendbuf, MPI_Count sendcount,
		      MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
		      MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
		      MPI_Comm comm, MPI_Status *status)
{
	struct hook_mpi_exchange x = {sendbuf,   sendcount, sendtype, dest,    sendtag, recvbuf,
				      recvcount, recvtype,  source,   recvtag, comm,    comm};

	return hook_mpi_mode->exchange(t, &x, false, status);
}

int hook_mpi_Sendrecv_replace(struct hook_thread *t, void *buf, MPI_Count count, MPI_Datatype type,
			      int dest, int sendtag, int source, int recvtag, MPI_Comm comm,
			      MPI_Status *status)
{
	struct hook_mpi_exchange x = {buf,   count, type,   dest,    sendtag, buf,
				      count, type,  source, recvtag, comm,    comm};

	return hook_mpi_mode->exchange(t, &x, true, status);
}

#ifdef HOOK_FLAVOUR_MPICH
int hook_mpi_Isendrecv(struct hook_thread *t, const void *sendbuf, MPI_Count sendcount,
		       MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
		       MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
		       MPI_Comm comm, MPI_Request *request)
{
	struct hook_mpi_exchange x = {sendbuf,   sendcount, sendtype, dest,    sendtag, recvbuf,
				      recvcount, recvtype,  source,   recvtag, comm,    comm};

	return hook_mpi_mode->iexchange(t, &x, false, request);
}

int hook_mpi_Isendrecv_replace(struct hook_thread *t, void *buf, MPI_Count count, MPI_Datatype type,
			       int dest, int sendtag, int source, int recvtag, MPI_Comm comm,
			       MPI_Request *request)
{
	struct hook_mpi_exchange x = {buf,   count, type,   dest,    sendtag, buf,
				      count, type,  source, recvtag, comm,    comm};

	return hook_mpi_mode->iexchange(t, &x, true, request);
}
#endif
