/* SPDX-License-Identifier: Apache-2.0 */
/* Alternatives as people write and read them. */
#ifndef CMD_EXPLORE_H
#define CMD_EXPLORE_H

#include "replay/alternatives.h"

/* R@E=VALUE, R.T@E=VALUE, R@E#POST=VALUE. 0, or the exit code after saying what is wrong. */
int cmd_parse_force(const char *text, struct replay_force *force)
	__attribute__((warn_unused_result));

/* R@E,R@E,…: added to the cut. */
int cmd_parse_cut(const char *text, struct replay_cut *cut) __attribute__((warn_unused_result));

/* "0@5, MPI_ANY_SOURCE: source 1 -> 2"; the caller frees. */
char *cmd_alternative_text(const struct replay_alternative *a);

#endif
