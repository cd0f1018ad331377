/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that start another with its words unchanged: env, nice, timeout and the like. */
#ifndef LAUNCH_PREFIX_H
#define LAUNCH_PREFIX_H

#include <stddef.h>

/*
 * The index of the word that all prefix commands at the beginning of argv start in the end; 0 if
 * argv does not begin with one, or if nothing follows it.
 */
size_t launch_prefix_skip(char *const *argv);

#endif
