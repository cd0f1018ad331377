/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files a replay wrote, and what it did to names of files, compared with the recording. The
 * order does not count.
 */
#ifndef REPLAY_OUTPUT_NAMES_H
#define REPLAY_OUTPUT_NAMES_H

#include "replay/front.h"
#include "trace/output.h"

/* What a process of a rank printed and wrote, in this replay or when it was recorded. */
bool replay_output_read_found(const struct replay_front *f, size_t rank, uint32_t process,
			      struct trace_output *o);
bool replay_output_read_recorded(const struct replay_front *f, size_t rank, const char *name,
				 struct trace_output *o);

/* NULL, or the first difference as a sentence part; the caller frees it. */
char *replay_output_names_difference(const struct replay_front *f);

#endif
