/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An evaluated trace for the verbs that use its events. It is evaluated first if needed, opened,
 * and has names for places and positions.
 */
#ifndef CMD_GRAPH_H
#define CMD_GRAPH_H

#include "base/map.h"
#include "graph/match.h"
#include "graph/report.h"
#include "graph/source.h"
#include "trace/run.h"

struct cmd_graph {
	struct trace_dir dir;
	struct graph_source source;
	struct rp_map modules; /* by rank and process */
	struct rp_map places;  /* by rank and thread, and site */
};

/* NULL means the latest. 0, or the exit code after saying why not. */
int cmd_graph_open(struct cmd_graph *g, const char *trace) __attribute__((warn_unused_result));
void cmd_graph_close(struct cmd_graph *g);

/*
 * A run of threads without MPI has no races that we look for: says so, and returns the exit code.
 */
int cmd_graph_check_messages(const struct trace_run *run, const char *show)
	__attribute__((warn_unused_result));

/* "file.c:12 (function)", or "?"; lives until cmd_graph_close(). */
const char *cmd_graph_place(struct cmd_graph *g, unsigned rank, uint32_t thread, uint32_t site);

/* The same of all frames that are the user's own, innermost first; rp_strings_free() frees. */
char **cmd_graph_stack(struct cmd_graph *g, unsigned rank, uint32_t thread, uint32_t site);

/* "3@1042", "3.0.1@17"; the caller frees. */
char *cmd_graph_position(const struct cmd_graph *g, unsigned rank, uint32_t thread,
			 uint64_t number);

/* A message as its sender knows it; "from rank 1, tag 7, 4 bytes, sent at …", the caller frees. */
struct graph_finding_message cmd_graph_sent(const struct graph_message *m);
char *cmd_graph_message(struct cmd_graph *g, const struct graph_finding_message *m);

#endif
