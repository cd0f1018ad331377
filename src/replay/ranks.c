/* SPDX-License-Identifier: Apache-2.0 */
/* Digits, commas and hyphens; everything else is refused. */
#include "replay/ranks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"

static int bad(const char *text)
{
	rp_say("'%s' is no list of ranks: it is as in 0-3,7", text);
	return RP_EXIT_BAD_INPUT;
}

static bool read_number(const char **p, unsigned long *value)
{
	char *end;

	if (**p < '0' || **p > '9')
		return false;
	errno = 0;
	*value = strtoul(*p, &end, 10);
	*p = end;
	return errno == 0;
}

static int choose(const struct trace_run *run, unsigned long first, unsigned long last,
		  bool chosen[])
{
	if (last >= run->ranks) {
		rp_say("%s has no rank %lu", run->dir.show, first < run->ranks ? last : first);
		return RP_EXIT_BAD_INPUT;
	}
	for (unsigned long i = first; i <= last; i++)
		chosen[i] = true;
	return 0;
}

int replay_ranks_read(const struct trace_run *run, const char *text, bool chosen[])
{
	const char *p = text;
	int code = 0;

	for (; !code; p++) {
		unsigned long first, last;

		if (!read_number(&p, &first))
			return bad(text);
		last = first;
		if (*p == '-') {
			p++;
			if (!read_number(&p, &last) || last < first)
				return bad(text);
		}
		if (*p && *p != ',')
			return bad(text);
		code = choose(run, first, last, chosen);
		if (!*p)
			break;
	}
	return code;
}
