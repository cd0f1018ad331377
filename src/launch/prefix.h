/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that start another with its words unchanged: env, nice, timeout and the like. */
#ifndef LAUNCH_PREFIX_H
#define LAUNCH_PREFIX_H

#include <stddef.h>

/*
 * The index of the first word behind all prefix commands: the program that they start. 0 if argv
 * does not begin with a prefix command, or if nothing follows.
 */
size_t launch_prefix_skip(char *const *argv);

#endif
