/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace made from another one: the same run with other order streams. Of wildcards only those
 * outcomes are kept that are wanted; guide streams may be put beside the order streams. All other
 * files are copied. Only streams of the first process of each rank are changed.
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

struct trace_rewrite {
	uint32_t mode; /* enum trace_mode: of the new trace; TRACE_MODE_GUIDED: with guides */
	void *context;
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
