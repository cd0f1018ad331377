/* SPDX-License-Identifier: Apache-2.0 */
/* The part of reprise stats about threads. */
#ifndef CMD_STATS_THREADS_H
#define CMD_STATS_THREADS_H

#include <jansson.h>

#include "graph/objects.h"
#include "trace/run.h"

/* Threads, and the `top` worst objects with their places; 0: all. */
void cmd_stats_threads_print(const struct graph_objects *all, const struct trace_run_rank *sum,
			     size_t top);

json_t *cmd_stats_threads_json(const struct graph_objects *all);
json_t *cmd_stats_objects_json(const struct graph_objects *all);

#endif
