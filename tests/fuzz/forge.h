/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole traces from any bytes. A list of files, each with a name out of a table, its counters, what
 * is kept in its header page, and its data; it is written as it is, or with a header and checksums
 * that are right: otherwise nothing behind the checks would ever be read.
 */
#ifndef FUZZ_FORGE_H
#define FUZZ_FORGE_H

#include <stddef.h>
#include <stdint.h>

#include "trace/stream.h"

/* Makes an empty trace in memory; it goes when the process ends. */
void forge_open(const char *name);
const char *forge_path(void);

/* Puts the files into the trace; clean takes them out again. */
void forge_write(const uint8_t *data, size_t size);
void forge_clean(void);

/* A directory of the trace: of a rank, of its events, or of what a replay printed. */
int forge_rank_fd(unsigned rank);
int forge_graph_fd(unsigned rank);
int forge_session_fd(void);

/* A path beside the trace, free for what a verb writes; clean removes what is there. */
const char *forge_output(void);

/* As long as it is not NULL, whatever stream is opened is this one. */
extern const struct trace_view *forge_view;

void forge_require(int condition);

#endif
