/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace directory: naming, making, joining, finding, listing, removing. mkdir is the lock: a
 * directory belongs to the one who made it. Unless stated otherwise, a function returns 0 on
 * success. If it fails, it has said why in one sentence, and returns the exit code to end with.
 */
#ifndef TRACE_DIR_H
#define TRACE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_DIR_LATEST "reprise-latest"
#define TRACE_RANK_NAME_BYTES 16
#define TRACE_DIR_LONGEST 980 /* bytes of a path that processes of a run can be told */

struct trace_dir {
	char *path; /* absolute */
	char *show; /* as a person would type it from here */
	int fd;
	char *link;   /* reprise-latest, if this process pointed it here */
	char *before; /* where it pointed before; or NULL */
};

/*
 * Makes `wanted`, or reprise-<program>-<n> below $REPRISE_TRACE_DIR or the working directory if
 * wanted is NULL. Points reprise-latest at it. A reader that is given no name looks there: below
 * $REPRISE_TRACE_DIR or in the working directory, wherever the trace itself is.
 */
int trace_dir_create(struct trace_dir *dir, const char *wanted, const char *program)
	__attribute__((warn_unused_result));

/*
 * The same for ranks without a front. The first rank makes the directory and leaves `key` in it.
 * The others join the directory that has their key and not yet their rank. The rank's directory is
 * made. *first says whether this rank was the first.
 */
int trace_dir_join(struct trace_dir *dir, const char *wanted, const char *program, const char *key,
		   unsigned rank, bool *first) __attribute__((warn_unused_result));

/* Opens a trace to read; NULL means reprise-latest. */
int trace_dir_open(struct trace_dir *dir, const char *path) __attribute__((warn_unused_result));

/* Opens a directory that a front made, to add a rank to it: 0 or -errno, says nothing. */
int trace_dir_enter(struct trace_dir *dir, const char *path) __attribute__((warn_unused_result));
void trace_dir_close(struct trace_dir *dir);

/*
 * Removes everything in the directory and itself; 0 or -errno. If this process had pointed
 * reprise-latest here, the link gets its old target back.
 */
int trace_dir_remove(struct trace_dir *dir) __attribute__((warn_unused_result));

/* What lies in it by this name, if it does, and all below; 0 or -errno. */
int trace_dir_remove_part(struct trace_dir *dir, const char *name)
	__attribute__((warn_unused_result));

/*
 * The same as trace_dir_remove() for a trace that another process made: reprise-latest goes where
 * it would point to nothing.
 */
int trace_dir_delete(struct trace_dir *dir) __attribute__((warn_unused_result));

/* A process that records or replays the trace, or 0; of other users' processes nobody knows. */
int trace_dir_user(const struct trace_dir *dir);

/* Makes rank-NNNN and opens it: a descriptor, or -errno (-EEXIST: somebody else has that rank). */
int trace_dir_claim_rank(const struct trace_dir *dir, unsigned rank);

void trace_dir_rank_name(unsigned rank, char name[TRACE_RANK_NAME_BYTES]);

struct trace_ranks {
	unsigned *rank; /* sorted */
	size_t n;
	bool contiguous; /* 0 … n-1 */
};

int trace_dir_ranks(const struct trace_dir *dir, struct trace_ranks *ranks)
	__attribute__((warn_unused_result));
void trace_ranks_free(struct trace_ranks *ranks);

/*
 * One stream file of a rank directory: "0.order", "0.2.input", "0.heap", "0.output", "p1-0.order",
 * "stdin"; below graph/, opened as a trace_dir of its own, "0.events", "0.sites", "0.objects".
 */
struct trace_stream_name {
	char *name;
	uint32_t process;
	char *thread;  /* "0", "0.2"; "" for stdin */
	uint32_t kind; /* enum trace_stream_kind */
	bool is_file;  /* else it is in one of these, see trace/shelf.h */
};

struct trace_streams {
	struct trace_stream_name *stream; /* sorted by process, thread, kind */
	size_t n;
};

/* *rankfd is the rank's directory, to open the streams from; the caller closes it. */
int trace_dir_streams(const struct trace_dir *dir, unsigned rank, struct trace_streams *streams,
		      int *rankfd) __attribute__((warn_unused_result));
void trace_streams_free(struct trace_streams *streams);

#endif
