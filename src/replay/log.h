/* SPDX-License-Identifier: Apache-2.0 */
/* TRACE/log: what each rank received, as the front sees it (trace/log.h, hook/mpi/log/). */
#ifndef REPLAY_LOG_H
#define REPLAY_LOG_H

#include "replay/front.h"

/*
 * After the pass, in the session: streams are cut to what counts. A rank that does what cannot be
 * served to it alone is named, and has no log. 0, or the exit code after saying why.
 */
int replay_log_finish(const struct replay_front *f) __attribute__((warn_unused_result));

#endif
