/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meta.json and rank-NNNN/start.json. Both are written whole, to a temporary name that is then
 * renamed, and end in "check" over the rest. Strings may hold any bytes: what is not UTF-8 is
 * written as {"hex": "…"}. A reader gets either a whole, checked struct or one sentence.
 */
#ifndef TRACE_META_H
#define TRACE_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/dir.h"

enum trace_ended { TRACE_ENDED_UNKNOWN = 0, TRACE_ENDED_EXIT = 1, TRACE_ENDED_SIGNAL = 2 };

struct trace_meta {
	char *version; /* of Reprise */
	char **argv;   /* as given to `reprise record`, NULL at the end */
	char *mpi;  /* "openmpi", "mpich", "none", or "" if unknown: what the launcher suggests */
	bool front; /* reprise stood before the launcher */
	char **env; /* of the front, for the launcher; NULL if it was not kept */
	char *cwd;
	char *host;
	char *place; /* of the trace directory when it was made; NULL if it was not kept */
	char *start; /* 2026-01-31T12:00:00Z */
	bool noisy;
	uint64_t noise;
	bool system_heap; /* --heap=system: malloc is libc's */
	uint32_t threads; /* enum trace_threads */
	uint32_t tracing; /* enum trace_mode that was asked for */
	enum trace_ended ended;
	int status; /* exit status or signal */
	double seconds;
	char *origin;    /* how the run came about if it was not just recorded; or NULL */
	bool sealed;     /* reading: this user wrote it */
	unsigned format; /* reading: TRACE_VERSION of its writer */
};

struct trace_start {
	unsigned rank;
	char **argv;
	char **env;
	char *cwd;
	char *host;
	char *program;  /* resolved, absolute */
	char *build_id; /* launch_build_id() */
	char *mpi;      /* the hook library: "openmpi", "mpich", "none" */
	char *input;    /* standard input was: "kept", "empty", "terminal", "closed", "other" */
	uint64_t stack; /* bytes of the initial stack that arguments and environment take */
	bool sealed;    /* reading: this user wrote it */
};

int trace_meta_write(const struct trace_dir *dir, const struct trace_meta *meta)
	__attribute__((warn_unused_result)); /* 0 or -errno */

/* 0, or the exit code after saying why not. */
int trace_meta_read(const struct trace_dir *dir, struct trace_meta *meta)
	__attribute__((warn_unused_result));
void trace_meta_free(struct trace_meta *meta);

int trace_start_write(int rankfd, const struct trace_start *start)
	__attribute__((warn_unused_result)); /* 0 or -errno */
int trace_start_read(const struct trace_dir *dir, unsigned rank, struct trace_start *start)
	__attribute__((warn_unused_result));
void trace_start_free(struct trace_start *start);

#endif
