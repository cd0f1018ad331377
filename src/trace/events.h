/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event streams: what the evaluate phase writes while it replays a run, and all that graph/ knows
 * of it. One stream per thread, in the order of its events, below graph/rank-NNNN/ of the trace
 * directory: `<thread>.events`, beside it `<thread>.sites`, the stacks that events name by number.
 * If the recording leaves outcomes out, there is also `<thread>.polls`: how many polls failed after
 * which events, in the encoding of order streams.
 *
 * Events are stored in blocks of columns. A column holds one field of all events of the block, as
 * differences from the expected values. Runs are counted, so that repetition costs nearly nothing.
 * A reader holds one block.
 *
 * Peers are ranks in MPI_COMM_WORLD, whatever the communicator. A process with several threads
 * inside MPI is one sequence of events: `seq` is their order (the order of their turns).
 *
 * The first events of a process name MPI_COMM_WORLD (communicator 1) and MPI_COMM_SELF. A call may
 * be several events of the same number: MPI_Sendrecv is SEND, RECV; Waitall a DONE for each
 * request; a constructor COLL on the parent, then COMM and NEIGHBOURs. Where not all of the parent
 * take part (Comm_create_group, Intercomm_create) COMM comes first and COLL is on the new
 * communicator.
 *
 * Where several threads may be inside MPI, calls that block are written as two events, their begin
 * (SEND, POST, ICOLL) and, if they can wait, their DONE: what other threads do meanwhile stands
 * between. So in the order of seq every event comes after all that it needs.
 */
#ifndef TRACE_EVENTS_H
#define TRACE_EVENTS_H

#include "trace/stream.h"

enum trace_event_kind {
	/* A message leaves: peer, tag, bytes; id of its request, 0 if the call blocks. */
	TRACE_EVENT_SEND = 1,
	/* A blocking receive: want_peer, want_tag; peer, tag, bytes = outcome. */
	TRACE_EVENT_RECV = 2,
	/*
	 * A receive is posted: want_peer, want_tag; id; peer = whose message it takes, if the
	 * recording says so: the run may end before its DONE. Isendrecv: SEND and POST of one id;
	 * of its outcome only what it wanted is known, and no bytes.
	 */
	TRACE_EVENT_POST = 3,
	/*
	 * The program learns that `id` has completed; of a receive: peer, tag, bytes = outcome. At
	 * most once for each id. Of an MPROBE: its Mrecv, or the completion of its Imrecv.
	 */
	TRACE_EVENT_DONE = 4,
	/* A probe that found: want_peer, want_tag; peer, tag, bytes = outcome. */
	TRACE_EVENT_PROBE = 5,
	/* The same, and the message is taken: from here on nobody else gets it; id. */
	TRACE_EVENT_MPROBE = 6,
	/*
	 * Waitany, Waitsome, Testany, Testsome: bytes = how many requests were active; id = how
	 * many DONE events of the same number follow.
	 */
	TRACE_EVENT_CHOICE = 7,
	/* A collective operation that blocks: peer = root or TRACE_NO_PEER; bytes = my part. */
	TRACE_EVENT_COLL = 8,
	/* One that begins; id; its DONE is the end. */
	TRACE_EVENT_ICOLL = 9,
	/*
	 * Receive `id` was cancelled, freed, or open at the end: the program sees no message of
	 * it. peer = TRACE_NO_PEER: it took none; else it takes the next one that matches it from
	 * there, as any receive would, should one come.
	 */
	TRACE_EVENT_CANCEL = 10,
	/*
	 * A communicator comes up: comm = its number from here on in this process; id = its name,
	 * the same in all its processes (MPI_COMM_SELF has one per process); bytes = its size (of
	 * the local group), want_peer = size of the remote group or 0; peer = my rank in it;
	 * want_tag = 1 if the lowest rank of an intercommunicator is on the other side, else 0.
	 */
	TRACE_EVENT_COMM = 11,
	/* Of a topology: comm; peer = a rank I get data from in neighbour collectives. */
	TRACE_EVENT_NEIGHBOUR = 12,
	TRACE_EVENT_KINDS = 13,
};

enum {
	TRACE_EVENT_SYNC = 1, /* a send that ends only when its receive has begun */
	TRACE_EVENT_POLL = 2, /* Iprobe, Test*: its being true is chance */
	/* The recording ends inside this call: there is no outcome, and DONE has not come yet. */
	TRACE_EVENT_INSIDE = 4,
	TRACE_EVENT_FAILED = 8, /* MPI returned an error; if peer is set, it took the message yet */
	TRACE_EVENT_FLAGS = 15
};

#define TRACE_ANY (-1)     /* want_peer, want_tag */
#define TRACE_NO_PEER (-2) /* MPI_PROC_NULL, or none */

struct trace_event {
	uint64_t number; /* of the thread's event, from 1; the E of R.T@E */
	uint64_t seq;    /* among the events of the process, from 1; there may be gaps */
	uint64_t time;   /* nanoseconds since the evaluation began */
	uint64_t id;     /* of a request: unique in the process, from 1; 0 for none */
	uint64_t bytes;
	int32_t peer, tag;
	int32_t want_peer, want_tag;
	uint32_t comm; /* number in this process, as TRACE_EVENT_COMM gave it */
	uint32_t site; /* number in the sites stream, from 1; 0 if unknown */
	uint16_t call; /* trace/calls.h */
	uint8_t kind;
	uint8_t flags;
};

#define TRACE_EVENT_BLOCK 256 /* events at most */
#define TRACE_EVENT_COLUMNS 13
#define TRACE_EVENT_SLOTS 256
/* The longest block: its count, and columns of runs of one with a number of ten bytes. */
#define TRACE_EVENT_BLOCK_BYTES (4 + TRACE_EVENT_COLUMNS * TRACE_EVENT_BLOCK * 12)

/*
 * The model of what comes next; writer and reader keep the same one. It holds, by call site and
 * kind, what followed last time; and, by these of the event and of the one before, what the fields
 * were.
 */
struct trace_events_model {
	uint64_t last[TRACE_EVENT_COLUMNS];
	struct {
		uint64_t next;
		uint64_t step;
		uint64_t value[TRACE_EVENT_COLUMNS];
	} slot[TRACE_EVENT_SLOTS];
};

/* The writer lives in the user's program: memory is the caller's, nothing is allocated. */
struct trace_events_writer {
	struct trace_stream stream;
	uint64_t events; /* written, not counting those in the block */
	uint32_t count;  /* in the block */
	bool busy;       /* an event is being put: a signal handler must keep out */
	struct trace_events_model model;
	uint64_t column[TRACE_EVENT_COLUMNS][TRACE_EVENT_BLOCK];
	uint8_t bytes[TRACE_EVENT_BLOCK_BYTES];
};

int trace_events_create(struct trace_events_writer *w, int dirfd, const char *name, uint32_t rank,
			uint32_t process, const char *thread) __attribute__((warn_unused_result));
/*
 * 0 or -errno (the disk is full). The event may be kept in memory until the block is full; an event
 * that was accepted will find room.
 */
int trace_events_put(struct trace_events_writer *w, const struct trace_event *event)
	__attribute__((warn_unused_result));
/* -EBUSY in a signal handler that came between the stores of a put. */
int trace_events_flush(struct trace_events_writer *w) __attribute__((warn_unused_result));
/* Flush first: what is left in the block is lost. */
void trace_events_close(struct trace_events_writer *w);

struct trace_events_reader {
	struct trace_view view; /* view.events: how many there are */
	uint64_t pos;
	uint32_t count, next;
	struct trace_events_model model;
	uint64_t column[TRACE_EVENT_COLUMNS][TRACE_EVENT_BLOCK];
	struct trace_event event;
};

/* As trace_view_open. */
int trace_events_open(struct trace_events_reader *r, int dirfd, const char *name, const char **why)
	__attribute__((warn_unused_result));
/* 1 and *event (valid until the next call), 0 at the end, -EBADMSG if the bytes make no sense. */
int trace_events_next(struct trace_events_reader *r, const struct trace_event **event)
	__attribute__((warn_unused_result));
void trace_events_reader_close(struct trace_events_reader *r);

/*
 * Sites. A stack is a list of return addresses, innermost first, as they were in the process; ASLR
 * is off, so they are those of the recording, too.
 */
#define TRACE_SITE_DEPTH 16

int trace_sites_put(struct trace_stream *s, const uint64_t address[], uint32_t depth)
	__attribute__((warn_unused_result));

struct trace_sites {
	struct trace_view view;
	uint32_t count;
	uint64_t *start; /* where each begins; malloc'd */
};

int trace_sites_open(struct trace_sites *s, int dirfd, const char *name, const char **why)
	__attribute__((warn_unused_result));
/* The depth (0 if there is no such site); address[] has room for TRACE_SITE_DEPTH. */
uint32_t trace_sites_get(const struct trace_sites *s, uint32_t site, uint64_t address[]);
void trace_sites_close(struct trace_sites *s);

#endif
