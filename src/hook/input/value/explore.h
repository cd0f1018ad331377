/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs along a prelude (hook/mpi/explore/explore.h): these stand between the recorder and the
 * real values. Before the cut they give the prelude's; past it real ones, with clocks that go on
 * from the prelude's and process ids that stay the prelude's: a program does not notice that it
 * changes runs.
 */
#ifndef HOOK_INPUT_EXPLORE_H
#define HOOK_INPUT_EXPLORE_H

#include "hook/input/value/input.h"

struct hook_explore_input {
	struct hook_thread *thread;
	uint32_t kind;
	const char *call;
	hook_input_number_fn *number; /* how the real value is had */
	hook_input_bytes_fn *bytes;
	void *ctx;
};

/* ctx is a struct hook_explore_input. */
int hook_explore_number(void *ctx, uint64_t *value);
ssize_t hook_explore_bytes(void *ctx, void *buffer, size_t size);

#endif
