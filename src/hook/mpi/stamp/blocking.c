/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks on messages: the calls that block, and probes. */
#include <string.h>
#include <sys/mman.h>

#include "hook/mpi/stamp/stamp.h"

/*
 * Whatever MPI answers: a message may have gone out all the same. That one is counted that did not
 * costs nothing but room in the receiver's window; one that is not counted may hide a race.
 */
static void sent(const struct stamp_parcel *p)
{
	if (p->made)
		stamp_type_put(p->made);
	hook_clock_sent(&stamp_clock, (uint32_t)p->world);
}

/*
 * Most messages are short ones on MPI_COMM_WORLD: clock and data into the room, the bytes of both
 * or -1. It counts as sent before it is, see sent().
 */
static inline int pack_short(const void *buf, MPI_Count count, MPI_Datatype type, int dest,
			     MPI_Comm comm)
{
	long bytes;

	if (comm != MPI_COMM_WORLD || (unsigned int)dest >= stamp_clock.ranks || count < 0)
		return -1;
	bytes = stamp_type_copyable(buf, count, type, stamp_room);
	if (bytes < 0)
		return -1;
	hook_clock_send(&stamp_clock, (uint32_t)dest, stamp_send_room, stamp_head);
	stamp_copy(stamp_send_room + stamp_head, buf, (size_t)bytes);
	return (int)stamp_head + (int)bytes;
}

#define SEND(name, plain, number)                                                                  \
	static int stamp_##plain(const void *buf, number count, MPI_Datatype type, int dest,       \
				 int tag, MPI_Comm comm)                                           \
	{                                                                                          \
		struct stamp_parcel p;                                                             \
		int rc, packed;                                                                    \
                                                                                                   \
		if (stamp_is_apart(comm)) {                                                        \
			stamp_apart_send(count, type, dest, tag);                                  \
			return stamp_mpi.plain(buf, count, type, dest, tag, comm);                 \
		}                                                                                  \
		packed = pack_short(buf, count, type, dest, comm);                                 \
		if (HOOK_LIKELY(packed >= 0))                                                      \
			return stamp_mpi.name(stamp_send_room, packed, MPI_BYTE, dest, tag, comm); \
		rc = stamp_wrap_send(&p, NULL, buf, count, type, dest, comm);                      \
		if (rc <= 0)                                                                       \
			return rc ? MPI_ERR_NO_MEM                                                 \
				  : stamp_mpi.plain(buf, count, type, dest, tag, comm);            \
		rc = stamp_mpi.name(p.buf, p.count, p.type, dest, tag, comm);                      \
		sent(&p);                                                                          \
		return rc;                                                                         \
	}

SEND(Send, Send, int)
SEND(Ssend, Ssend, int)
SEND(Rsend, Rsend, int)
SEND(Bsend, Bsend, int)
#ifdef HOOK_FLAVOUR_MPICH
SEND(Send, Send_c, MPI_Count)
SEND(Ssend, Ssend_c, MPI_Count)
SEND(Rsend, Rsend_c, MPI_Count)
SEND(Bsend, Bsend_c, MPI_Count)
#endif

static void received(const struct stamp_parcel *p, MPI_Comm comm, MPI_Status *status, int rc)
{
	stamp_unwrap(p, comm, stamp_next_key(false), status, rc);
	if (p->made)
		stamp_type_put(p->made);
}

#define RECV(plain, number)                                                                        \
	static int stamp_##plain(void *buf, number count, MPI_Datatype type, int source, int tag,  \
				 MPI_Comm comm, MPI_Status *status)                                \
	{                                                                                          \
		struct stamp_parcel p;                                                             \
		MPI_Status local;                                                                  \
		int rc = stamp_wrap_recv(&p, NULL, buf, count, type, source, comm);                \
                                                                                                   \
		stamp_visit_orphans();                                                             \
		if (rc < 0)                                                                        \
			return MPI_ERR_NO_MEM;                                                     \
		if (status == MPI_STATUS_IGNORE)                                                   \
			status = &local;                                                           \
		if (!rc) {                                                                         \
			rc = stamp_mpi.plain(buf, count, type, source, tag, comm, status);         \
			if (stamp_is_apart(comm))                                                  \
				stamp_apart_came(status, rc);                                      \
			return rc;                                                                 \
		}                                                                                  \
		stamp_status_set_bytes(status, 0);                                                 \
		rc = stamp_mpi.Recv((void *)p.buf, p.count, p.type, source, tag, comm, status);    \
		received(&p, comm, status, rc);                                                    \
		return rc;                                                                         \
	}

RECV(Recv, int)
#ifdef HOOK_FLAVOUR_MPICH
RECV(Recv_c, MPI_Count)
#endif

/* Only half of an exchange that goes as it is has a count that may be large. */
static int exchange_parcels(const struct hook_mpi_exchange *x, MPI_Status *status)
{
#ifdef HOOK_FLAVOUR_MPICH
	if (x->sendcount > INT_MAX || x->recvcount > INT_MAX)
		return stamp_mpi.Sendrecv_c(x->sendbuf, x->sendcount, x->sendtype, x->dest,
					    x->sendtag, x->recvbuf, x->recvcount, x->recvtype,
					    x->source, x->recvtag, x->comm, status);
#endif
	return stamp_mpi.Sendrecv(x->sendbuf, (int)x->sendcount, x->sendtype, x->dest, x->sendtag,
				  x->recvbuf, (int)x->recvcount, x->recvtype, x->source, x->recvtag,
				  x->comm, status);
}

static void unwanted(const struct stamp_parcel *p, int wrapped)
{
	if (wrapped > 0 && p->made)
		stamp_type_put(p->made);
}

/* Either half may have to go as it is: to or from nobody, or with arguments that are wrong. */
static int exchange(const struct hook_mpi_exchange *x, MPI_Status *status)
{
	struct hook_mpi_exchange parcels = *x;
	struct stamp_parcel out, in;
	int outgoing = 0, incoming = 0, rc;
	MPI_Status local;

	stamp_visit_orphans();
	if (stamp_is_apart(x->comm)) {
		stamp_apart_send(x->sendcount, x->sendtype, x->dest, x->sendtag);
	} else {
		outgoing = stamp_wrap_send(&out, NULL, x->sendbuf, x->sendcount, x->sendtype,
					   x->dest, x->comm);
		incoming = stamp_wrap_recv(&in, NULL, x->recvbuf, x->recvcount, x->recvtype,
					   x->source, x->comm);
	}
	if (outgoing < 0 || incoming < 0) {
		unwanted(&out, outgoing);
		unwanted(&in, incoming);
		return MPI_ERR_NO_MEM;
	}
	if (status == MPI_STATUS_IGNORE)
		status = &local;
	if (incoming)
		stamp_status_set_bytes(status, 0);
	if (outgoing) {
		parcels.sendbuf = out.buf;
		parcels.sendcount = out.count;
		parcels.sendtype = out.type;
	}
	if (incoming) {
		parcels.recvbuf = (void *)in.buf;
		parcels.recvcount = in.count;
		parcels.recvtype = in.type;
	}
	rc = exchange_parcels(&parcels, status);
	if (outgoing)
		sent(&out);
	if (incoming)
		received(&in, x->comm, status, rc);
	else if (stamp_is_apart(x->comm))
		stamp_apart_came(status, rc);
	return rc;
}

static int stamp_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest,
			  int sendtag, void *recvbuf, int recvcount, MPI_Datatype recvtype,
			  int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
	struct hook_mpi_exchange x = {sendbuf,   sendcount, sendtype, dest,    sendtag, recvbuf,
				      recvcount, recvtype,  source,   recvtag, comm,    comm};

	return exchange(&x, status);
}

/* What is sent is packed first, because its place is where the receive writes. */
static int replace(struct hook_mpi_exchange *x, MPI_Status *status)
{
	size_t mapped;
	void *copy = stamp_pack(x, 0, &mapped);
	int rc;

	if (!copy)
		return MPI_ERR_NO_MEM;
	rc = exchange(x, status);
	munmap(copy, mapped);
	return rc;
}

static int replace_apart(const struct hook_mpi_exchange *x, MPI_Status *status)
{
	MPI_Status local;
	int rc;

	stamp_visit_orphans();
	if (status == MPI_STATUS_IGNORE)
		status = &local;
	stamp_apart_send(x->sendcount, x->sendtype, x->dest, x->sendtag);
#ifdef HOOK_FLAVOUR_MPICH
	rc = stamp_mpi.Sendrecv_replace_c(x->recvbuf, x->recvcount, x->recvtype, x->dest,
					  x->sendtag, x->source, x->recvtag, x->comm, status);
#else
	rc = stamp_mpi.Sendrecv_replace(x->recvbuf, (int)x->recvcount, x->recvtype, x->dest,
					x->sendtag, x->source, x->recvtag, x->comm, status);
#endif
	stamp_apart_came(status, rc);
	return rc;
}

static int stamp_Sendrecv_replace(void *buf, int count, MPI_Datatype type, int dest, int sendtag,
				  int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
	struct hook_mpi_exchange x = {buf,   count, type,   dest,    sendtag, buf,
				      count, type,  source, recvtag, comm,    comm};

	if (stamp_is_apart(comm))
		return replace_apart(&x, status);
	if (!stamp_comm_rides(comm) || count < 0 || type == MPI_DATATYPE_NULL)
		return stamp_mpi.Sendrecv_replace(buf, count, type, dest, sendtag, source, recvtag,
						  comm, status);
	return replace(&x, status);
}

/* The clock's bytes are not the program's. */
static void hide(MPI_Comm comm, MPI_Status *status)
{
	size_t bytes;

	if (status == MPI_STATUS_IGNORE || status->MPI_SOURCE == MPI_PROC_NULL ||
	    !stamp_comm_rides(comm))
		return;
	bytes = stamp_status_bytes(status);
	if (bytes >= stamp_head)
		stamp_status_set_bytes(status, bytes - stamp_head);
}

static int stamp_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
	int rc = stamp_mpi.Probe(source, tag, comm, status);

	stamp_visit_orphans();
	if (rc == MPI_SUCCESS)
		hide(comm, status);
	return rc;
}

static int stamp_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
	int rc = stamp_mpi.Iprobe(source, tag, comm, flag, status);

	stamp_visit_orphans();
	if (rc == MPI_SUCCESS && *flag)
		hide(comm, status);
	return rc;
}

/* Messages that were taken out of the queue and not received yet, newest last. */
#define FIRST_MATCHED 64

struct matched {
	MPI_Message message;
	MPI_Comm comm; /* only to compare: the program may have freed it since */
	bool rides;
	uint64_t key;
};

static struct matched *matched;
static int matched_count, matched_room;

static bool has_room(void)
{
	size_t bytes = sizeof(*matched) * (size_t)matched_room;
	int room = matched_room ? 2 * matched_room : FIRST_MATCHED;
	struct matched *more;

	if (matched_count < matched_room)
		return true;
	more = mmap(NULL, sizeof(*more) * (size_t)room, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (more == MAP_FAILED)
		return false;
	if (matched) {
		memcpy(more, matched, bytes);
		munmap(matched, bytes);
	}
	matched = more;
	matched_room = room;
	return true;
}

/* Where the clock is in the ledger, the message has come now: to receive it tells nothing more. */
static void match(MPI_Message message, MPI_Comm comm, const MPI_Status *status)
{
	if (stamp_is_apart(comm)) {
		stamp_apart_came(status, MPI_SUCCESS);
		return;
	}
	if (!has_room() && !matched_count)
		return;
	if (matched_count == matched_room)
		memmove(matched, matched + 1, sizeof(matched[0]) * (size_t)--matched_count);
	matched[matched_count++] =
		(struct matched){message, comm, stamp_comm_rides(comm), stamp_next_key(false)};
}

static struct matched unmatch(MPI_Message message)
{
	struct matched m = {message, MPI_COMM_WORLD, !stamp_apart, stamp_next_key(false)};
	int i = matched_count - 1;

	while (i >= 0 && matched[i].message != message)
		i--;
	if (i < 0)
		return m;
	m = matched[i];
	memmove(matched + i, matched + i + 1, sizeof(matched[0]) * (size_t)(--matched_count - i));
	return m;
}

static int stamp_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message,
			MPI_Status *status)
{
	MPI_Status local;
	int rc;

	if (status == MPI_STATUS_IGNORE)
		status = &local;
	rc = stamp_mpi.Mprobe(source, tag, comm, message, status);
	stamp_visit_orphans();
	if (rc != MPI_SUCCESS)
		return rc;
	hide(comm, status);
	if (source != MPI_PROC_NULL)
		match(*message, comm, status);
	return rc;
}

static int stamp_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
			 MPI_Status *status)
{
	MPI_Status local;
	int rc;

	if (status == MPI_STATUS_IGNORE)
		status = &local;
	rc = stamp_mpi.Improbe(source, tag, comm, flag, message, status);
	stamp_visit_orphans();
	if (rc != MPI_SUCCESS || !*flag)
		return rc;
	hide(comm, status);
	if (source != MPI_PROC_NULL)
		match(*message, comm, status);
	return rc;
}

/* A message from MPI_PROC_NULL has no clock, and no bytes: nothing comes off. */
#define MRECV(plain, number)                                                                       \
	static int stamp_##plain(void *buf, number count, MPI_Datatype type, MPI_Message *message, \
				 MPI_Status *status)                                               \
	{                                                                                          \
		struct stamp_parcel p;                                                             \
		MPI_Status local;                                                                  \
		struct matched m = unmatch(*message);                                              \
		int rc = m.rides ? stamp_wrap_matched(&p, NULL, buf, count, type) : 0;             \
                                                                                                   \
		if (rc <= 0)                                                                       \
			return rc ? MPI_ERR_NO_MEM                                                 \
				  : stamp_mpi.plain(buf, count, type, message, status);            \
		if (status == MPI_STATUS_IGNORE)                                                   \
			status = &local;                                                           \
		stamp_status_set_bytes(status, 0);                                                 \
		rc = stamp_mpi.Mrecv((void *)p.buf, p.count, p.type, message, status);             \
		stamp_unwrap(&p, m.comm, m.key, status, rc);                                       \
		if (p.made)                                                                        \
			stamp_type_put(p.made);                                                    \
		return rc;                                                                         \
	}

#define IMRECV(plain, number)                                                                      \
	static int stamp_##plain(void *buf, number count, MPI_Datatype type, MPI_Message *message, \
				 MPI_Request *request)                                             \
	{                                                                                          \
		struct stamp_request *r = stamp_request_new();                                     \
		struct stamp_parcel p;                                                             \
		struct matched m;                                                                  \
		int rc;                                                                            \
                                                                                                   \
		if (!r)                                                                            \
			return MPI_ERR_NO_MEM;                                                     \
		m = unmatch(*message);                                                             \
		rc = m.rides ? stamp_wrap_matched(&p, r, buf, count, type) : 0;                    \
		if (rc <= 0) {                                                                     \
			stamp_request_drop(r);                                                     \
			return rc ? MPI_ERR_NO_MEM                                                 \
				  : stamp_mpi.plain(buf, count, type, message, request);           \
		}                                                                                  \
		rc = stamp_mpi.Imrecv((void *)p.buf, p.count, p.type, message, request);           \
		stamp_posted_recv(r, &p, rc, *request, m.comm, m.key);                             \
		return rc;                                                                         \
	}

MRECV(Mrecv, int)
IMRECV(Imrecv, int)
#ifdef HOOK_FLAVOUR_MPICH
MRECV(Mrecv_c, MPI_Count)
IMRECV(Imrecv_c, MPI_Count)

static int stamp_Sendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
			    int dest, int sendtag, void *recvbuf, MPI_Count recvcount,
			    MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
			    MPI_Status *status)
{
	struct hook_mpi_exchange x = {sendbuf,   sendcount, sendtype, dest,    sendtag, recvbuf,
				      recvcount, recvtype,  source,   recvtag, comm,    comm};

	if ((!stamp_is_apart(comm) && !stamp_comm_rides(comm)) || sendcount < 0 || recvcount < 0)
		return stamp_mpi.Sendrecv_c(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,
					    recvcount, recvtype, source, recvtag, comm, status);
	return exchange(&x, status);
}

static int stamp_Sendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype type, int dest,
				    int sendtag, int source, int recvtag, MPI_Comm comm,
				    MPI_Status *status)
{
	struct hook_mpi_exchange x = {buf,   count, type,   dest,    sendtag, buf,
				      count, type,  source, recvtag, comm,    comm};

	if (stamp_is_apart(comm))
		return replace_apart(&x, status);
	if (!stamp_comm_rides(comm) || count < 0 || type == MPI_DATATYPE_NULL)
		return stamp_mpi.Sendrecv_replace_c(buf, count, type, dest, sendtag, source,
						    recvtag, comm, status);
	return replace(&x, status);
}
#endif

void stamp_install_blocking(struct hook_mpi_real *mpi)
{
	mpi->Send = stamp_Send;
	mpi->Ssend = stamp_Ssend;
	mpi->Rsend = stamp_Rsend;
	mpi->Bsend = stamp_Bsend;
	mpi->Recv = stamp_Recv;
	mpi->Sendrecv = stamp_Sendrecv;
	mpi->Sendrecv_replace = stamp_Sendrecv_replace;
	mpi->Probe = stamp_Probe;
	mpi->Iprobe = stamp_Iprobe;
	mpi->Mprobe = stamp_Mprobe;
	mpi->Improbe = stamp_Improbe;
	mpi->Mrecv = stamp_Mrecv;
	mpi->Imrecv = stamp_Imrecv;
#ifdef HOOK_FLAVOUR_MPICH
	mpi->Send_c = stamp_Send_c;
	mpi->Ssend_c = stamp_Ssend_c;
	mpi->Rsend_c = stamp_Rsend_c;
	mpi->Bsend_c = stamp_Bsend_c;
	mpi->Recv_c = stamp_Recv_c;
	mpi->Sendrecv_c = stamp_Sendrecv_c;
	mpi->Sendrecv_replace_c = stamp_Sendrecv_replace_c;
	mpi->Mrecv_c = stamp_Mrecv_c;
	mpi->Imrecv_c = stamp_Imrecv_c;
#endif
}
