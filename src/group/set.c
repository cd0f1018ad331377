/* SPDX-License-Identifier: Apache-2.0 */
#include "group/set.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void group_set_init(struct group_set *s, unsigned ranks, bool all)
{
	s->ranks = ranks;
	s->has = rp_alloc(ranks + 1, sizeof(*s->has));
	memset(s->has, all, ranks);
}

void group_set_copy(struct group_set *s, const struct group_set *from)
{
	group_set_init(s, from->ranks, false);
	memcpy(s->has, from->has, from->ranks * sizeof(*s->has));
}

void group_set_free(struct group_set *s)
{
	free(s->has);
	s->has = NULL;
}

/* One rank, or several in a row: how many characters, or -EINVAL. */
static int read_range(struct group_set *s, const char *text)
{
	unsigned long first, last;
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	first = last = strtoul(text, &end, 10);
	if (*end == '-') {
		if (!isdigit((unsigned char)end[1]))
			return -EINVAL;
		last = strtoul(end + 1, &end, 10);
	}
	if (first > last || last >= s->ranks)
		return -EINVAL;
	for (unsigned long i = first; i <= last; i++)
		s->has[i] = true;
	return (int)(end - text);
}

int group_set_read(struct group_set *s, const char *text)
{
	struct group_set new;
	int n = 0;

	group_set_init(&new, s->ranks, strcmp(text, "all") == 0);
	if (strcmp(text, "all") != 0) {
		do
			n = read_range(&new, text);
		while (n > 0 && *(text += n) == ',' && ++text);
		if (n < 0 || *text) {
			group_set_free(&new);
			return -EINVAL;
		}
	}
	group_set_free(s);
	*s = new;
	return 0;
}

size_t group_set_count(const struct group_set *s)
{
	size_t n = 0;

	for (unsigned i = 0; i < s->ranks; i++)
		n += s->has[i];
	return n;
}

char *group_set_text(const struct group_set *s)
{
	char *text = rp_strdup("");

	for (unsigned i = 0; i < s->ranks; i++) {
		unsigned first = i;
		char *more;

		if (!s->has[i])
			continue;
		while (i + 1 < s->ranks && s->has[i + 1])
			i++;
		if (first == i)
			more = rp_format("%s%s%u", text, *text ? "," : "", first);
		else
			more = rp_format("%s%s%u-%u", text, *text ? "," : "", first, i);
		free(text);
		text = more;
	}
	return text;
}
