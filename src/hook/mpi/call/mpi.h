/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI hooks. Wrappers (generated, see calls.tbl) raise events: hook_mpi_enter names the call,
 * hook_mpi_begin counts it as an event, hook_mpi_end says that it returned, hook_mpi_leave gives
 * control back to the program. What a nondeterministic call does is decided by the mode: one
 * table of functions, chosen in MPI_Init. Failed polls are no events.
 */
#ifndef HOOK_MPI_H
#define HOOK_MPI_H

#include <limits.h>
#include <mpi.h>

#include "hook/common/hook.h"
#include "hook/common/thread.h"
#include "hook/mpi/call/handles.h"
#include "hook/thread/baton.h"
#include "trace/numbers.h"
#include HOOK_MPI_HEADER

#define HOOK_NO_PEER INT_MIN
#define HOOK_NO_TAG INT_MIN

#define HOOK_LIKELY(x) __builtin_expect(!!(x), 1)

/* Both halves of a Sendrecv in any of its forms. */
struct hook_mpi_exchange {
	const void *sendbuf;
	MPI_Count sendcount;
	MPI_Datatype sendtype;
	int dest, sendtag;
	void *recvbuf;
	MPI_Count recvcount;
	MPI_Datatype recvtype;
	int source, recvtag;
	MPI_Comm comm, recvcomm; /* the same, but where one of the messages is held back */
};

/* What a call does, for a mode that looks at all of them. */
enum hook_mpi_act_kind {
	HOOK_ACT_SEND = 1,
	HOOK_ACT_ISEND,
	HOOK_ACT_SEND_INIT,
	HOOK_ACT_RECV,
	HOOK_ACT_IRECV,
	HOOK_ACT_RECV_INIT,
	HOOK_ACT_MRECV,
	HOOK_ACT_IMRECV,
	HOOK_ACT_EXCHANGE,
	HOOK_ACT_IEXCHANGE,
	HOOK_ACT_PROBE,
	HOOK_ACT_MPROBE,
	HOOK_ACT_START,
	HOOK_ACT_WAIT,
	HOOK_ACT_CHOICE,
	HOOK_ACT_COLL,
	HOOK_ACT_ICOLL,
	HOOK_ACT_COLL_INIT,
	HOOK_ACT_COMM,       /* a constructor that all of comm call */
	HOOK_ACT_COMM_GROUP, /* one that only the members of the new one call */
	HOOK_ACT_COMM_FREE,
};

struct hook_mpi_act {
	enum hook_mpi_act_kind kind;
	bool sync;               /* a synchronous send */
	bool poll;               /* Iprobe, Test… */
	int peer, tag;           /* dest, source or root; HOOK_NO_PEER */
	int want_peer, want_tag; /* of an exchange: what it receives */
	MPI_Count count;         /* of `type`; 0 if that is not to be looked at. START: requests */
	MPI_Datatype type;
	MPI_Comm comm;
	MPI_Comm *newcomm;
	MPI_Request *request;
	MPI_Message *message;
	MPI_Message taken; /* *message before the call */
};

struct hook_mpi_mode {
	void (*begin)(struct hook_thread *t);
	void (*end)(struct hook_thread *t);
	/* the call at work cannot be replayed */
	void (*refuse)(struct hook_thread *t);
	/* turns among threads */
	void (*turn_take)(struct hook_thread *t);
	void (*turn_pass)(struct hook_thread *t);
	/* the source to ask for in the place of MPI_ANY_SOURCE; in the turn, if any; may be NULL */
	int (*source)(struct hook_thread *t);
	/* a message is about to be sent: the communicator to send it on; may be NULL */
	MPI_Comm (*sending)(struct hook_thread *t, int dest, MPI_Comm comm);
	/* a communicator came up (Comm_idup: its parent is given, it comes up later), or is about
	   to be freed; may be NULL */
	void (*made)(struct hook_thread *t, MPI_Comm parent, MPI_Comm made);
	void (*freeing)(struct hook_thread *t, MPI_Comm comm);
	/* a call that the mode does not decide is about to be made, has returned; may be NULL */
	void (*noting)(struct hook_thread *t, const struct hook_mpi_act *act);
	void (*noted)(struct hook_thread *t, int rc);
	/* MPI_Init has returned, MPI_Finalize is about to be called */
	void (*opened)(struct hook_thread *t, int world, int level);
	void (*closing)(struct hook_thread *t);
	/* Sendrecv and Isendrecv; `replace`: the received data go where the sent ones were */
	int (*exchange)(struct hook_thread *t, const struct hook_mpi_exchange *x, bool replace,
			MPI_Status *status);
	int (*iexchange)(struct hook_thread *t, const struct hook_mpi_exchange *x, bool replace,
			 MPI_Request *request);
	HOOK_MPI_MODE_CALLS
};

extern struct hook_mpi_real hook_mpi_real;
extern const struct hook_mpi_mode *hook_mpi_mode;
extern const struct hook_mpi_mode hook_mpi_record, hook_mpi_replay;
const struct hook_mpi_mode *hook_mpi_explore(void);
const struct hook_mpi_mode *hook_mpi_evaluate(void);

/* Several threads may be inside MPI: what they post takes turns. */
extern bool hook_mpi_turns;

/* MPI was begun by MPI_Session_init: there may be neither MPI_COMM_WORLD nor MPI_COMM_SELF. */
extern bool hook_mpi_sessions;

/*
 * The first call of MPI: false if it and all that follow are not our business. Nothing of MPI can
 * be called before.
 */
bool hook_mpi_begins(uint32_t call);
/* MPI can be used from here on, is about to end. */
void hook_mpi_opened(struct hook_thread *t, int world, int level);
void hook_mpi_closing(struct hook_thread *t);

/* Makes a communicator of this rank alone. */
void hook_mpi_make_alone(MPI_Comm *made);

/* Receives that MPI is to be asked about at the end of each event, see requests.h. */
extern uint32_t hook_mpi_pending;

void hook_mpi_resolve_all(void *(*find)(const char *name));
const char *hook_mpi_call_name(uint32_t call);

static inline struct hook_thread *hook_mpi_enter(uint32_t call, const void *site)
{
	struct hook_thread *t = hook_self;

	hook_depth = 1;
	if (__builtin_expect(!t || !t->opened, 0)) {
		t = hook_thread_self();
		hook_thread_open(t);
	}
	t->call = call;
	t->site = site;
	t->peer = HOOK_NO_PEER;
	hook_baton_leave(t);
	return t;
}

static inline void hook_mpi_leave(struct hook_thread *t)
{
	hook_baton_enter(t);
	hook_depth = t->passive;
}

static inline __attribute__((always_inline)) void hook_mpi_digest(struct hook_thread *t, int peer,
								  int tag, uint64_t extra)
{
	t->digest = trace_call_digest(t->digest, t->call, peer, tag, extra);
}

/*
 * Recording must cost next to nothing: its begin and end are here, in line, as far as there is
 * nothing to do but to count the event.
 */
static inline __attribute__((always_inline)) void hook_mpi_begin(struct hook_thread *t, int peer,
								 int tag, uint64_t extra)
{
	t->peer = peer;
	t->tag = tag;
	hook_mpi_digest(t, peer, tag, extra);
	if (HOOK_LIKELY(t->order.events + 1 < t->attention))
		trace_stream_set_events(&t->order.stream, ++t->order.events, true);
	else
		hook_mpi_mode->begin(t);
}

static inline __attribute__((always_inline)) void hook_mpi_end(struct hook_thread *t)
{
	if (HOOK_LIKELY(hook_mpi_mode == &hook_mpi_record) && HOOK_LIKELY(!hook_mpi_pending) &&
	    HOOK_LIKELY(!t->passive))
		trace_stream_set_events(&t->order.stream, t->order.events, false);
	else
		hook_mpi_mode->end(t);
}

/*
 * Where several threads may be inside MPI, what they post takes turns: take, post, pass. Nothing
 * may block between take and pass. See turn.c.
 */
static inline void hook_mpi_turn_take(struct hook_thread *t)
{
	if (hook_mpi_turns)
		hook_mpi_mode->turn_take(t);
}

static inline void hook_mpi_turn_pass(struct hook_thread *t)
{
	if (hook_mpi_turns)
		hook_mpi_mode->turn_pass(t);
}

/* Is this MPI_ERR_IN_STATUS: some requests failed, others may be pending? */
bool hook_mpi_in_status(int rc);

/* A random delay, if the user asked for noise. */
void hook_mpi_noise(struct hook_thread *t);

/* Room for n bytes that lasts until the next call with the same `which`. */
void *hook_mpi_scratch(struct hook_thread *t, int which, size_t n);

/* Messages larger than an int counts go through the calls of MPI 4 where there are any. */
static inline int hook_mpi_recv(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag,
				MPI_Comm comm, MPI_Status *status)
{
#ifdef HOOK_FLAVOUR_MPICH
	if (count > INT_MAX)
		return hook_mpi_real.Recv_c(buf, count, type, source, tag, comm, status);
#endif
	return hook_mpi_real.Recv(buf, (int)count, type, source, tag, comm, status);
}

int hook_mpi_irecv(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag,
		   MPI_Comm comm, MPI_Request *request);
int hook_mpi_isend(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag,
		   MPI_Comm comm, MPI_Request *request);

/* The blocking calls, in a turn where threads take turns. Shared by the modes. */
int hook_mpi_do_recv(struct hook_thread *t, void *buf, MPI_Count count, MPI_Datatype type,
		     int source, int tag, MPI_Comm comm, MPI_Status *status);
int hook_mpi_do_sendrecv(struct hook_thread *t, const struct hook_mpi_exchange *x,
			 MPI_Status *status);
int hook_mpi_do_sendrecv_replace(struct hook_thread *t, const struct hook_mpi_exchange *x,
				 MPI_Status *status);
/* What is to be sent, to a place with so much room; that is 0 if there is nothing. */
int hook_mpi_pack(const struct hook_mpi_real *mpi, const struct hook_mpi_exchange *x, void *to,
		  MPI_Count room, MPI_Count *packed);
#ifdef HOOK_FLAVOUR_MPICH
int hook_mpi_isendrecv(const struct hook_mpi_exchange *x, bool replace, MPI_Request *request);
/* Of an Isendrecv from any source, see exchange-parts.c: the half that sends. */
int hook_mpi_send_part(const struct hook_mpi_exchange *x);
#endif
/* Waits for all that is on its way: MPI is about to end. */
void hook_mpi_send_parts_close(void);

/* Entries of both modes' tables: they gather the arguments for `exchange` and `iexchange`. */
int hook_mpi_Sendrecv(struct hook_thread *t, const void *sendbuf, MPI_Count sendcount,
		      MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
		      MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
		      MPI_Comm comm, MPI_Status *status);
int hook_mpi_Sendrecv_replace(struct hook_thread *t, void *buf, MPI_Count count, MPI_Datatype type,
			      int dest, int sendtag, int source, int recvtag, MPI_Comm comm,
			      MPI_Status *status);
#ifdef HOOK_FLAVOUR_MPICH
int hook_mpi_Isendrecv(struct hook_thread *t, const void *sendbuf, MPI_Count sendcount,
		       MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
		       MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
		       MPI_Comm comm, MPI_Request *request);
int hook_mpi_Isendrecv_replace(struct hook_thread *t, void *buf, MPI_Count count, MPI_Datatype type,
			       int dest, int sendtag, int source, int recvtag, MPI_Comm comm,
			       MPI_Request *request);
#endif

#endif
