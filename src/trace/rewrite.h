/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a trace from another one: the same run with other order streams. Either only the wanted
 * outcomes of wildcards are kept, and guide streams may be put beside the order streams. Or, the
 * other way round, all outcomes that were left out are put in. All other files are copied.
 */
#ifndef TRACE_REWRITE_H
#define TRACE_REWRITE_H

#include "trace/order.h"
#include "trace/run.h"

struct trace_rewrite_mark {
	uint64_t event;
	uint32_t kind; /* enum trace_guide_kind */
	uint64_t a, b;
};

/* What a thread saw at an event; for TRACE_FAIL, between it and the next one. */
struct trace_rewrite_outcome {
	uint64_t event;
	uint64_t a;
	uint64_t post; /* of TRACE_POST */
	uint32_t kind; /* SRC, LOOK, HIT, POST, FAIL */
};

struct trace_rewrite {
	uint32_t mode; /* enum trace_mode: of the new trace; TRACE_MODE_GUIDED: with guides */
	void *context;
	/*
	 * If not NULL: gives all outcomes of a thread's wildcards, and its failed polls except
	 * those after its last event, in the order of events. They replace those in the trace, and
	 * the functions below are not called.
	 */
	const struct trace_rewrite_outcome *(*outcomes)(void *context, unsigned rank,
							uint32_t process, const char *thread,
							size_t *count);
	/* The number among posted wildcards of wildcard `number` of the trace, or UINT64_MAX. */
	uint64_t (*post_of)(void *context, unsigned rank, uint32_t process, uint64_t number);
	/* Below: only streams of the first process of each rank are changed. */
	/* Is the source of the wildcard at this event of the thread wanted? */
	bool (*keeps_source)(void *context, unsigned rank, const char *thread, uint64_t event);
	/* And that of the posted one with this number? */
	bool (*keeps_post)(void *context, unsigned rank, uint64_t number);
	/* The marks of a thread, in the order of events, and how many there are. */
	const struct trace_rewrite_mark *(*marks)(void *context, unsigned rank, const char *thread,
						  size_t *count);
	/* set by trace_rewrite */
	uint64_t before, after; /* bytes of order and guide streams */
};

/* Into the empty directory `to`. 0, or the exit code after saying why not. */
int trace_rewrite(const struct trace_run *from, const struct trace_dir *to,
		  struct trace_rewrite *how) __attribute__((warn_unused_result));

#endif
