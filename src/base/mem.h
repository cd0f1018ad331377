/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for the tool (never inside the user's program): these return, or say that memory is
 * exhausted and end with exit code 125.
 */
#ifndef RP_MEM_H
#define RP_MEM_H

#include <stddef.h>

void *rp_alloc(size_t count, size_t size); /* zeroed */
void *rp_realloc(void *p, size_t count, size_t size);

/* From `have` elements to `count`, which are more; the new ones are zero. */
void *rp_widen(void *p, size_t have, size_t count, size_t size);
char *rp_strdup(const char *s);
char *rp_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Lists of strings that end in NULL. */
size_t rp_strings_count(char *const *list);
void rp_strings_free(char **list);

#endif
