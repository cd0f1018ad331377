/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluation: a replay that also writes down every communication event (trace/events.h). What its
 * files share. evaluate.c: threads and their streams; note.c: the events of a call; complete.c:
 * those of requests, and which request is what; comms.c: communicators, their names and whose rank
 * is whose. Where a call comes from: hook/thread/evaluate/stacks.c.
 */
#ifndef HOOK_MPI_EVALUATE_H
#define HOOK_MPI_EVALUATE_H

#include "hook/mpi/object/batch.h"
#include "hook/kit/table.h"
#include "trace/events.h"

/* One per thread. */
struct evaluate {
	struct evaluate *next;
	struct hook_lock locked; /* another thread may want to flush */
	struct hook_mpi_act act;
	bool last;               /* the recording ends inside the call: its events are written */
	uint64_t number;         /* of the call at work */
	uint32_t site;           /* of the call at work */
	uint64_t time;           /* when it began */
	uint64_t seq;            /* kept for the events of the call at work */
	uint32_t seqs;           /* how many are kept */
	struct hook_batch batch; /* of a call that completes requests */
	bool keep;               /* it leaves them as they are */
	uint32_t chosen;         /* how many have completed */
	uint64_t news;           /* of how many of them that is not written yet */
	struct trace_order_writer polls; /* its stream is opened by the first one */
	struct trace_events_writer events;
};

/* A call begins, or begins anew as an event once a poll has succeeded. */
struct evaluate *evaluate_begin(struct hook_thread *t, const struct hook_mpi_act *act);

/* An event of the call at work, with nothing else in it yet; comm and id may be 0. */
struct trace_event evaluate_event(const struct evaluate *e, uint32_t kind, uint32_t comm,
				  uint64_t id);

/* Numbers it and writes it. The begin of a call has its number from before the call. */
void evaluate_put(struct evaluate *e, struct trace_event *event);

/* Writes what is kept: nobody may come back. */
void evaluate_flush(struct evaluate *e);

/* The call can no longer be affected by others: what is put now is its end. */
void evaluate_ends(struct evaluate *e);

/* Memory that stays; ends the replay if there is none. */
void *evaluate_memory(size_t size);

/* Requests, by handle. A handle may stand for several that MPI does not tell apart. */
enum {
	EVALUATE_PERSISTENT = 1,
	EVALUATE_ACTIVE = 2,
	EVALUATE_SEEN = 4,   /* its DONE is written */
	EVALUATE_CANCEL = 8, /* MPI_Cancel was called */
	EVALUATE_SYNC = 16,
	EVALUATE_MUTE = 32, /* its status says nothing: MPICH's Isendrecv from a source */
};

struct evaluate_group;

struct evaluate_request {
	struct hook_entry entry;
	uint64_t id;
	uint64_t bytes;
	const struct evaluate_group *peers; /* of its communicator */
	uint32_t comm;
	int32_t peer, tag; /* where it goes, or what it wants */
	uint8_t kind;      /* SEND, POST, ICOLL or MPROBE */
	uint8_t flags;
};

/* One that is gone has the kind 0. */
extern struct hook_table evaluate_requests;
extern uint32_t evaluate_persistent; /* how many of them are */

extern struct hook_lock evaluate_requests_locked;
uint64_t evaluate_next_id(void);
/* Copies *r in. */
void evaluate_request_add(uint64_t key, const struct evaluate_request *r);
/* One that was taken out of the table. */
void evaluate_request_drop(uint32_t index);

/* Communicators. */
struct evaluate_comm {
	struct hook_entry entry;
	MPI_Comm handle;
	uint32_t number;
	uint64_t name;
	int size, remote, rank;
	bool second; /* the lowest rank of an intercommunicator is on the other side */
	const struct evaluate_group *local, *peers;
};

/*
 * NULL for MPI_COMM_NULL. One that was never seen gets a name and an event, but NULL if it is not
 * valid: it may not even be a communicator.
 */
const struct evaluate_comm *evaluate_comm(struct evaluate *e, MPI_Comm handle, bool valid);
void evaluate_comms_open(struct evaluate *e);
/*
 * A constructor has returned `created`. Either all of `parent` called it, or only the new members,
 * with a tag.
 */
void evaluate_comm_created(struct evaluate *e, MPI_Comm parent, MPI_Comm created);
void evaluate_comm_created_by_group(struct evaluate *e, int tag, MPI_Comm created);
/* Not complete yet, but it will be a copy. */
void evaluate_comm_copied(struct evaluate *e, MPI_Comm parent, MPI_Comm created);
void evaluate_comm_freed(MPI_Comm handle);

/* A rank of a communicator as events have it. */
int32_t evaluate_peer(const struct evaluate_group *peers, int rank);

/* The events of the call at work, which has returned or will not; status: of a receive. */
void evaluate_note(struct evaluate *e, int rc, const MPI_Status *status);

/* The same of a call that starts requests; and before one that frees or cancels one. */
void evaluate_note_starts(struct evaluate *e);
void evaluate_note_free(struct evaluate *e);
void evaluate_note_cancel(struct evaluate *e);

int evaluate_complete(struct hook_thread *t, const struct hook_mpi_completion *o);
/* What a receive has got. */
void evaluate_outcome(struct trace_event *event, const struct evaluate_group *peers, int rc,
		      const MPI_Status *status);
/* Whose message the receive that was posted as `handle` takes, if the recording says so. */
int32_t evaluate_taken_from(const struct evaluate_request *r, MPI_Request handle);
/* Receives that nobody will complete: the program does not see what they take. */
void evaluate_cancel_open(struct evaluate *e);

#endif
