/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TRACE/graph/clocks: of each event of an evaluated trace its thread, its number and its clock, so
 * that any of them is found without a look at those before it. Made of the events (graph/clocks.c)
 * and of them only: whoever evaluates anew removes it with them.
 *
 * Blocks come first, each of `block` events of a process: its clock before the first of them, by
 * rank; how many threads it had, and the number of the last event of each; then the events: thread,
 * how much higher the number is than that of its last event, how many entries of the clock have
 * grown beside its own, and each of them: rank, by how much. All are varints.
 *
 * Tables follow. For each rank: its threads, with the lengths of their names and the names; its
 * events; of each block the offset in the file, the bytes, and their XXH3, low half and high half.
 */
#ifndef TRACE_CLOCKS_H
#define TRACE_CLOCKS_H

#include <stdint.h>

#define TRACE_CLOCKS_MAGIC "RPCLOCKS"
#define TRACE_CLOCKS_VERSION 1

struct trace_clocks_head {
	char magic[8];
	uint32_t version, ranks;
	uint64_t block;
	uint64_t tables, tables_bytes; /* where they are */
	uint64_t tables_check;         /* XXH3 */
	uint64_t check;                /* of all before */
};

#endif
