/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What gdb says in its machine interface (MI3), one line at a time. Results become JSON: tuples are
 * objects, lists arrays. The names of results in a list are left out.
 */
#ifndef GROUP_MI_H
#define GROUP_MI_H

#include <jansson.h>

struct group_mi {
	char kind;       /* '^' result, '*' '=' '+' events, '~' '@' '&' text, 0: anything else */
	long token;      /* or -1 */
	char *name;      /* "done", "stopped"; NULL of texts */
	json_t *results; /* an object, or NULL */
	char *text;      /* of a text, or of a line that is none of these */
};

/* Never fails: what cannot be read is a line of kind 0. */
void group_mi_read(const char *line, struct group_mi *out);
void group_mi_free(struct group_mi *mi);

/* A string of the object, or NULL. */
const char *group_mi_string(const json_t *object, const char *key);

/* As an argument of a command: in quotes. The caller frees. */
char *group_mi_quoted(const char *text);

#endif
