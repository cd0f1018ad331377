/* SPDX-License-Identifier: Apache-2.0 */
/* Our Valgrind tool, which is built and installed apart (valgrind/), and Valgrind's own files. */
#ifndef LAUNCH_VALGRIND_H
#define LAUNCH_VALGRIND_H

#include <stdbool.h>

/* Are both here? */
bool launch_valgrind_is_here(void);

/* The tool, which the caller frees, and VALGRIND_LIB; or the exit code, after saying why. */
int launch_valgrind_require(char **tool, const char **library) __attribute__((warn_unused_result));

#endif
