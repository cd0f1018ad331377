/* SPDX-License-Identifier: Apache-2.0 */
/* From before main to its first line. */
#ifndef GROUP_PROGRAM_H
#define GROUP_PROGRAM_H

#include "group/group.h"

/* Ranks stand before main: they go on to its first line, if gdb finds it. */
void group_come_to_main(struct group *g);

#endif
