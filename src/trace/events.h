/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event streams: what the evaluate phase writes while it replays a run, and all that graph/ knows
 * of it. One stream per thread, in the order of its events, below graph/rank-NNNN/ of the trace
 * directory: `<thread>.events`, beside it `<thread>.sites`, the stacks that events name by number.
 *
 * Events are stored in blocks of columns: within a block each field of all events stands together,
 * as differences to the event before, so that a field that does not change costs nearly nothing. A
 * reader holds one block.
 *
 * Peers are ranks in MPI_COMM_WORLD, whatever the communicator. A process with several threads
 * inside MPI is one sequence of events: `seq` is their order (the order of their turns).
 */
#ifndef TRACE_EVENTS_H
#define TRACE_EVENTS_H

#include "trace/stream.h"

enum trace_event_kind {
	TRACE_EVENT_SEND = 1, /* a message leaves: peer, tag, bytes; id = 0 if the call blocks */
	TRACE_EVENT_RECV,  /* a blocking receive: want_peer, want_tag; peer, tag, bytes = outcome */
	TRACE_EVENT_POST,  /* a receive is posted: want_peer, want_tag; id */
	TRACE_EVENT_DONE,  /* the program learns that request `id` has completed; of a receive:
			      peer, tag, bytes = outcome */
	TRACE_EVENT_PROBE, /* a probe that found: want_peer, want_tag; peer, tag, bytes = outcome */
	TRACE_EVENT_MPROBE, /* the same, and the message is taken: from here on nobody else gets it
			     */
	TRACE_EVENT_CHOICE, /* Waitany, Waitsome, Testany, Testsome: bytes = how many requests were
			       active; id = how many DONE events of the same number follow */
	TRACE_EVENT_COLL,   /* a collective operation that blocks: peer = root or TRACE_NO_PEER */
	TRACE_EVENT_ICOLL,  /* one that begins; id; its DONE is the end */
	TRACE_EVENT_CANCEL, /* receive `id` was cancelled, freed before it completed, or the run
			       ended: it took no message that the program saw */
	TRACE_EVENT_COMM,   /* a communicator comes up: comm = its number from here on in this
			       process;   id = its name, the same in all its processes; bytes = its
			       size,   want_peer = size of the remote group or 0; peer = my rank in
			       it,   want_tag = 0, or 1 if my side of an intercommunicator is the second
			     */
	TRACE_EVENT_NEIGHBOUR, /* of a topology: comm; peer = a rank I get data from in neighbour
				  collectives */
	TRACE_EVENT_KINDS,
};

enum {
	TRACE_EVENT_SYNC = 1,   /* a send that ends only when its receive has begun */
	TRACE_EVENT_POLL = 2,   /* Iprobe, Test*: its being true is chance */
	TRACE_EVENT_INSIDE = 4, /* the recording ends inside this call */
	TRACE_EVENT_FAILED = 8, /* MPI returned an error */
};

#define TRACE_ANY (-1)     /* want_peer, want_tag */
#define TRACE_NO_PEER (-2) /* MPI_PROC_NULL, or none */

struct trace_event {
	uint64_t number; /* of the thread's event, from 1; the E of R.T@E */
	uint64_t seq;    /* among the events of the process, from 1 */
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

#define TRACE_EVENT_BLOCK 1024 /* events at most */

/* The writer lives in the user's program: memory is the caller's, nothing is allocated. */
struct trace_events_writer {
	struct trace_stream stream;
	uint32_t count;
	struct trace_event event[TRACE_EVENT_BLOCK];
};

int trace_events_create(struct trace_events_writer *w, int dirfd, const char *name, uint32_t rank,
			uint32_t process, const char *thread) __attribute__((warn_unused_result));
/* 0 or -errno (the disk is full); the event may be kept until the block is full. */
int trace_events_put(struct trace_events_writer *w, const struct trace_event *event)
	__attribute__((warn_unused_result));
int trace_events_flush(struct trace_events_writer *w) __attribute__((warn_unused_result));
void trace_events_close(struct trace_events_writer *w);

struct trace_events_reader {
	struct trace_view view;
	uint64_t pos;
	uint32_t count, next;
	struct trace_event event[TRACE_EVENT_BLOCK];
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
