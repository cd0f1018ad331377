/* SPDX-License-Identifier: Apache-2.0 */
/* What the replayed ranks printed, against what they had printed. */
#ifndef REPLAY_OUTPUT_H
#define REPLAY_OUTPUT_H

#include "replay/front.h"

/*
 * Compares the output of all ranks once they have ended, and says where it differs. Ranks that
 * reached their recorded end must have printed all of it. For the others, only what both runs
 * printed is compared. Returns `code`, or RP_EXIT_DIVERGED if something else was printed.
 */
int replay_output_judge(const struct replay_front *f, int code);

/* The program may have left a line unfinished: what we say begins on a new one. */
void replay_output_end_line(const struct replay_front *f);

#endif
