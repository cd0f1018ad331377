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
#include "hook/kit/lock.h"
#include "hook/kit/table.h"
#include "hook/thread/serial/baton.h"
#include "trace/calls.h"
#include "trace/numbers.h"
#include HOOK_MPI_HEADER

#define HOOK_NO_PEER INT_MIN
#define HOOK_NO_TAG INT_MIN

/* The call for large counts, where the MPI has one; its counts and displacements. */
#ifdef HOOK_FLAVOUR_MPICH
#define HOOK_MPI_LARGE(name) name##_c
typedef MPI_Count hook_mpi_count, hook_mpi_place;
#else
#define HOOK_MPI_LARGE(name) name
typedef int hook_mpi_count;
typedef MPI_Aint hook_mpi_place;
#endif

#define HOOK_LIKELY(x) __builtin_expect(!!(x), 1)

/*
 * Operations of MPI as data. Wrappers fill these structs; a mode, and a layer between it and MPI,
 * answers each of them by one function, however many calls it stands for.
 */

enum hook_mpi_post {
	HOOK_BLOCKING,
	HOOK_POSTED,   /* it gives a request */
	HOOK_PREPARED, /* the same, to be started */
};

struct hook_mpi_receive {
	enum hook_mpi_post post;
	void *buf;
	MPI_Count count;
	MPI_Datatype type;
	int source, tag;
	MPI_Comm comm;
	MPI_Message *message; /* of Mrecv and Imrecv, in the place of these three */
	MPI_Request *request;
	MPI_Status *status;
};

enum hook_mpi_send_mode { HOOK_SEND_PLAIN, HOOK_SEND_S, HOOK_SEND_R, HOOK_SEND_B };

struct hook_mpi_send {
	enum hook_mpi_post post;
	enum hook_mpi_send_mode mode;
	const void *buf;
	MPI_Count count;
	MPI_Datatype type;
	int dest, tag;
	MPI_Comm comm;
	MPI_Request *request;
};

/* Sendrecv in any of its forms: how it is posted, its request and its status are the receive's. */
struct hook_mpi_exchange {
	bool replace; /* the received data go where the sent ones were */
	struct hook_mpi_send send;
	struct hook_mpi_receive receive; /* on the same comm, unless one of the two is held back */
};

struct hook_mpi_probe {
	bool poll;
	int source, tag;
	MPI_Comm comm;
	int *flag;
	MPI_Message *message; /* of Mprobe and Improbe */
	MPI_Status *status;
};

struct hook_mpi_start {
	bool all; /* Startall */
	int count;
	MPI_Request *requests;
};

struct hook_mpi_release {
	bool cancel; /* or free */
	MPI_Request *request;
};

/* A call that completes requests: which of them it waits for, or whether it only asks. */
enum hook_mpi_how { HOOK_ONE, HOOK_ANY, HOOK_SOME, HOOK_ALL, HOOK_PART };

struct hook_mpi_completion {
	enum hook_mpi_how how;
	bool poll; /* it does not wait */
	bool keep; /* a request that has completed stays what it is: Request_get_status, Parrived */
	int count;
	int partition; /* of PART, which is Parrived */
	MPI_Request *requests;
	int *flag;            /* of polls, but for SOME */
	int *outcount;        /* of SOME */
	int *indices;         /* of SOME; of ANY it is one */
	MPI_Status *statuses; /* of ONE and ANY it is one */
};

/* Its part of the digest. */
static inline uint64_t hook_mpi_completion_digest(const struct hook_mpi_completion *o)
{
	if (o->how == HOOK_PART)
		return trace_digest_partition((uint64_t)o->partition);
	return trace_digest_requests(o->how != HOOK_ONE, (uint64_t)o->count);
}

/* A poll is answered "no". */
static inline void hook_mpi_completion_fails(const struct hook_mpi_completion *o)
{
	if (o->flag)
		*o->flag = 0;
	if (o->how == HOOK_ANY)
		*o->indices = MPI_UNDEFINED;
	if (o->outcount)
		*o->outcount = 0;
}

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
	HOOK_ACT_FREE,
	HOOK_ACT_CANCEL,
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
	MPI_Count count; /* of `type`; 0 if that is not to be looked at. START: of requests */
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
	/* a message is about to be sent; may be NULL */
	void (*sending)(struct hook_thread *t, int dest, MPI_Comm comm);
	/* a communicator came up (Comm_idup: its parent is given, it comes up later), or is about
	   to be freed; may be NULL */
	void (*comm_created)(struct hook_thread *t, MPI_Comm parent, MPI_Comm created);
	void (*comm_freeing)(struct hook_thread *t, MPI_Comm comm);
	/* a call is about to be made, has returned; not probe and complete; may be NULL */
	void (*noting)(struct hook_thread *t, const struct hook_mpi_act *act);
	void (*noted)(struct hook_thread *t, int rc, const MPI_Status *status);
	/* MPI_Init has returned, MPI_Finalize is about to be called */
	void (*opened)(struct hook_thread *t, int world, int level);
	void (*closing)(struct hook_thread *t);
	/* the program has left the call at work by a jump; may be NULL */
	void (*left)(struct hook_thread *t);
	/*
	 * What becomes of these is the mode's choice. It may change structs that are not const, in
	 * which a status is wanted even if the program ignores it. The wrapper begins and ends the
	 * event, but for those that may be polls, which are events once they have succeeded.
	 */
	int (*receive)(struct hook_thread *t, struct hook_mpi_receive *o);
	int (*exchange)(struct hook_thread *t, struct hook_mpi_exchange *o);
	int (*start)(struct hook_thread *t, const struct hook_mpi_start *o);
	int (*release)(struct hook_thread *t, const struct hook_mpi_release *o);
	/* these may be polls */
	int (*probe)(struct hook_thread *t, struct hook_mpi_probe *o);
	int (*complete)(struct hook_thread *t, const struct hook_mpi_completion *o);
	int (*Test_cancelled)(struct hook_thread *t, const MPI_Status *status, int *flag);
};

/*
 * hook_mpi_real is MPI itself. hook_mpi_top is what modes and wrappers call: MPI, or the uppermost
 * of the layers before it. A layer has a table of the functions below it, and puts its own into
 * hook_mpi_top.
 */
extern struct hook_mpi_calls hook_mpi_real, hook_mpi_top;

/*
 * The functions of a layer that answers these operations by layer_send(), layer_receive() and so
 * on, and the one that installs them. For a single operation: HOOK_MPI_LAYER_SEND and the like.
 */
#define HOOK_MPI_LAYER_MESSAGES(layer)                                                             \
	HOOK_MPI_LAYER_SEND(layer)                                                                 \
	HOOK_MPI_LAYER_RECEIVE(layer)                                                              \
	HOOK_MPI_LAYER_EXCHANGE(layer)                                                             \
	HOOK_MPI_LAYER_PROBE(layer)                                                                \
	void layer##_install_messages(struct hook_mpi_calls *calls)                                \
	{                                                                                          \
		layer##_install_send(calls);                                                       \
		layer##_install_receive(calls);                                                    \
		layer##_install_exchange(calls);                                                   \
		layer##_install_probe(calls);                                                      \
	}

#define HOOK_MPI_LAYER_REQUESTS(layer)                                                             \
	HOOK_MPI_LAYER_START(layer)                                                                \
	HOOK_MPI_LAYER_RELEASE(layer)                                                              \
	HOOK_MPI_LAYER_COMPLETE(layer)                                                             \
	void layer##_install_requests(struct hook_mpi_calls *calls)                                \
	{                                                                                          \
		layer##_install_start(calls);                                                      \
		layer##_install_release(calls);                                                    \
		layer##_install_complete(calls);                                                   \
	}

/* Each makes the call that its struct stands for. */
int hook_mpi_complete(const struct hook_mpi_calls *mpi, const struct hook_mpi_completion *o);
int hook_mpi_receive(const struct hook_mpi_calls *mpi, const struct hook_mpi_receive *o);
int hook_mpi_send(const struct hook_mpi_calls *mpi, const struct hook_mpi_send *o);
int hook_mpi_exchange(const struct hook_mpi_calls *mpi, const struct hook_mpi_exchange *o);
int hook_mpi_probe(const struct hook_mpi_calls *mpi, const struct hook_mpi_probe *o);
int hook_mpi_start(const struct hook_mpi_calls *mpi, const struct hook_mpi_start *o);
int hook_mpi_release(const struct hook_mpi_calls *mpi, const struct hook_mpi_release *o);

extern const struct hook_mpi_mode *hook_mpi_mode;
extern const struct hook_mpi_mode hook_mpi_record, hook_mpi_replay;

/* MPI_Init chooses the mode. What a program calls before is a mistake, and replayed as one: true,
   and the event has begun in that mode. */
bool hook_mpi_began_early(struct hook_thread *t);
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
void hook_mpi_make_alone(MPI_Comm *created);

/* Receives that MPI is to be asked about at the end of each event, see requests.h. */
extern uint32_t hook_mpi_pending;

void hook_mpi_resolve_all(void *(*find)(const char *name));
void hook_mpi_resolve_handles(void *(*find)(const char *name));

/*
 * Of the wrapper through which this thread is inside MPI, 0 if it is not there; with
 * HOOK_MPI_PASSED, of a call that leaves no event. See left.c.
 */
#define hook_mpi_frame hook_here.mpi_frame
#define HOOK_MPI_PASSED 1u

/* In a wrapper where hook_depth is not 0: the call that it stands for was left, this is another. */
bool hook_mpi_left(const void *frame) __attribute__((cold));

/* Recording ends at the call at work, whose name comes before the reason. */
void hook_mpi_stop(struct hook_thread *t, const char *why);

static inline __attribute__((always_inline)) struct hook_thread *hook_mpi_enter(uint32_t call,
										const void *site)
{
	struct hook_thread *t = hook_self;

	hook_depth = 1;
	hook_mpi_frame = (uintptr_t)__builtin_frame_address(0);
	if (__builtin_expect(!t || !t->opened, 0)) {
		t = hook_thread_self();
		hook_thread_open(t);
	}
	t->mpi.call = call;
	t->mpi.site = site;
	t->mpi.peer = HOOK_NO_PEER;
	hook_baton_leave(t);
	return t;
}

static inline void hook_mpi_leave(struct hook_thread *t)
{
	hook_baton_enter(t);
	hook_mpi_frame = 0;
	hook_depth = t->passive;
}

static inline __attribute__((always_inline)) void hook_mpi_digest(struct hook_thread *t, int peer,
								  int tag, uint64_t extra)
{
	t->mpi.digest = trace_call_digest(t->mpi.digest, t->mpi.call, peer, tag, extra);
}

/*
 * Recording must cost next to nothing. So its begin and end are inline here, for the case that the
 * event only has to be counted.
 */
static inline __attribute__((always_inline)) void hook_mpi_begin(struct hook_thread *t, int peer,
								 int tag, uint64_t extra)
{
	t->mpi.peer = peer;
	t->mpi.tag = tag;
	hook_mpi_digest(t, peer, tag, extra);
	if (HOOK_LIKELY(t->record.order.events + 1 < t->record.attention))
		trace_stream_begin_event(&t->record.order.stream, ++t->record.order.events,
					 (uint32_t)t->mpi.digest);
	else
		hook_mpi_mode->begin(t);
}

static inline __attribute__((always_inline)) void hook_mpi_end(struct hook_thread *t)
{
	if (HOOK_LIKELY(hook_mpi_mode == &hook_mpi_record) && HOOK_LIKELY(!hook_mpi_pending) &&
	    HOOK_LIKELY(!t->passive))
		trace_stream_set_events(&t->record.order.stream, t->record.order.events, false);
	else
		hook_mpi_mode->end(t);
}

/*
 * If several threads may be inside MPI, their posts take turns: take, post, pass. Nothing may block
 * between take and pass. See turn.c.
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

/* Only where another thread may be inside MPI. */
static inline void hook_mpi_lock(struct hook_lock *l)
{
	if (hook_mpi_turns)
		hook_lock_take(l);
}

static inline void hook_mpi_unlock(struct hook_lock *l)
{
	if (hook_mpi_turns)
		hook_lock_give(l);
}

/* The status of a call that the program may not want. */
static inline MPI_Status *hook_mpi_wanted(MPI_Status *status, MPI_Status *ignored)
{
	return status == MPI_STATUS_IGNORE ? ignored : status;
}

/* The class of an error, which is all that MPI promises of it. */
static inline int hook_mpi_class(int rc)
{
	int class = rc;

	if (rc != MPI_SUCCESS)
		hook_mpi_real.Error_class(rc, &class);
	return class;
}

/* Was it cancelled? Only to be asked where MPI_Cancel was called. */
static inline bool hook_mpi_is_cancelled(bool was_called, const MPI_Status *status)
{
	int cancelled = 0;

	if (was_called)
		hook_mpi_real.Test_cancelled(status, &cancelled);
	return cancelled;
}

/* A random delay, if the user asked for noise. */
void hook_mpi_noise(struct hook_thread *t);

/* Room for n bytes that lasts until the next call with the same `which`. */
void *hook_mpi_scratch(struct hook_thread *t, int which, size_t n);

/* The key of a request in a table; messages have odd ones. */
static inline uint64_t hook_mpi_key(MPI_Request handle)
{
	return (uint64_t)(uintptr_t)handle << 1;
}

static inline uint64_t hook_mpi_message_key(MPI_Message handle)
{
	return (uint64_t)(uintptr_t)handle << 1 | 1;
}

/* A new entry under this key. Ends the replay if memory is out, for what there is to be said. */
void *hook_mpi_entry(struct hook_table *table, uint64_t key, const char *what);

/* The blocking calls, in a turn where threads take turns. Shared by the modes. */
int hook_mpi_receive_in_turn(struct hook_thread *t, struct hook_mpi_receive *o);
int hook_mpi_exchange_in_turn(struct hook_thread *t, struct hook_mpi_exchange *o);

/* The same as the blocking call, by polls, which let go of the core after a while. */
int hook_mpi_complete_by_polls(const struct hook_mpi_calls *mpi, struct hook_mpi_completion o);
int hook_mpi_probe_by_polls(const struct hook_mpi_calls *mpi, struct hook_mpi_probe o);

/* An exchange as two messages. If it replaces its buffer, the data to send are packed first. */
int hook_mpi_exchange_by_parts(const struct hook_mpi_calls *mpi, struct hook_thread *t,
			       const struct hook_mpi_exchange *o);
int hook_mpi_pack_first(struct hook_thread *t, struct hook_mpi_send *o);

/*
 * Packs what is to be sent behind `before` bytes of a mapping, from where it is to be sent then.
 * The mapping may be longer. If it fails *copy is NULL.
 */
int hook_mpi_pack_behind(const struct hook_mpi_calls *mpi, struct hook_mpi_send *o, size_t before,
			 void **copy, size_t *mapped);
/* The sending half of an Isendrecv from any source, see isendrecv.c. */
int hook_mpi_send_part(const struct hook_mpi_send *o);
/* Waits for all that is on its way: MPI is about to end. */
void hook_mpi_send_parts_close(void);

#endif
