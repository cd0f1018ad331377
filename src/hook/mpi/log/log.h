/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What MPI gives a rank, as data: a layer below the replay that writes it to a log (this room), and
 * another one that takes it from there (recover/). Since the replay above makes both see the same
 * calls in the same order, a thread's log is one sequence, and needs no keys.
 * stream.c: a thread's log. block.c: contents of memory. result.c: what a collective operation
 * gives. orphans.c: requests that were freed. wants.c: requests, and what they will give. layer.c,
 * collective.c, comm.c: the layer.
 */
#ifndef HOOK_MPI_LOG_H
#define HOOK_MPI_LOG_H

#include "hook/mpi/call/mpi.h"
#include "hook/kit/table.h"
#include "trace/log.h"

/* One per thread. */
struct hook_log {
	struct trace_log_writer writer;
	struct trace_log_reader reader;
	struct trace_log_rec next; /* recover: the record to come */
	bool more;                 /* there is one */
	bool opened;
	bool ended;       /* no more is written: there is no room for it */
	uint64_t event;   /* that answers are counted in */
	uint32_t answers; /* of the event so far */
	bool gone;        /* recover: MPI had freed the persistent request that failed last */
	int inside;       /* a call is being made: what MPI calls then is not the program's */
};

/* The log of the calling thread, or NULL: it is none of the program's, or a call is inside. */
struct hook_log *hook_log_self(void);

/* The directory of this rank's log. */
int hook_log_directory(void);

/* The number of the next answer of the event at work. */
uint32_t hook_log_answer(struct hook_log *log);

/*
 * Writing. Whatever fails ends the replay. Once the rank has no room left, a thread that has more
 * to write says so where the log is, with the event, and its log ends there.
 */
void hook_log_limit(void); /* reads how much room there is */
void hook_log_put(struct hook_log *log, struct trace_log_rec *rec);
void hook_log_contents(struct hook_log *log, const void *bytes, size_t n);
void hook_log_error(struct hook_log *log, int rc);

/* The program uses what a rank alone cannot: it is said where the log is, and no more is written.
 */
void hook_log_refuse(const char *what);
/* Ends the process: what is logged, or sent again, cannot be. */
void __attribute__((noreturn)) hook_log_fail(const char *what, const char *why);
extern bool hook_log_refused;

/* Reading: the record to come, which must be of this kind and event; else the replay ends. */
struct trace_log_rec hook_log_take(struct hook_log *log, uint32_t kind);
/* An error, if that is the answer that comes now; and is it? */
bool hook_log_is_error(const struct hook_log *log);
bool hook_log_take_error(struct hook_log *log, uint32_t kind, int *rc);

/* A place in memory. */
struct hook_block {
	void *buf;
	MPI_Count count;
	MPI_Datatype type;
};

/* How many bytes it is as contents. */
uint64_t hook_block_bytes(const struct hook_block *b);
void hook_block_write(struct hook_log *log, const struct hook_block *b);
/* From the contents; how many bytes of them it took. */
uint64_t hook_block_read(const struct hook_block *b, const uint8_t *from, uint64_t there);
/*
 * Its contents, piece by piece: as the log has them, or `packed` in the order of the type, which is
 * the same for sender and receiver.
 */
typedef void hook_block_piece(void *context, const void *bytes, size_t n);
void hook_block_each(const struct hook_block *b, bool packed, hook_block_piece *piece,
		     void *context);
/* From what was packed so. */
void hook_block_unpack(const struct hook_block *b, const uint8_t *from, uint64_t there);
/* The part of a receive's place that so many bytes are in. */
struct hook_block hook_block_part(const struct hook_block *b, uint64_t bytes);
/* A type of ours like it, which stays when the program frees its own; MPI_Type_free ends it. */
void hook_type_keep(MPI_Datatype *type);
/* True if the type is MPI's own, and so needs not be kept. */
bool hook_type_is_named(MPI_Datatype type);

/* What a collective operation gives a rank: one block, or several. */
struct hook_result {
	int blocks;
	bool wide;             /* counts are MPI_Count, displacements MPI_Aint */
	bool aints;            /* displacements are MPI_Aint */
	bool bytes;            /* displacements are in bytes */
	struct hook_block one; /* its type is that of all, if types is NULL */
	const void *counts, *displacements;
	const MPI_Datatype *types;
	void *room; /* copies of these */
	size_t room_bytes;
};

void hook_result_write(struct hook_log *log, const struct hook_result *r);
void hook_result_read(struct hook_log *log, const struct hook_result *r);
/* For one that only begins: the caller's arrays and types may go. */
void hook_result_keep(struct hook_result *r);
void hook_result_drop(struct hook_result *r);

enum {
	HOOK_WANT_SEND = 1,
	HOOK_WANT_MESSAGE = 2,
	HOOK_WANT_RESULT = 4,
	HOOK_WANT_PERSISTENT = 8,
	HOOK_WANT_ACTIVE = 16,
	HOOK_WANT_CANCEL = 32, /* MPI_Cancel was called */
	HOOK_WANT_KEPT = 64,   /* block.type is a copy of ours */
};

/* A request: what completes it gives this. */
struct hook_want {
	struct hook_entry entry;
	uint32_t flags;
	int dest; /* of a prepared send, whose block is what it sends */
	MPI_Comm comm;
	struct hook_block block;
	struct hook_result result;
};

extern struct hook_table hook_wants;
extern struct hook_lock hook_wants_locked;
/* Ends the replay if memory is out. */
struct hook_want *hook_want_add(MPI_Request handle, uint32_t flags);
struct hook_want *hook_want_find(MPI_Request handle);
struct hook_want *hook_want_at(uint32_t index);
/* Its place; the caller has to free the type. */
struct hook_block hook_want_block(struct hook_want *w);
/* Its index, and the handle does not lead to it any more; 0 if there is none. */
uint32_t hook_want_take(MPI_Request handle);
void hook_want_put_back(uint32_t index);
void hook_want_drop(uint32_t index);
/* A receive into `b`, posted or prepared. */
void hook_want_message(MPI_Request handle, uint32_t flags, const struct hook_block *b,
		       MPI_Comm comm);
void hook_want_send(MPI_Request handle, const struct hook_mpi_send *o);
void hook_want_result(MPI_Request handle, uint32_t flags, struct hook_result *r, MPI_Comm comm);

/* Flags of a request by how it was posted. */
static inline uint32_t hook_want_flags(enum hook_mpi_post post)
{
	return post == HOOK_PREPARED ? HOOK_WANT_PERSISTENT : HOOK_WANT_ACTIVE;
}

/* A request that is ours to complete; and the end of it: the handle becomes MPI_REQUEST_NULL. */
void hook_stand_in(MPI_Request *request);
void hook_stand_in_end(MPI_Request *request);

/* Receives that were freed while they were open: log/orphans.c. Takes the block's type. */
void hook_orphan_add(const struct hook_block *b, MPI_Request request);
/* Before a call returns by which the program may have learnt of what they took. */
void hook_orphans_look(struct hook_log *log);
void hook_orphan_read(const struct trace_log_rec *rec);
void hook_orphans_free(void);

/* The logging layer: what the replay asks MPI for from now on is written down. */
void hook_log_open(struct hook_thread *t);
void hook_log_collectives(struct hook_mpi_calls *mpi);
void hook_log_comms(struct hook_mpi_calls *mpi);
extern struct hook_mpi_calls hook_log_below;

/* A call of that layer: what it calls in turn is not logged. Then come statements that log what it
   gave, once its error is. */
#define HOOK_LOG_CALL(name, parameters, arguments, ...)                                            \
	static int log_##name parameters                                                           \
	{                                                                                          \
		struct hook_log *log = hook_log_self();                                            \
		int rc;                                                                            \
                                                                                                   \
		if (!log)                                                                          \
			return hook_log_below.name arguments;                                      \
		log->inside++;                                                                     \
		rc = hook_log_below.name arguments;                                                \
		hook_log_error(log, rc);                                                           \
		__VA_ARGS__;                                                                       \
		log->inside--;                                                                     \
		return rc;                                                                         \
	}

/* The serving layer: nothing of what the replay asks for reaches MPI that would communicate. */
void hook_recover_open(struct hook_thread *t);

#endif
