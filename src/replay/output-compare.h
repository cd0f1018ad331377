/* SPDX-License-Identifier: Apache-2.0 */
/* Two outputs of a process, byte by byte: for output.c alone. */
#ifndef REPLAY_OUTPUT_COMPARE_H
#define REPLAY_OUTPUT_COMPARE_H

#include "replay/front.h"
#include "trace/output.h"

/* A place where two texts differ. */
struct replay_output_difference {
	unsigned which; /* 0: standard output, 1: standard error */
	uint64_t at;    /* byte */
	bool is_block;  /* somewhere in the block from there on */
};

/* How far the lengths may differ: a run that was killed loses what was in its buffers. */
struct replay_output_allowance {
	bool shorter, longer;
};

/* "standard output", "standard error". */
extern const char *const replay_output_name[2];

/* `a` is recorded, `b` found. */
bool replay_output_differ(const struct trace_output *a, const struct trace_output *b,
			  struct replay_output_allowance may, struct replay_output_difference *d);

/* Says where they differ, and shows both lines. */
void replay_output_say_difference(const struct replay_front *f, size_t rank,
				  const struct trace_output *a, const struct trace_output *b,
				  const struct replay_output_difference *d, bool first);

#endif
