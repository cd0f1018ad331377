/* SPDX-License-Identifier: Apache-2.0 */
/* Standard input of a rank: kept while recording, given back when replaying. */
#ifndef LAUNCH_STDIN_H
#define LAUNCH_STDIN_H

/*
 * Prepares descriptor 0 of a process that will become the program, so that what it reads is also
 * in the stream rank-NNNN/stdin. Returns the word for start.json: "kept", "empty", "terminal",
 * "closed" or "other" (it cannot be given back).
 */
const char *launch_stdin_keep(int rankfd, unsigned rank);

/* Puts at descriptor 0 what the word and the stream say. 0, or the exit code after saying why. */
int launch_stdin_restore(int rankfd, const char *word) __attribute__((warn_unused_result));

#endif
