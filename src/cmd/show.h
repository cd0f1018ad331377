/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How verbs show things: sizes, sets of ranks, text of unknown origin. The caller frees
 * a returned char *; none holds a control character, whatever went in.
 */
#ifndef CMD_SHOW_H
#define CMD_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* Text fit for a terminal: control characters and bytes that are not UTF-8 become '?'. */
char *cmd_show_text(const char *text);

/* "912 B", "1.2 MiB". */
char *cmd_show_size(uint64_t bytes);

/* Space that files take below a directory. Closes it. */
uint64_t cmd_show_usage(int dirfd);

/* "0-3,5,7-9" for sorted ranks; cut with "…" where it gets long. */
char *cmd_show_ranks(const unsigned *rank, size_t n);

/* A JSON string; bytes that are not UTF-8 become U+FFFD. */
json_t *cmd_show_json(const char *text);
json_t *cmd_show_json_list(char *const *list);

/* Prints the value and a newline, and lets go of it. */
void cmd_show_json_line(json_t *value, size_t flags);

#endif
