/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks on messages: calls that give a request. A clock is read or written while the request is
 * active; so its place belongs to the request. A persistent request has one place for good, and the
 * clock in it, and a copy of what it sends, are renewed at each start. A send is counted also where
 * MPI complains: it may have gone out. Of sends whose clocks are in the ledger nothing is kept but
 * of persistent ones.
 */
#include <string.h>

#include "hook/mpi/stamp/stamp.h"

static void posted_send(struct stamp_request *r, const struct stamp_parcel *p, int rc,
			MPI_Request handle)
{
	r->send_type = p->made;
	r->flags |= STAMP_SEND;
	r->world = p->world;
	r->buf = p->home;
	r->bytes = p->bytes;
	if (!(r->flags & STAMP_PERSISTENT)) {
		r->flags |= STAMP_ACTIVE;
		hook_clock_sent(&stamp_clock, (uint32_t)p->world);
	}
	if (rc == MPI_SUCCESS)
		stamp_request_insert(r, handle);
	else
		stamp_request_drop(r);
}

/* A clock is written when it is started. */
static void made_send_apart(struct stamp_request *r, MPI_Count count, MPI_Datatype type, int dest,
			    int tag, int rc, MPI_Request handle)
{
	r->flags |= STAMP_SEND | STAMP_APART;
	r->world = dest;
	r->tag = tag;
	if (rc == MPI_SUCCESS && dest >= 0 && count >= 0 && type != MPI_DATATYPE_NULL)
		stamp_request_insert(r, handle);
	else
		stamp_request_drop(r);
}

#define POST_SEND(name, plain, number, kind)                                                       \
	static int stamp_##plain(const void *buf, number count, MPI_Datatype type, int dest,       \
				 int tag, MPI_Comm comm, MPI_Request *request)                     \
	{                                                                                          \
		struct stamp_request *r;                                                           \
		struct stamp_parcel p;                                                             \
		int rc;                                                                            \
                                                                                                   \
		if (!kind && stamp_is_apart(comm)) {                                               \
			stamp_apart_send(count, type, dest, tag);                                  \
			return stamp_mpi.plain(buf, count, type, dest, tag, comm, request);        \
		}                                                                                  \
		r = stamp_request_new();                                                           \
		if (!r)                                                                            \
			return MPI_ERR_NO_MEM;                                                     \
		r->flags = kind;                                                                   \
		if (stamp_is_apart(comm)) {                                                        \
			rc = stamp_mpi.plain(buf, count, type, dest, tag, comm, request);          \
			made_send_apart(r, count, type, dest, tag, rc, *request);                  \
			return rc;                                                                 \
		}                                                                                  \
		rc = stamp_wrap_send(&p, r, buf, count, type, dest, comm);                         \
		if (rc <= 0) {                                                                     \
			stamp_request_drop(r);                                                     \
			return rc ? MPI_ERR_NO_MEM                                                 \
				  : stamp_mpi.plain(buf, count, type, dest, tag, comm, request);   \
		}                                                                                  \
		rc = stamp_mpi.name(p.buf, p.count, p.type, dest, tag, comm, request);             \
		posted_send(r, &p, rc, *request);                                                  \
		return rc;                                                                         \
	}

POST_SEND(Isend, Isend, int, 0)
POST_SEND(Issend, Issend, int, 0)
POST_SEND(Irsend, Irsend, int, 0)
POST_SEND(Ibsend, Ibsend, int, 0)
POST_SEND(Send_init, Send_init, int, STAMP_PERSISTENT)
POST_SEND(Ssend_init, Ssend_init, int, STAMP_PERSISTENT)
POST_SEND(Rsend_init, Rsend_init, int, STAMP_PERSISTENT)
POST_SEND(Bsend_init, Bsend_init, int, STAMP_PERSISTENT)
#ifdef HOOK_FLAVOUR_MPICH
POST_SEND(Isend, Isend_c, MPI_Count, 0)
POST_SEND(Issend, Issend_c, MPI_Count, 0)
POST_SEND(Irsend, Irsend_c, MPI_Count, 0)
POST_SEND(Ibsend, Ibsend_c, MPI_Count, 0)
POST_SEND(Send_init, Send_init_c, MPI_Count, STAMP_PERSISTENT)
POST_SEND(Ssend_init, Ssend_init_c, MPI_Count, STAMP_PERSISTENT)
POST_SEND(Rsend_init, Rsend_init_c, MPI_Count, STAMP_PERSISTENT)
POST_SEND(Bsend_init, Bsend_init_c, MPI_Count, STAMP_PERSISTENT)
#endif

void stamp_posted_recv(struct stamp_request *r, const struct stamp_parcel *p, int rc,
		       MPI_Request handle, MPI_Comm comm, uint64_t key)
{
	r->type = p->made;
	if (rc != MPI_SUCCESS) {
		stamp_request_drop(r);
		return;
	}
	r->flags |= STAMP_RECV;
	if (!(r->flags & STAMP_PERSISTENT))
		r->flags |= STAMP_ACTIVE;
	r->comm = comm;
	r->key = key;
	r->buf = p->home;
	r->bytes = p->bytes;
	stamp_request_insert(r, handle);
}

#define POST_RECV(name, plain, number, kind)                                                       \
	static int stamp_##plain(void *buf, number count, MPI_Datatype type, int source, int tag,  \
				 MPI_Comm comm, MPI_Request *request)                              \
	{                                                                                          \
		struct stamp_request *r = stamp_request_new();                                     \
		struct stamp_parcel p;                                                             \
		int rc;                                                                            \
                                                                                                   \
		if (!r)                                                                            \
			return MPI_ERR_NO_MEM;                                                     \
		r->flags = kind;                                                                   \
		if (stamp_is_apart(comm) && source != MPI_PROC_NULL) {                             \
			rc = stamp_mpi.plain(buf, count, type, source, tag, comm, request);        \
			stamp_apart_posted(r, source, tag, rc, *request);                          \
			return rc;                                                                 \
		}                                                                                  \
		rc = stamp_wrap_recv(&p, r, buf, count, type, source, comm);                       \
		if (rc <= 0) {                                                                     \
			stamp_request_drop(r);                                                     \
			return rc ? MPI_ERR_NO_MEM                                                 \
				  : stamp_mpi.plain(buf, count, type, source, tag, comm, request); \
		}                                                                                  \
		rc = stamp_mpi.name((void *)p.buf, p.count, p.type, source, tag, comm, request);   \
		stamp_posted_recv(r, &p, rc, *request, comm, stamp_next_key(true));                \
		return rc;                                                                         \
	}

POST_RECV(Irecv, Irecv, int, 0)
POST_RECV(Recv_init, Recv_init, int, STAMP_PERSISTENT)

#ifdef HOOK_FLAVOUR_MPICH
POST_RECV(Irecv, Irecv_c, MPI_Count, 0)
POST_RECV(Recv_init, Recv_init_c, MPI_Count, STAMP_PERSISTENT)

/*
 * What an Isendrecv sends is packed behind its clock: MPICH 4.0 dies of a datatype with gaps there.
 * 1, 0 or -1 as stamp_wrap_send.
 */
static int pack_send(const struct hook_mpi_exchange *x, struct stamp_request *r,
		     struct stamp_parcel *out, MPI_Count *count)
{
	struct hook_mpi_exchange packed = *x;

	if (x->dest < 0 || x->sendcount < 0 || x->sendtype == MPI_DATATYPE_NULL)
		return 0;
	out->world = stamp_comm_world(x->comm, x->dest);
	if (out->world < 0)
		return 0;
	r->copy = stamp_pack(&packed, stamp_head, &r->copy_mapped);
	if (!r->copy)
		return -1;
	hook_clock_stamp(&stamp_clock, (uint32_t)out->world, r->copy);
	out->buf = r->copy;
	out->type = MPI_BYTE;
	*count = (MPI_Count)stamp_head + packed.sendcount;
	return 1;
}

/* Either peer may be MPI_PROC_NULL. */
static void posted_apart(const struct hook_mpi_exchange *x, struct stamp_request *r, int rc,
			 MPI_Request handle)
{
	r->flags = STAMP_BOTH;
	if (x->source == MPI_PROC_NULL)
		stamp_request_drop(r);
	else
		stamp_apart_posted(r, x->source, x->recvtag, rc, handle);
}

static int iexchange_apart(const struct hook_mpi_exchange *x, MPI_Request *request)
{
	struct stamp_request *r = stamp_request_new();
	int rc;

	if (!r)
		return MPI_ERR_NO_MEM;
	stamp_apart_send(x->sendcount, x->sendtype, x->dest, x->sendtag);
	rc = stamp_mpi.Isendrecv_c(x->sendbuf, x->sendcount, x->sendtype, x->dest, x->sendtag,
				   x->recvbuf, x->recvcount, x->recvtype, x->source, x->recvtag,
				   x->comm, request);
	posted_apart(x, r, rc, *request);
	return rc;
}

static int ireplace_apart(const struct hook_mpi_exchange *x, MPI_Request *request)
{
	struct stamp_request *r = stamp_request_new();
	int rc;

	if (!r)
		return MPI_ERR_NO_MEM;
	stamp_apart_send(x->sendcount, x->sendtype, x->dest, x->sendtag);
	rc = stamp_mpi.Isendrecv_replace_c(x->recvbuf, x->recvcount, x->recvtype, x->dest,
					   x->sendtag, x->source, x->recvtag, x->comm, request);
	posted_apart(x, r, rc, *request);
	return rc;
}

/* One request for two messages; either may have to go as it is. */
static int iexchange(const struct hook_mpi_exchange *x, MPI_Request *request)
{
	struct stamp_parcel out = {.buf = x->sendbuf, .type = x->sendtype};
	struct stamp_parcel in = {.buf = x->recvbuf, .type = x->recvtype};
	struct stamp_request *r = stamp_request_new();
	MPI_Count sendcount = x->sendcount;
	int outgoing, incoming, rc;

	if (!r)
		return MPI_ERR_NO_MEM;
	r->flags = STAMP_BOTH;
	outgoing = pack_send(x, r, &out, &sendcount);
	incoming =
		stamp_wrap_recv(&in, r, x->recvbuf, x->recvcount, x->recvtype, x->source, x->comm);
	if (outgoing < 0 || incoming < 0) {
		r->type = incoming > 0 ? in.made : NULL;
		stamp_request_drop(r);
		return MPI_ERR_NO_MEM;
	}
	rc = stamp_mpi.Isendrecv_c(out.buf, sendcount, out.type, x->dest, x->sendtag,
				   (void *)in.buf, incoming ? in.count : x->recvcount, in.type,
				   x->source, x->recvtag, x->comm, request);
	if (outgoing)
		hook_clock_sent(&stamp_clock, (uint32_t)out.world);
	if (rc != MPI_SUCCESS) {
		r->type = in.made;
		stamp_request_drop(r);
		return rc;
	}
	r->flags |= STAMP_ACTIVE;
	r->source = x->source;
	r->tag = x->recvtag;
	if (incoming)
		stamp_posted_recv(r, &in, rc, *request, x->comm, stamp_next_key(true));
	else
		stamp_request_insert(r, *request);
	return rc;
}

static int stamp_Isendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
			     int dest, int sendtag, void *recvbuf, MPI_Count recvcount,
			     MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
			     MPI_Request *request)
{
	struct hook_mpi_exchange x = {sendbuf,   sendcount, sendtype, dest,    sendtag, recvbuf,
				      recvcount, recvtype,  source,   recvtag, comm,    comm};

	return stamp_is_apart(comm) ? iexchange_apart(&x, request) : iexchange(&x, request);
}

static int stamp_Isendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest,
			   int sendtag, void *recvbuf, int recvcount, MPI_Datatype recvtype,
			   int source, int recvtag, MPI_Comm comm, MPI_Request *request)
{
	return stamp_Isendrecv_c(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
				 recvtype, source, recvtag, comm, request);
}

static int stamp_Isendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype type, int dest,
				     int sendtag, int source, int recvtag, MPI_Comm comm,
				     MPI_Request *request)
{
	struct hook_mpi_exchange x = {buf,   count, type,   dest,    sendtag, buf,
				      count, type,  source, recvtag, comm,    comm};

	if (stamp_is_apart(comm))
		return ireplace_apart(&x, request);
	if (!stamp_comm_rides(comm) || count < 0 || type == MPI_DATATYPE_NULL)
		return stamp_mpi.Isendrecv_replace_c(buf, count, type, dest, sendtag, source,
						     recvtag, comm, request);
	return iexchange(&x, request);
}

static int stamp_Isendrecv_replace(void *buf, int count, MPI_Datatype type, int dest, int sendtag,
				   int source, int recvtag, MPI_Comm comm, MPI_Request *request)
{
	return stamp_Isendrecv_replace_c(buf, count, type, dest, sendtag, source, recvtag, comm,
					 request);
}
#endif

/* Before a start: the clock and the data as they are now. After it: the request is active. */
static void renew(struct stamp_request *r)
{
	if (!r || !(r->flags & STAMP_SEND))
		return;
	if (r->flags & STAMP_APART) {
		stamp_apart_send(0, MPI_BYTE, r->world, r->tag);
		return;
	}
	if (r->send_type) {
		hook_clock_stamp(&stamp_clock, (uint32_t)r->world, r->send_type->slot);
		return;
	}
	hook_clock_stamp(&stamp_clock, (uint32_t)r->world, r->room);
	stamp_copy((char *)r->room + stamp_head, r->buf, r->bytes);
}

/*
 * Open MPI starts a copy of a buffered send, under a handle of its own, where it has not yet
 * delivered the last one.
 */
static void started(struct stamp_request *r, MPI_Request handle, uint64_t *key)
{
	if (!r)
		return;
	stamp_request_move(r, handle);
	r->flags |= STAMP_ACTIVE;
	if (r->flags & STAMP_RECV) {
		r->key = *key;
		*key += 2;
	}
}

static int start(MPI_Request *request, uint64_t *key)
{
	struct stamp_request *r = stamp_request_find(*request);
	int rc;

	renew(r);
	rc = stamp_mpi.Start(request);
	if (r && (r->flags & (STAMP_SEND | STAMP_APART)) == STAMP_SEND)
		hook_clock_sent(&stamp_clock, (uint32_t)r->world);
	if (rc == MPI_SUCCESS)
		started(r, *request, key);
	return rc;
}

static int stamp_Start(MPI_Request *request)
{
	uint64_t key = stamp_next_key(true);

	return start(request, &key);
}

/* One by one: two sends to the same rank are two messages, and each has its own number. */
static int stamp_Startall(int count, MPI_Request requests[])
{
	uint64_t key = stamp_next_key(true);
	int rc = MPI_SUCCESS;

	if (!stamp_request_count())
		return stamp_mpi.Startall(count, requests);
	for (int i = 0; i < count && rc == MPI_SUCCESS; i++)
		rc = start(&requests[i], &key);
	return rc;
}

void stamp_install_posts(struct hook_mpi_real *mpi)
{
	mpi->Isend = stamp_Isend;
	mpi->Issend = stamp_Issend;
	mpi->Irsend = stamp_Irsend;
	mpi->Ibsend = stamp_Ibsend;
	mpi->Send_init = stamp_Send_init;
	mpi->Ssend_init = stamp_Ssend_init;
	mpi->Rsend_init = stamp_Rsend_init;
	mpi->Bsend_init = stamp_Bsend_init;
	mpi->Irecv = stamp_Irecv;
	mpi->Recv_init = stamp_Recv_init;
	mpi->Start = stamp_Start;
	mpi->Startall = stamp_Startall;
#ifdef HOOK_FLAVOUR_MPICH
	mpi->Isend_c = stamp_Isend_c;
	mpi->Issend_c = stamp_Issend_c;
	mpi->Irsend_c = stamp_Irsend_c;
	mpi->Ibsend_c = stamp_Ibsend_c;
	mpi->Send_init_c = stamp_Send_init_c;
	mpi->Ssend_init_c = stamp_Ssend_init_c;
	mpi->Rsend_init_c = stamp_Rsend_init_c;
	mpi->Bsend_init_c = stamp_Bsend_init_c;
	mpi->Irecv_c = stamp_Irecv_c;
	mpi->Recv_init_c = stamp_Recv_init_c;
	mpi->Isendrecv = stamp_Isendrecv;
	mpi->Isendrecv_c = stamp_Isendrecv_c;
	mpi->Isendrecv_replace = stamp_Isendrecv_replace;
	mpi->Isendrecv_replace_c = stamp_Isendrecv_replace_c;
#endif
}
