/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks on messages: a layer between the mode and MPI. While clocks ride, it is in hook_mpi_top.
 * Its functions make every message `[clock|data]` and take the clock off again, unseen: counts,
 * probes, truncation and statuses are as without it. Every call through hook_mpi_top, at any depth,
 * sends and receives this way. Therefore all ranks must do it or none, from MPI_Init on.
 *
 * Every message begins with the same number of bytes of clock, whatever its size. Sender and
 * receiver each choose for themselves how to put them there: by a copy of the whole, or by a
 * datatype made of the clock's place and the program's buffer.
 *
 * Where all ranks are on one host, messages on MPI_COMM_WORLD stay as they are, and their clocks
 * are in the ledger (hook/causal/ledger.h): `stamp_apart`.
 */
#ifndef HOOK_MPI_STAMP_H
#define HOOK_MPI_STAMP_H

#include <string.h>

#include "hook/mpi/call/mpi.h"
#include "hook/kit/table.h"
#include "hook/causal/clock.h"
#include "hook/causal/ledger.h"

/*
 * Messages of at most so many bytes of one predefined type are copied: MPI copies them, too. Longer
 * ones MPI takes directly from buffer to buffer, and a datatype is faster than two copies.
 */
#ifdef HOOK_FLAVOUR_MPICH
#define STAMP_COPY 8448
#else
#define STAMP_COPY 3968
#endif

/*
 * If ranks share cores, up to so many bytes are copied. With a datatype that has gaps, MPICH's
 * sender has to hand out the pieces when the receiver is there, and may have no core just then; a
 * copy the receiver takes by itself. (Open MPI's receiver takes all of a message, even more than it
 * asked for, and our room is not that large: there a long message must not be in one piece.)
 */
#ifdef HOOK_FLAVOUR_MPICH
#define STAMP_COPY_CROWDED (1 << 20)
#else
#define STAMP_COPY_CROWDED STAMP_COPY
#endif

/* MPI itself. */
extern struct hook_mpi_calls stamp_below;
extern struct hook_clock stamp_clock;
extern size_t stamp_head;      /* bytes of clock on each message */
extern uint32_t *stamp_counts; /* two per rank: messages that it has sent us, and we to it */
extern bool stamp_apart;       /* the same at all ranks, from stamp_ride on */

/* [clock|data] of blocking calls, which are never two at a time, and the bytes of data it holds */
extern uint8_t *stamp_send_room, *stamp_recv_room;
extern long stamp_room;

/* A message has come that covers so many outcomes; MPI_ANY_TAG: nobody knows which one. */
extern void (*stamp_came)(MPI_Comm comm, int tag, int source, uint64_t key, uint64_t covers);

/* Gets ready: -errno if memory is out. From stamp_ride on clocks ride. */
int stamp_open(enum hook_clock_kind kind, int rank, int ranks) __attribute__((warn_unused_result));
void stamp_ride(bool apart);

/*
 * MPI_Finalize is about to be called: true if all messages to this rank have been received.
 * Every rank calls it.
 */
bool stamp_close(void);

/* --- communicators (stamp/comm.c) */

bool stamp_comm_looked_up_rides(MPI_Comm comm);
int stamp_comm_looked_up_world(MPI_Comm comm, int rank);
int stamp_comm_remembered_world(MPI_Comm comm, int rank);

/* Are clocks of messages there in the ledger? */
static inline bool stamp_is_apart(MPI_Comm comm)
{
	return stamp_apart && comm == MPI_COMM_WORLD;
}

/*
 * Do clocks ride on it? Not to processes of other launches. This and the next one ask MPI, so the
 * program must not have freed it.
 */
static inline bool stamp_comm_rides(MPI_Comm comm)
{
	return comm == MPI_COMM_WORLD ? !stamp_apart : stamp_comm_looked_up_rides(comm);
}

/* The rank in MPI_COMM_WORLD of a peer; -1 if there is none. */
static inline int stamp_comm_world(MPI_Comm comm, int rank)
{
	if (comm == MPI_COMM_WORLD)
		return rank >= 0 && rank < hook_process.world ? rank : -1;
	return stamp_comm_looked_up_world(comm, rank);
}

/* The same of the sender of a message that has come; -1 also if it is forgotten. */
static inline int stamp_comm_sender(MPI_Comm comm, int rank)
{
	if (comm == MPI_COMM_WORLD)
		return rank >= 0 && rank < hook_process.world ? rank : -1;
	return stamp_comm_remembered_world(comm, rank);
}

/* The members of an intracommunicator, all of which are in MPI_COMM_WORLD. */
struct stamp_team {
	const int *world; /* their ranks there; NULL: they are the same */
	int size, rank;   /* of it, and ours in it */
};

/* False: it is none. The team is valid until another communicator is looked up. */
bool stamp_comm_team(MPI_Comm comm, struct stamp_team *team);

/* --- datatypes (stamp/type.c) */

/* A predefined type without gaps, and its size; it is never freed. */
struct stamp_plain {
	MPI_Datatype type;
	int size;
};

extern struct stamp_plain stamp_plain_last; /* that was asked for */

/* The size of a predefined type without gaps; 0 of others. */
int stamp_type_plain_size(MPI_Datatype type);

/* Bytes of count elements if they lie as they are sent and are at most `limit`; else -1. */
static inline long stamp_type_copyable(const void *buf, MPI_Count count, MPI_Datatype type,
				       long limit)
{
	int size = stamp_plain_last.size;

	if (count > limit || (count && buf == MPI_BOTTOM))
		return -1;
	if (__builtin_expect(!size || stamp_plain_last.type != type, 0))
		size = stamp_type_plain_size(type);
	return size && count * size <= limit ? (long)(count * size) : -1;
}

/* A datatype for [slot|data], to be used once, with MPI_BOTTOM, at a time. */
struct stamp_type {
	struct hook_entry entry;
	const void *buf;
	MPI_Count count;
	MPI_Datatype of, stamped;
	bool sends, cached, busy;
	uint64_t used; /* when */
	void *slot;    /* the clock's place */
};

struct stamp_type *stamp_type_get(const void *buf, MPI_Count count, MPI_Datatype type, bool sends);
void stamp_type_put(struct stamp_type *type);
/* Frees those that are kept: MPI would complain of them at its end. */
void stamp_type_free_all(void);

/* --- requests (stamp/request.c) */

enum {
	STAMP_SEND = 1,
	STAMP_RECV = 2,
	STAMP_PERSISTENT = 4,
	STAMP_ACTIVE = 8,
	STAMP_CANCEL = 16,    /* MPI_Cancel was called */
	STAMP_DELIVERED = 32, /* the data are where the program wants them, the clock is read */
	STAMP_ORPHAN = 64,    /* the program freed it */
	STAMP_BOTH = 128,     /* Isendrecv */
	STAMP_APART = 256,    /* its clock is in the ledger */
	STAMP_FLOW = 512,     /* a collective operation: see stamp_flow_heard */
};

#define STAMP_SMALL 128

struct stamp_request {
	struct hook_entry entry;
	MPI_Request handle;
	uint32_t flags;
	struct stamp_request *next; /* among orphans */
	bool is_in_table;
	MPI_Comm comm;
	int world;       /* of a send: where to */
	int source, tag; /* of a receive: as the program asked */
	uint64_t key;
	void *buf;    /* of a receive or a persistent send: the program's */
	size_t bytes; /* that fit there, or are copied from there; of a flow: ranks to be heard */
	void *room;   /* [clock|data], if copied; these ranks */
	int size;     /* of the room, see stamp/request.c */
	void *copy;   /* of what Isendrecv sends, mapped */
	size_t copy_mapped;
	struct stamp_type *type, *send_type;
	uint8_t small[STAMP_SMALL];
};

/* NULL if memory is out. Not yet in the table. */
struct stamp_request *stamp_request_new(void);
/* How many bytes of data there is room for just now. */
long stamp_request_limit(void);
/* Room for n bytes that lasts as long as the request; NULL if memory is out. */
void *stamp_request_room(struct stamp_request *r, size_t n);
void stamp_request_insert(struct stamp_request *r, MPI_Request handle);
/* MPI has given it another handle. */
void stamp_request_move(struct stamp_request *r, MPI_Request handle);
struct stamp_request *stamp_request_find(MPI_Request handle);
void stamp_request_drop(struct stamp_request *r);
uint32_t stamp_request_count(void);

/* The program has freed it: it leaves the table, and is checked until it has completed. */
void stamp_request_orphan(struct stamp_request *r);
extern uint32_t stamp_request_orphans;
/* Calls done() for each; true: it is dropped. */
void stamp_request_visit(bool (*done)(struct stamp_request *r));

/* --- clocks in the ledger (stamp/apart.c) */

/* A message is about to be sent. What MPI is going to refuse has no clock. */
static inline void stamp_apart_send(MPI_Count count, MPI_Datatype type, int dest, int tag)
{
	void *place;

	if ((unsigned int)dest >= stamp_clock.ranks || count < 0 || tag < 0 ||
	    type == MPI_DATATYPE_NULL)
		return;
	place = hook_ledger_place((uint32_t)dest);
	if (__builtin_expect(!place, 0)) {
		hook_clock_sent(&stamp_clock, (uint32_t)dest);
		return;
	}
	hook_clock_send(&stamp_clock, (uint32_t)dest, place, stamp_head);
	hook_ledger_wrote((uint32_t)dest, tag);
}

/* A message has come: what it covers. */
static inline uint64_t stamp_apart_covers(int source, int tag)
{
	const void *clock = hook_ledger_take((uint32_t)source, tag);

	if (__builtin_expect(clock != NULL, 1))
		return hook_clock_receive(&stamp_clock, clock);
	hook_clock_missed(&stamp_clock, (uint32_t)source);
	return 0;
}

/* A call that blocks has returned, or a matching probe. */
void stamp_apart_came(const MPI_Status *status, int rc);

/* MPI has answered to a posted receive, or to one to be started; it has completed. */
void stamp_apart_posted(struct stamp_request *r, int source, int tag, int rc, MPI_Request handle);
void stamp_apart_deliver(struct stamp_request *r, const MPI_Status *status, int rc);

/* --- collective operations (stamp/flow.c) */

enum stamp_flow_kind {
	STAMP_FLOW_NONE, /* nobody learns anything: those who take part are no team */
	STAMP_FLOW_ALL,  /* from all to all */
	STAMP_FLOW_FROM_ROOT,
	STAMP_FLOW_TO_ROOT,
	STAMP_FLOW_UP, /* to higher ranks */
};

/* Who gets something from whom, as this rank sees it. Both sides of a pair must see the same. */
struct stamp_flow {
	enum stamp_flow_kind kind;
	struct stamp_team team;
	int root;
	bool gives, takes; /* this rank does, as far as counts below do not say otherwise */
	bool global;       /* it is known that every rank gets something from every other */
	bool posted;       /* its end is that of a request */
	bool tells;        /* it is in the ledger */
	bool wide;         /* counts are MPI_Count */
	/* by member, or NULL: what this rank gives to it, or takes from it */
	const void *to, *from;
	const MPI_Datatype *to_type, *from_type;
};

/* Is anything moved? */
bool stamp_flow_moves(MPI_Count count, MPI_Datatype type);
/* Of counts by member: is there any of it, or of every one? */
bool stamp_flow_some(const struct stamp_flow *f, const void *counts, int i);
bool stamp_flow_every(const struct stamp_flow *f, const void *counts);
/* The call is made between these. */
void stamp_flow_begin(struct stamp_flow *f);
void stamp_flow_end(struct stamp_flow *f, MPI_Comm comm, int rc);
/* The end of one whose call has just begun it. */
void stamp_flow_post(const struct stamp_flow *f, int rc, const MPI_Request *request);
void stamp_flow_heard(struct stamp_request *r, int rc);
/* The counts of this rank may no longer agree with what others count. */
void stamp_flow_give_up(void);

/* --- calls, by file */

/* A message on its way between the program and MPI. */
struct stamp_parcel {
	void *clock;
	struct stamp_type *typed; /* NULL: a copy */
	int world;                /* where to */
	void *home;               /* the program's buffer */
	size_t bytes;             /* that fit there, or are copied from there */
};

/*
 * Makes a parcel of a message to be sent or received, and changes the operation accordingly. `r` is
 * NULL for blocking calls. Returns 1; 0 if the operation is to be done as it is; -1 if memory is
 * out.
 */
int stamp_wrap_send(struct stamp_parcel *p, struct stamp_request *r, struct hook_mpi_send *o);
int stamp_wrap_recv(struct stamp_parcel *p, struct stamp_request *r, struct hook_mpi_receive *o);
/* The same where it is known that there is a clock. */
int stamp_wrap_matched(struct stamp_parcel *p, struct stamp_request *r, struct hook_mpi_receive *o);

/*
 * A send is counted whatever MPI answers, because the message may have gone out. Counting one too
 * many only takes room in the receiver's window. Counting one too few may hide a race.
 */
static inline void stamp_sent(const struct stamp_parcel *p)
{
	if (p->typed)
		stamp_type_put(p->typed);
	hook_clock_sent(&stamp_clock, (uint32_t)p->world);
}

/* A parcel has come to a call that blocks. */
void stamp_received(const struct stamp_parcel *p, MPI_Comm comm, uint64_t key, MPI_Status *status,
		    int rc);

/* MPI has answered to a posted receive of ours. */
void stamp_posted_recv(struct stamp_request *r, const struct stamp_parcel *p, int rc,
		       MPI_Request handle, MPI_Comm comm, uint64_t key);

/* A message has arrived: its data go home and its clock comes off. */
void stamp_unwrap(const struct stamp_parcel *p, MPI_Comm comm, uint64_t key, MPI_Status *status,
		  int rc);

/*
 * If rc says so, a message came that cannot be read: MPICH gives nothing of a message that is too
 * long, so there is no clock. Such a message covers nothing.
 */
void stamp_came_without_clock(MPI_Comm comm, uint64_t key, int tag, int source, int rc);

static inline size_t stamp_status_bytes(const MPI_Status *status)
{
#ifdef HOOK_FLAVOUR_OPENMPI
	return status->_ucount;
#else
	return (size_t)((uint64_t)((uint32_t)status->count_hi_and_cancelled >> 1) << 32 |
			(uint32_t)status->count_lo);
#endif
}

static inline void stamp_status_set_bytes(MPI_Status *status, size_t bytes)
{
#ifdef HOOK_FLAVOUR_OPENMPI
	status->_ucount = bytes;
#else
	uint32_t cancelled = (uint32_t)status->count_hi_and_cancelled & 1;

	status->count_lo = (int)(uint32_t)bytes;
	status->count_hi_and_cancelled = (int)((uint32_t)(bytes >> 32) << 1 | cancelled);
#endif
}

/* The key of the receive that comes next, see hook/causal/window.h. */
uint64_t stamp_next_key(bool posted);

int stamp_receive(struct hook_mpi_receive *o);
int stamp_exchange(struct hook_mpi_exchange *o);
int stamp_probe(struct hook_mpi_probe *o);
void stamp_install_messages(struct hook_mpi_calls *mpi);
void stamp_install_buffers(struct hook_mpi_calls *mpi);
void stamp_install_requests(struct hook_mpi_calls *mpi);
void stamp_install_collectives(struct hook_mpi_calls *mpi);

/*
 * Every rank tells every other how many messages it has sent to it. Collective on MPI_COMM_WORLD;
 * false: it failed.
 */
bool stamp_exchange_counts(void);

/*
 * MPI_Request_get_status for our own use. The program does not see the answer, so nothing is
 * delivered or learnt before it asks itself. Works without clocks, too.
 */
int stamp_ask(MPI_Request request, int *flag, MPI_Status *status);

/*
 * Checks requests that the program has freed. To be called before anything that the program could
 * learn from.
 */
void stamp_visit_all_orphans(void);

static inline void stamp_visit_orphans(void)
{
	if (__builtin_expect(stamp_request_orphans != 0, 0))
		stamp_visit_all_orphans();
}

/* Most messages are one number. */
static inline void stamp_copy(void *to, const void *from, size_t n)
{
	if (n == 4)
		memcpy(to, from, 4);
	else if (n == 8)
		memcpy(to, from, 8);
	else if (n)
		memcpy(to, from, n);
}

#endif
