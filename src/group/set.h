/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of ranks, as people write them: "0-3,7", "all". */
#ifndef GROUP_SET_H
#define GROUP_SET_H

#include <stdbool.h>
#include <stddef.h>

struct group_set {
	bool *has; /* by rank */
	unsigned ranks;
};

void group_set_init(struct group_set *s, unsigned ranks, bool all);
void group_set_copy(struct group_set *s, const struct group_set *from);
void group_set_free(struct group_set *s);

/* Replaces the set by what the text says. 0, or -EINVAL: it is no set, or names others. */
int group_set_read(struct group_set *s, const char *text) __attribute__((warn_unused_result));

size_t group_set_count(const struct group_set *s);

/* "0-3,7"; the caller frees. */
char *group_set_text(const struct group_set *s);

#endif
