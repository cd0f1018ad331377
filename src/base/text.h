/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes text of unknown origin fit for a terminal or a JSON reader, and writes commands as one
 * would type them. The caller frees a returned char *.
 */
#ifndef RP_TEXT_H
#define RP_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes that are not UTF-8 become `bad`; so do control characters, unless they are kept. */
char *rp_text_cleaned(const char *text, const char *bad, bool keep_controls);

/* The same in place, with '?'. */
void rp_text_clean(char *text);

/* As one would type it in a shell, clean. */
char *rp_text_command(char *const *argv);

#endif
