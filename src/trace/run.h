/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded run for readers: every rank and stream of a trace, summed up. Streams are opened one
 * at a time, so large traces and many ranks cost time, not memory. Damage is not a failure here: it
 * is part of the answer.
 */
#ifndef TRACE_RUN_H
#define TRACE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/dir.h"
#include "trace/format.h"
#include "trace/meta.h"
#include "trace/unseen.h"

struct trace_run_stream {
	char *name;
	char *thread;
	uint32_t process;
	uint32_t kind; /* enum trace_stream_kind */
	bool is_file;  /* else it is in one of those of its process, see trace/shelf.h */
	uint32_t pid;
	const char *damage; /* NULL, or a sentence part: "is cut: …"; the rest is 0 then */
	uint64_t bytes;     /* committed */
	uint64_t events;
	bool inside;                   /* died inside the last event */
	uint64_t records[TRACE_KINDS]; /* of an order stream, by kind */
	uint64_t inputs;               /* of an input stream: values */
	uint64_t files, kept;          /* of a files stream: files read; to be kept */
	uint64_t syncs;                /* of a sync stream: operations */
	uint64_t unpredicted;          /* of these, those that have a record */
	uint64_t printed;              /* of an output stream: bytes on standard output and error */
	uint64_t wildcards;            /* outcomes that name a source */
	uint64_t polls;                /* failed ones */
	uint32_t world;                /* size of MPI_COMM_WORLD, 0 if never learnt */
	uint32_t mode;                 /* enum trace_mode */
	uint32_t end;                  /* enum trace_end, 0 if there is none */
	uint64_t end_value;
	uint32_t stop; /* enum trace_stop, 0 if there is none */
	uint64_t stop_value;
	uint64_t stop_event;
};

struct trace_run_rank {
	unsigned rank;
	bool has_start;
	struct trace_start start;
	bool damaged; /* start.json, the directory, or a stream, which may be missing */
	struct trace_run_stream *stream;
	size_t streams;
	const char *missing;         /* a stream that must have been there, or NULL */
	char **notes;                /* "key=value", NULL at the end */
	struct trace_unseen *unseen; /* what is not in the recording */
	size_t unseens;
	const char *unseen_damage; /* of the file that tells that, or NULL */
	/* Sums over the streams that can be read. */
	size_t processes;
	size_t threads;
	uint64_t events; /* of all threads */
	uint64_t outcomes;
	uint64_t wildcards;
	uint64_t polls;
	uint64_t inputs;
	uint64_t files, kept; /* files read, and of which copies were to be kept */
	uint64_t printed;     /* bytes on standard output and error */
	uint64_t syncs;       /* synchronisation operations of threads */
	uint64_t unpredicted;
	uint64_t bytes[TRACE_STREAM_KINDS]; /* committed, by kind of stream */
	uint32_t world;
	uint32_t mode;
	const struct trace_run_stream *last; /* of the thread that ended the rank; may be NULL */
	const struct trace_run_stream *stop; /* the stream that stopped first; may be NULL */
};

struct trace_run {
	struct trace_dir dir;
	bool has_meta;
	struct trace_meta meta;
	struct trace_run_rank *rank;
	size_t ranks;
	bool contiguous;
	size_t damaged; /* files that cannot be read or are missing */
};

/*
 * Opens and sums up a trace; NULL means the latest. Damaged files of JSON are named on stderr as
 * they are met, damaged streams only noted. 0, or the exit code if there is no trace to speak of.
 */
int trace_run_open(struct trace_run *run, const char *path) __attribute__((warn_unused_result));
void trace_run_close(struct trace_run *run);

/* Each process of a rank has one such stream, which it makes first. */
bool trace_run_is_of_process(const struct trace_run_stream *s);

/* The sums of all ranks; every other member of *sum is 0. */
void trace_run_total(const struct trace_run *run, struct trace_run_rank *sum);

/*
 * NULL if the trace has all of the run, up to where recording ended, in a format that can be
 * replayed. Otherwise a part of a sentence that says what is missing; the caller frees. Damaged and
 * missing files are not checked here.
 */
char *trace_run_gap(const struct trace_run *run);

/* enum trace_mode: what is written of wildcards, by the first rank that got through MPI_Init. */
uint32_t trace_run_mode(const struct trace_run *run);

/* NULL if all of it can be replayed; otherwise a sentence part saying why not; the caller frees. */
char *trace_run_obstacle(const struct trace_run *run);

/* Something that is not in the recording, of all ranks together. */
struct trace_run_unseen {
	const struct trace_unseen *first; /* of the lowest rank */
	unsigned rank;                    /* that one */
	size_t ranks;                     /* how many have it */
	uint64_t count;
};

/* All of them, each key once; the caller frees the list. */
struct trace_run_unseen *trace_run_unseen(const struct trace_run *run, size_t *n);

/* "io_uring, since 0@12, 3 times"; the caller frees. */
char *trace_run_unseen_words(const struct trace_run_unseen *u);

/*
 * How the rank ended, in words: "exit 0", "killed by SIGSEGV". With `exact` event numbers are
 * named; without, ranks that ended alike give the same words. The caller frees.
 */
char *trace_run_rank_end(const struct trace_run *run, const struct trace_run_rank *rank,
			 bool exact);

#endif
