/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks on messages: the calls that block, and probes. */
#include <string.h>
#include <sys/mman.h>

#include "hook/mpi/carry.h"

/*
 * Whatever MPI answers: a message may have gone out all the same. That one is counted that did not
 * costs nothing but room in the receiver's window; one that is not counted may hide a race.
 */
static void sent(const struct carry_parcel *p)
{
	if (p->made)
		carry_type_put(p->made);
	hook_clock_sent(&carry_clock, (uint32_t)p->world);
}

/*
 * Most messages are short ones on MPI_COMM_WORLD: clock and data into the room, the bytes of both
 * or -1. It counts as sent before it is, see sent().
 */
static inline int pack_short(const void *buf, MPI_Count count, MPI_Datatype type, int dest,
			     MPI_Comm comm)
{
	long bytes;

	if (comm != MPI_COMM_WORLD || (unsigned int)dest >= carry_clock.ranks || count < 0)
		return -1;
	bytes = carry_type_copyable(buf, count, type, carry_room);
	if (bytes < 0)
		return -1;
	hook_clock_send(&carry_clock, (uint32_t)dest, carry_send_room, carry_head);
	carry_copy(carry_send_room + carry_head, buf, (size_t)bytes);
	return (int)carry_head + (int)bytes;
}

#define SEND(name, plain, number)                                                                  \
	static int carry_##plain(const void *buf, number count, MPI_Datatype type, int dest,       \
				 int tag, MPI_Comm comm)                                           \
	{                                                                                          \
		struct carry_parcel p;                                                             \
		int rc, packed;                                                                    \
                                                                                                   \
		if (carry_is_apart(comm)) {                                                        \
			carry_apart_send(count, type, dest, tag);                                  \
			return carry_mpi.plain(buf, count, type, dest, tag, comm);                 \
		}                                                                                  \
		packed = pack_short(buf, count, type, dest, comm);                                 \
		if (HOOK_LIKELY(packed >= 0))                                                      \
			return carry_mpi.name(carry_send_room, packed, MPI_BYTE, dest, tag, comm); \
		rc = carry_wrap_send(&p, NULL, buf, count, type, dest, comm);                      \
		if (rc <= 0)                                                                       \
			return rc ? MPI_ERR_NO_MEM                                                 \
				  : carry_mpi.plain(buf, count, type, dest, tag, comm);            \
		rc = carry_mpi.name(p.buf, p.count, p.type, dest, tag, comm);                      \
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

static void received(const struct carry_parcel *p, MPI_Comm comm, MPI_Status *status, int rc)
{
	carry_unwrap(p, comm, carry_next_key(false), status, rc);
	if (p->made)
		carry_type_put(p->made);
}

#define RECV(plain, number)                                                                        \
	static int carry_##plain(void *buf, number count, MPI_Datatype type, int source, int tag,  \
				 MPI_Comm comm, MPI_Status *status)                                \
	{                                                                                          \
		struct carry_parcel p;                                                             \
		MPI_Status local;                                                                  \
		int rc = carry_wrap_recv(&p, NULL, buf, count, type, source, comm);                \
                                                                                                   \
		carry_visit_orphans();                                                             \
		if (rc < 0)                                                                        \
			return MPI_ERR_NO_MEM;                                                     \
		if (status == MPI_STATUS_IGNORE)                                                   \
			status = &local;                                                           \
		if (!rc) {                                                                         \
			rc = carry_mpi.plain(buf, count, type, source, tag, comm, status);         \
			if (carry_is_apart(comm))                                                  \
				carry_apart_came(status, rc);                                      \
			return rc;                                                                 \
		}                                                                                  \
		carry_status_set_bytes(status, 0);                                                 \
		rc = carry_mpi.Recv((void *)p.buf, p.count, p.type, source, tag, comm, status);    \
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
		return carry_mpi.Sendrecv_c(x->sendbuf, x->sendcount, x->sendtype, x->dest,
					    x->sendtag, x->recvbuf, x->recvcount, x->recvtype,
					    x->source, x->recvtag, x->comm, status);
#endif
	return carry_mpi.Sendrecv(x->sendbuf, (int)x->sendcount, x->sendtype, x->dest, x->sendtag,
				  x->recvbuf, (int)x->recvcount, x->recvtype, x->source, x->recvtag,
				  x->comm, status);
}

static void unwanted(const struct carry_parcel *p, int wrapped)
{
	if (wrapped > 0 && p->made)
		carry_type_put(p->made);
}

/* Either half may have to go as it is: to or from nobody, or with arguments that are wrong. */
static int exchange(const struct hook_mpi_exchange *x, MPI_Status *status)
{
	struct hook_mpi_exchange parcels = *x;
	struct carry_parcel out, in;
	int outgoing = 0, incoming = 0, rc;
	MPI_Status local;

	carry_visit_orphans();
	if (carry_is_apart(x->comm)) {
		carry_apart_send(x->sendcount, x->sendtype, x->dest, x->sendtag);
	} else {
		outgoing = carry_wrap_send(&out, NULL, x->sendbuf, x->sendcount, x->sendtype,
					   x->dest, x->comm);
		incoming = carry_wrap_recv(&in, NULL, x->recvbuf, x->recvcount, x->recvtype,
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
		carry_status_set_bytes(status, 0);
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
	else if (carry_is_apart(x->comm))
		carry_apart_came(status, rc);
	return rc;
}

static int carry_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest,
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
	void *copy = carry_pack(x, 0, &mapped);
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

	carry_visit_orphans();
	if (status == MPI_STATUS_IGNORE)
		status = &local;
	carry_apart_send(x->sendcount, x->sendtype, x->dest, x->sendtag);
#ifdef HOOK_FLAVOUR_MPICH
	rc = carry_mpi.Sendrecv_replace_c(x->recvbuf, x->recvcount, x->recvtype, x->dest,
					  x->sendtag, x->source, x->recvtag, x->comm, status);
#else
	rc = carry_mpi.Sendrecv_replace(x->recvbuf, (int)x->recvcount, x->recvtype, x->dest,
					x->sendtag, x->source, x->recvtag, x->comm, status);
#endif
	carry_apart_came(status, rc);
	return rc;
}

static int carry_Sendrecv_replace(void *buf, int count, MPI_Datatype type, int dest, int sendtag,
				  int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
	struct hook_mpi_exchange x = {buf,   count, type,   dest,    sendtag, buf,
				      count, type,  source, recvtag, comm,    comm};

	if (carry_is_apart(comm))
		return replace_apart(&x, status);
	if (!carry_comm_rides(comm) || count < 0 || type == MPI_DATATYPE_NULL)
		return carry_mpi.Sendrecv_replace(buf, count, type, dest, sendtag, source, recvtag,
						  comm, status);
	return replace(&x, status);
}

/* The clock's bytes are not the program's. */
static void hide(MPI_Comm comm, MPI_Status *status)
{
	size_t bytes;

	if (status == MPI_STATUS_IGNORE || status->MPI_SOURCE == MPI_PROC_NULL ||
	    !carry_comm_rides(comm))
		return;
	bytes = carry_status_bytes(status);
	if (bytes >= carry_head)
		carry_status_set_bytes(status, bytes - carry_head);
}

static int carry_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
	int rc = carry_mpi.Probe(source, tag, comm, status);

	carry_visit_orphans();
	if (rc == MPI_SUCCESS)
		hide(comm, status);
	return rc;
}

static int carry_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
	int rc = carry_mpi.Iprobe(source, tag, comm, flag, status);

	carry_visit_orphans();
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
	if (carry_is_apart(comm)) {
		carry_apart_came(status, MPI_SUCCESS);
		return;
	}
	if (!has_room() && !matched_count)
		return;
	if (matched_count == matched_room)
		memmove(matched, matched + 1, sizeof(matched[0]) * (size_t)--matched_count);
	matched[matched_count++] =
		(struct matched){message, comm, carry_comm_rides(comm), carry_next_key(false)};
}

static struct matched unmatch(MPI_Message message)
{
	struct matched m = {message, MPI_COMM_WORLD, !carry_apart, carry_next_key(false)};
	int i = matched_count - 1;

	while (i >= 0 && matched[i].message != message)
		i--;
	if (i < 0)
		return m;
	m = matched[i];
	memmove(matched + i, matched + i + 1, sizeof(matched[0]) * (size_t)(--matched_count - i));
	return m;
}

static int carry_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message,
			MPI_Status *status)
{
	MPI_Status local;
	int rc;

	if (status == MPI_STATUS_IGNORE)
		status = &local;
	rc = carry_mpi.Mprobe(source, tag, comm, message, status);
	carry_visit_orphans();
	if (rc != MPI_SUCCESS)
		return rc;
	hide(comm, status);
	if (source != MPI_PROC_NULL)
		match(*message, comm, status);
	return rc;
}

static int carry_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
			 MPI_Status *status)
{
	MPI_Status local;
	int rc;

	if (status == MPI_STATUS_IGNORE)
		status = &local;
	rc = carry_mpi.Improbe(source, tag, comm, flag, message, status);
	carry_visit_orphans();
	if (rc != MPI_SUCCESS || !*flag)
		return rc;
	hide(comm, status);
	if (source != MPI_PROC_NULL)
		match(*message, comm, status);
	return rc;
}

/* A message from MPI_PROC_NULL has no clock, and no bytes: nothing comes off. */
#define MRECV(plain, number)                                                                       \
	static int carry_##plain(void *buf, number count, MPI_Datatype type, MPI_Message *message, \
				 MPI_Status *status)                                               \
	{                                                                                          \
		struct carry_parcel p;                                                             \
		MPI_Status local;                                                                  \
		struct matched m = unmatch(*message);                                              \
		int rc = m.rides ? carry_wrap_matched(&p, NULL, buf, count, type) : 0;             \
                                                                                                   \
		if (rc <= 0)                                                                       \
			return rc ? MPI_ERR_NO_MEM                                                 \
				  : carry_mpi.plain(buf, count, type, message, status);            \
		if (status == MPI_STATUS_IGNORE)                                                   \
			status = &local;                                                           \
		carry_status_set_bytes(status, 0);                                                 \
		rc = carry_mpi.Mrecv((void *)p.buf, p.count, p.type, message, status);             \
		carry_unwrap(&p, m.comm, m.key, status, rc);                                       \
		if (p.made)                                                                        \
			carry_type_put(p.made);                                                    \
		return rc;                                                                         \
	}

#define IMRECV(plain, number)                                                                      \
	static int carry_##plain(void *buf, number count, MPI_Datatype type, MPI_Message *message, \
				 MPI_Request *request)                                             \
	{                                                                                          \
		struct carry_request *r = carry_request_new();                                     \
		struct carry_parcel p;                                                             \
		struct matched m;                                                                  \
		int rc;                                                                            \
                                                                                                   \
		if (!r)                                                                            \
			return MPI_ERR_NO_MEM;                                                     \
		m = unmatch(*message);                                                             \
		rc = m.rides ? carry_wrap_matched(&p, r, buf, count, type) : 0;                    \
		if (rc <= 0) {                                                                     \
			carry_request_drop(r);                                                     \
			return rc ? MPI_ERR_NO_MEM                                                 \
				  : carry_mpi.plain(buf, count, type, message, request);           \
		}                                                                                  \
		rc = carry_mpi.Imrecv((void *)p.buf, p.count, p.type, message, request);           \
		carry_posted_recv(r, &p, rc, *request, m.comm, m.key);                             \
		return rc;                                                                         \
	}

MRECV(Mrecv, int)
IMRECV(Imrecv, int)
#ifdef HOOK_FLAVOUR_MPICH
MRECV(Mrecv_c, MPI_Count)
IMRECV(Imrecv_c, MPI_Count)

static int carry_Sendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
			    int dest, int sendtag, void *recvbuf, MPI_Count recvcount,
			    MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
			    MPI_Status *status)
{
	struct hook_mpi_exchange x = {sendbuf,   sendcount, sendtype, dest,    sendtag, recvbuf,
				      recvcount, recvtype,  source,   recvtag, comm,    comm};

	if ((!carry_is_apart(comm) && !carry_comm_rides(comm)) || sendcount < 0 || recvcount < 0)
		return carry_mpi.Sendrecv_c(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,
					    recvcount, recvtype, source, recvtag, comm, status);
	return exchange(&x, status);
}

static int carry_Sendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype type, int dest,
				    int sendtag, int source, int recvtag, MPI_Comm comm,
				    MPI_Status *status)
{
	struct hook_mpi_exchange x = {buf,   count, type,   dest,    sendtag, buf,
				      count, type,  source, recvtag, comm,    comm};

	if (carry_is_apart(comm))
		return replace_apart(&x, status);
	if (!carry_comm_rides(comm) || count < 0 || type == MPI_DATATYPE_NULL)
		return carry_mpi.Sendrecv_replace_c(buf, count, type, dest, sendtag, source,
						    recvtag, comm, status);
	return replace(&x, status);
}
#endif

void carry_install_blocking(struct hook_mpi_real *mpi)
{
	mpi->Send = carry_Send;
	mpi->Ssend = carry_Ssend;
	mpi->Rsend = carry_Rsend;
	mpi->Bsend = carry_Bsend;
	mpi->Recv = carry_Recv;
	mpi->Sendrecv = carry_Sendrecv;
	mpi->Sendrecv_replace = carry_Sendrecv_replace;
	mpi->Probe = carry_Probe;
	mpi->Iprobe = carry_Iprobe;
	mpi->Mprobe = carry_Mprobe;
	mpi->Improbe = carry_Improbe;
	mpi->Mrecv = carry_Mrecv;
	mpi->Imrecv = carry_Imrecv;
#ifdef HOOK_FLAVOUR_MPICH
	mpi->Send_c = carry_Send_c;
	mpi->Ssend_c = carry_Ssend_c;
	mpi->Rsend_c = carry_Rsend_c;
	mpi->Bsend_c = carry_Bsend_c;
	mpi->Recv_c = carry_Recv_c;
	mpi->Sendrecv_c = carry_Sendrecv_c;
	mpi->Sendrecv_replace_c = carry_Sendrecv_replace_c;
	mpi->Mrecv_c = carry_Mrecv_c;
	mpi->Imrecv_c = carry_Imrecv_c;
#endif
}
