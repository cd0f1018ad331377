/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Living ranks that were found to wait for each other, against a last look at them: what is told
 * of a rank is what was seen of it then, and whoever is not where it was watched takes all back.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/hang.h"

bool cmd_hang_is_in_mpi(const struct replay_seen *seen)
{
	return seen && seen->call && strncmp(seen->call, "MPI_", 4) == 0;
}

size_t cmd_hang_threads_of(const struct cmd_hang *h, unsigned rank)
{
	size_t n = 0;

	for (size_t i = 0; i < h->look.n; i++)
		n += h->look.seen[i].rank == rank;
	return n;
}

static bool is_of_all(const struct cmd_hang *h)
{
	bool all = false;

	for (size_t i = 0; i < h->stuck.ops; i++)
		all |= h->stuck.op[i].wishes && h->stuck.op[i].wish->need == GRAPH_NEED_ALL;
	return all;
}

/* It is where it was watched; threads may have been made before it came there. */
static bool stands_there(const struct cmd_hang *h, unsigned rank)
{
	const struct replay_seen *seen = cmd_hang_main(h, rank);
	char *text = seen && seen->call ? rp_format("%s%s", seen->call, seen->place) : NULL;
	bool there = text && h->stood[rank] && strcmp(text, h->stood[rank]) == 0;

	free(text);
	return there && cmd_hang_threads_of(h, rank) == 1;
}

/* Of those that are not stuck, only what was seen last is told. */
static void drop_others(struct cmd_hang *h)
{
	struct graph_stuck *s = &h->stuck;
	size_t kept = 0;

	for (size_t i = 0; i < s->ops; i++) {
		if (s->standing[s->op[i].rank] == GRAPH_STUCK)
			s->op[kept++] = s->op[i];
		else
			graph_stuck_op_free(&s->op[i]);
	}
	s->ops = kept;
	for (unsigned q = 0; q < s->ranks; q++) {
		if (s->standing[q] != GRAPH_STUCK)
			s->standing[q] =
				cmd_hang_is_in_mpi(cmd_hang_main(h, q)) ? GRAPH_WAITS : GRAPH_RUNS;
	}
}

static void forget_stuck(struct cmd_hang *h)
{
	for (size_t i = 0; i < h->stood_ranks; i++)
		free(h->stood[i]);
	free(h->stood);
	h->stood = NULL;
	h->stood_ranks = 0;
	graph_stuck_free(&h->stuck);
}

void cmd_hang_confirm(struct cmd_hang *h)
{
	bool all = is_of_all(h), agrees = true;

	for (unsigned q = 0; q < h->stuck.ranks; q++) {
		if (h->stuck.standing[q] == GRAPH_STUCK)
			agrees &= stands_there(h, q);
		else if (all)
			agrees &= cmd_hang_threads_of(h, q) == 1;
	}
	if (agrees)
		drop_others(h);
	else
		forget_stuck(h);
}

void cmd_hang_doubt(struct cmd_hang *h)
{
	while (h->stills)
		free(h->still[--h->stills].thread);
	free(h->still);
	h->still = NULL;
	forget_stuck(h);
}
