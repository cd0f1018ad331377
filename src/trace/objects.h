/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of a thread's synchronisation operations. An evaluation writes one stream per thread,
 * `<thread>.objects` beside its `.sites`. It holds complete accounts, one after the other; the last
 * one that has its END is valid. An account is BEGIN, an OP for each operation that occurs, then
 * each OBJECT followed by its USEs, and END.
 *
 * The stacks of calls that initialise objects are in `made.sites` of the process. All other sites
 * are numbers in the thread's own stream.
 */
#ifndef TRACE_OBJECTS_H
#define TRACE_OBJECTS_H

#include "trace/stream.h"

enum trace_objects_kind {
	TRACE_OBJECTS_BEGIN = 0,
	TRACE_OBJECTS_OP = 1,
	TRACE_OBJECTS_OBJECT = 2,
	TRACE_OBJECTS_USE = 3,
	TRACE_OBJECTS_END = 4,
	TRACE_OBJECTS_KINDS = 5,
};

#define TRACE_OBJECTS_TEXT 48
#define TRACE_OBJECTS_VALUES 7

struct trace_objects_rec {
	uint32_t kind;
	union {
		uint64_t value[TRACE_OBJECTS_VALUES];
		struct {
			uint64_t start; /* its routine; 0: the main thread */
			uint64_t ops;
		} begin; /* text[0]: its name, as the kernel knows it */
		struct {
			uint64_t number;
		} op; /* text[0]: its name, text[1]: what kind of object it is on */
		struct {
			uint64_t id; /* the same in all threads of the process */
			uint64_t address;
			uint64_t made;       /* site in made.sites, 0 if nobody initialised it */
			uint64_t version;    /* that it had when the thread first took it, or 0 */
			uint64_t first_site; /* of the thread's first use */
		} object;                    /* text[0]: its name, if it has one */
		struct {
			uint64_t op;
			uint64_t site;
			uint64_t count;
			uint64_t handed;    /* another thread had taken it since */
			uint64_t failed;    /* took nothing: failed tries and time-outs */
			uint64_t predicted; /* cost no byte */
			uint64_t bytes;     /* of the trace */
		} use;
	};
	char text[2][TRACE_OBJECTS_TEXT];
};

/* 0 or -errno. No malloc: called in the user's program. */
int trace_objects_put(struct trace_stream *s, const struct trace_objects_rec *rec)
	__attribute__((warn_unused_result));

struct trace_objects_reader {
	struct trace_view view;
	uint64_t pos, end; /* of the account */
};

/* As trace_view_open. A stream without a whole account has no records. */
int trace_objects_open(struct trace_objects_reader *r, int dirfd, const char *name,
		       const char **why) __attribute__((warn_unused_result));

/* 1, or 0 at the end. Names of operations and objects come before they are used. */
int trace_objects_next(struct trace_objects_reader *r, struct trace_objects_rec *rec);
void trace_objects_close(struct trace_objects_reader *r);

#endif
