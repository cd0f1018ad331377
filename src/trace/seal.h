/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seal of a file that says what to run: a code of its contents that only this user can make,
 * with a key in the user's home. A trace that was recorded elsewhere, recorded by somebody else, or
 * changed by hand has no seal that matches.
 */
#ifndef TRACE_SEAL_H
#define TRACE_SEAL_H

#include <stdbool.h>

#define TRACE_SEAL_BYTES 33 /* hexadecimal, NUL */

/* False if there is no key and none can be made. */
bool trace_seal_make(const char *text, char seal[TRACE_SEAL_BYTES]);
bool trace_seal_matches(const char *text, const char *seal);

#endif
