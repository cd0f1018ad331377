/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace is data until the user says run. One that this user recorded says so by itself (by the
 * seals of trace/seal.h); of any other the command is shown, and the user asked.
 */
#ifndef REPLAY_TRUST_H
#define REPLAY_TRUST_H

#include "trace/run.h"

/* The user has said it: --trust. */
void replay_trust_given(void);

/* 0 if what the trace says may be run; else the exit code after saying why not. */
int replay_trust(const struct trace_run *run) __attribute__((warn_unused_result));

#endif
