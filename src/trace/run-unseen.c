/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording does not hold: joined over its ranks, and put into words. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/run.h"

#define NS_PER_SECOND 1e9

static struct trace_run_unseen *find(struct trace_run_unseen *list, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(list[i].first->key, key))
			return &list[i];
	}
	return NULL;
}

struct trace_run_unseen *trace_run_unseen(const struct trace_run *run, size_t *n)
{
	struct trace_run_unseen *list = NULL, *same;

	*n = 0;
	for (size_t i = 0; i < run->ranks; i++) {
		const struct trace_run_rank *rank = &run->rank[i];

		for (size_t k = 0; k < rank->unseens; k++) {
			const struct trace_unseen *u = &rank->unseen[k];

			same = find(list, *n, u->key);
			if (!same) {
				list = rp_realloc(list, *n + 1, sizeof(*list));
				same = &list[(*n)++];
				*same = (struct trace_run_unseen){.first = u, .rank = rank->rank};
			}
			same->ranks++;
			same->count += u->count;
		}
	}
	return list;
}

/* Without MPI, events have no numbers, so the time is given. */
static char *since(const struct trace_run_unseen *u)
{
	const struct trace_unseen *first = u->first;
	bool is_main = !strcmp(first->thread, "0") || !first->thread[0];

	if (!first->event)
		return rp_format("%.2f s after the start%s%s", (double)first->ns / NS_PER_SECOND,
				 is_main ? "" : " in thread ", is_main ? "" : first->thread);
	return rp_format("%u%s%s@%" PRIu64, u->rank, is_main ? "" : ".",
			 is_main ? "" : first->thread, first->event + 1);
}

char *trace_run_unseen_words(const struct trace_run_unseen *u)
{
	char *from = since(u);
	char *ranks = u->ranks > 1 ? rp_format(" of %zu ranks", u->ranks) : rp_strdup("");
	char *words = rp_format("%s%s, since %s (%" PRIu64 " time%s)", u->first->what, ranks, from,
				u->count, u->count == 1 ? "" : "s");

	free(from);
	free(ranks);
	return words;
}
