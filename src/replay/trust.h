/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace is data until the user wants it to run. If this user recorded it, the seals
 * (trace/seal.h) prove that, and it runs. For any other trace the command is shown, and the user is
 * asked.
 */
#ifndef REPLAY_TRUST_H
#define REPLAY_TRUST_H

#include "trace/run.h"

/* The user has said it: --trust. */
void replay_trust_given(void);

/* 0 if the recorded command may be run; otherwise the exit code after saying why not. */
int replay_trust(const struct trace_run *run) __attribute__((warn_unused_result));

#endif
