/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives in flight, by request handle. Every receive that the program posts has a number (all
 * posts counted) and, if it is a wildcard, a second one among wildcards: the key under which its
 * source is recorded. Open wildcards are also kept in the order of their posts.
 *
 * hook_requests_lock() around any use.
 */
#ifndef HOOK_REQUESTS_H
#define HOOK_REQUESTS_H

#include "hook/mpi/call/mpi.h"
#include "hook/kit/table.h"

enum {
	REQUEST_WILD = 1,       /* posted with MPI_ANY_SOURCE */
	REQUEST_PERSISTENT = 2, /* from Recv_init */
	REQUEST_ACTIVE = 4,
	REQUEST_KNOWN = 8,     /* its source is written already */
	REQUEST_CANCEL = 16,   /* MPI_Cancel was called */
	REQUEST_ORPHAN = 32,   /* the program freed it while active */
	REQUEST_NOWHERE = 64,  /* replay: posted where nothing can match */
	REQUEST_BUSY = 128,    /* a thread is completing it: see hook_requests_take */
	REQUEST_PENDING = 256, /* matched, but MPI could not tell its source yet */
	REQUEST_DONE = 512,    /* completed with others, and its turn has not come: MPI knows it no
				  more */
	REQUEST_FAILED = 1024, /* replay: with an error by which MPI frees a persistent one */
	REQUEST_OUT = 2048,    /* it has left the table while it is busy */
};

struct hook_request {
	struct hook_entry entry;
	MPI_Request handle;
	uint32_t flags;
	struct hook_request *next, *previous; /* open wildcards in the order of their posts */
	uint64_t post;                        /* number among all receives */
	uint64_t wild;                        /* number among wildcards */
	struct hook_mpi_receive want;         /* what the program asked for */
	MPI_Request proxy; /* what a mode has started in its place, or MPI_REQUEST_NULL */
};

/* Whoever has it may take it again: MPI is called with it, and layers look requests up, too. */
void hook_requests_lock(void);
void hook_requests_unlock(void);

/* A receive was posted, or prepared; one that is posted has these flags, too. Locks by itself.
   False: memory is out. */
bool hook_requests_begin(const struct hook_mpi_receive *o, uint32_t flags);
struct hook_request *hook_requests_find(MPI_Request handle);
void hook_requests_remove(struct hook_request *r);

/* A prepared one may be started in another way than by its handle: its type must last. Locks by
   itself. */
void hook_requests_keep(MPI_Request handle);

/* The numbers that the next post will get. */
uint64_t hook_requests_next_post(void);
uint64_t hook_requests_next_wild(void);

/* A wildcard that is not posted takes a number, too. */
uint64_t hook_requests_number_wild(void);

/* Gives r its numbers; an open wildcard joins the list. */
void hook_requests_post(struct hook_request *r);

/* r has completed: a persistent one becomes inactive, any other is removed. */
void hook_requests_retire(struct hook_request *r);

/*
 * MPI frees a handle when it completes, and a thread that posts may get it at once. So, where
 * threads take turns, the entries of a completion call leave the table before it: taken[i] stands
 * for requests[i], 0 for none of interest. An entry that is retired must be zeroed there; the
 * others go back after the call. A persistent one keeps its handle, and so stays in the table.
 * Without turns handles do, and taken[] is not used.
 */
void hook_requests_take(int count, const MPI_Request requests[], uint32_t taken[]);
struct hook_request *hook_requests_taken(MPI_Request before, const uint32_t *taken);
void hook_requests_put_back(int count, const uint32_t taken[]);

/* The list of open wildcards whose source is not written, oldest first. */
struct hook_request *hook_requests_first_open(void);
struct hook_request *hook_requests_next_open(const struct hook_request *r);
void hook_requests_close(struct hook_request *r);

/* Marks an open one to be asked again, until it is closed; hook_mpi_pending counts them. */
void hook_requests_pend(struct hook_request *r);

/* The active one with that number among all receives, or NULL; looks at all of them. */
struct hook_request *hook_requests_of_post(uint64_t post);

/* How many there are. */
uint32_t hook_requests_count(void);

#endif
