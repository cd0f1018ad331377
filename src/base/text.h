/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of unknown origin, made fit for a terminal or a JSON reader, and commands as one would type
 * them. Whoever gets a char * frees it.
 */
#ifndef RP_TEXT_H
#define RP_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes that are not UTF-8, and unless they are kept control characters, become `bad`. */
char *rp_text_cleaned(const char *text, const char *bad, bool keep_controls);

/* The same in place, with '?'. */
void rp_text_clean(char *text);

/* As one would type it in a shell, clean. */
char *rp_text_command(char *const *argv);

#endif
