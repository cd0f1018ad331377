/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seal of a file that tells what to run: a code over it that only this user can make, by a key
 * in the user's own place. A trace that was recorded elsewhere or by somebody else, or changed by
 * hand, has none that matches.
 */
#ifndef TRACE_SEAL_H
#define TRACE_SEAL_H

#include <stdbool.h>

#define TRACE_SEAL_BYTES 33 /* hexadecimal, NUL */

/* False if there is no key and none can be made. */
bool trace_seal_make(const char *text, char seal[TRACE_SEAL_BYTES]);
bool trace_seal_matches(const char *text, const char *seal);

#endif
