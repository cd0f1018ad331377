/* SPDX-License-Identifier: Apache-2.0 */
/* TRACE/memory: in which order threads used memory (trace/memory.h), made and used. */
#ifndef REPLAY_MEMORY_ORDER_H
#define REPLAY_MEMORY_ORDER_H

#include "replay/front.h"
#include "replay/races.h"

/* After a pass that looked for dependences. 0, -errno, or 1 if not all of them are known. */
int replay_memory_order_keep(const struct replay_front *f, const struct replay_race_logs *logs)
	__attribute__((warn_unused_result));

/* Of this recording, by this twin? */
bool replay_memory_order_is_kept(const struct trace_run *run, const char *twin);

/* Tells the ranks of a session to obey it. 0, or the exit code after saying why not. */
int replay_memory_order_tell(const struct replay_front *f) __attribute__((warn_unused_result));

#endif
