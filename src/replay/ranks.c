/* SPDX-License-Identifier: Apache-2.0 */
/* Digits, commas and hyphens; everything else is refused. A rank is its index in the run. */
#include "replay/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

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

char *replay_ranks_text(const struct trace_run *run, const bool chosen[])
{
	char *text = rp_strdup("");

	for (size_t i = 0; i < run->ranks; i++) {
		size_t first = i;
		char *longer;

		if (!chosen[i])
			continue;
		while (i + 1 < run->ranks && chosen[i + 1])
			i++;
		longer = i > first ? rp_format("%s%s%zu-%zu", text, *text ? "," : "", first, i)
				   : rp_format("%s%s%zu", text, *text ? "," : "", first);
		free(text);
		text = longer;
	}
	return text;
}

bool replay_ranks_logged(const struct trace_run *run, bool logged[])
{
	bool all = true;

	for (size_t i = 0; i < run->ranks; i++) {
		char *path = rp_format("log/rank-%04u", run->rank[i].rank);

		logged[i] = faccessat(run->dir.fd, path, F_OK, 0) == 0;
		all = all && logged[i];
		free(path);
	}
	return all;
}

char *replay_ranks_logged_text(const struct trace_run *run)
{
	bool *logged = rp_alloc(run->ranks, sizeof(*logged));
	char *list, *text;

	if (replay_ranks_logged(run, logged)) {
		text = rp_strdup("");
	} else {
		list = replay_ranks_text(run, logged);
		text = rp_format(" of ranks %s", list);
		free(list);
	}
	free(logged);
	return text;
}
