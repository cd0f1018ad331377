/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where events come from: one sequence per process. The event streams of a trace are one source;
 * tests and benchmarks make others. All of graph/ reads a source from front to back, at most twice,
 * and never holds more than one event of it.
 */
#ifndef GRAPH_SOURCE_H
#define GRAPH_SOURCE_H

#include <stdint.h>

#include "trace/dir.h"
#include "trace/events.h"

struct graph_source {
	unsigned ranks;
	void *context;
	/*
	 * 1 and the next event of the process, valid until the next call for that process; 0 at its
	 * end; -EBADMSG if there is something that cannot be read, which was said. *thread numbers
	 * the threads of the process, from 0.
	 */
	int (*next)(void *context, unsigned rank, const struct trace_event **event,
		    uint32_t *thread);
	/* All processes from their first event again. */
	void (*rewind)(void *context);
	/* "0.2" for a number that next() gave. */
	const char *(*thread)(void *context, unsigned rank, uint32_t thread);
};

/* The event streams of an evaluated trace. 0, or the exit code after saying why not. */
int graph_source_open(struct graph_source *source, const struct trace_dir *dir)
	__attribute__((warn_unused_result));
void graph_source_close(struct graph_source *source);

/* The stack at a site of that thread, innermost first; its depth, 0 if it is not known. */
uint32_t graph_source_site(const struct graph_source *source, unsigned rank, uint32_t thread,
			   uint32_t site, uint64_t address[TRACE_SITE_DEPTH]);

/* How many threads the rank has. */
uint32_t graph_source_threads(const struct graph_source *source, unsigned rank);

/* Which process of the rank the thread belongs to: 0 unless the rank used exec. */
uint32_t graph_source_process(const struct graph_source *source, unsigned rank, uint32_t thread);

#endif
