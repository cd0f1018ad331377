/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of the protocol. gdb gives a thread that comes again another number, and the client is to
 * see the same one: names are kept. Of a live replay only ranks are known.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/dap.h"
#include "group/mi.h"
#include "group/stacks.h"
#include "group/threads.h"

#define MAIN "0"

static int number_of(struct cmd_dap *d, unsigned rank, const char *name)
{
	unsigned ranks = d->debug.group.ranks;

	if (strcmp(name, MAIN) == 0)
		return (int)rank + 1;
	for (size_t i = 0; i < d->threads; i++) {
		if (d->thread[i].rank == rank && strcmp(d->thread[i].name, name) == 0)
			return (int)(ranks + i + 1);
	}
	d->thread = rp_widen(d->thread, d->threads, d->threads + 1, sizeof(*d->thread));
	d->thread[d->threads].rank = rank;
	d->thread[d->threads++].name = rp_strdup(name);
	return (int)(ranks + d->threads);
}

static bool is_known(const struct cmd_dap *d, int thread)
{
	return d->run && d->debug.there && thread > 0 &&
	       (size_t)thread <= d->debug.group.ranks + d->threads;
}

unsigned cmd_dap_rank_of(const struct cmd_dap *d, int thread)
{
	unsigned ranks = d->debug.group.ranks, n = (unsigned)thread - 1;

	return n < ranks ? n : d->thread[n - ranks].rank;
}

bool cmd_dap_choose(struct cmd_dap *d, int thread)
{
	struct group *g = &d->debug.group;
	unsigned rank = is_known(d, thread) ? cmd_dap_rank_of(d, thread) : 0;
	const char *name = MAIN;
	struct group_thread *list;
	bool found = false;
	size_t n;

	if (!is_known(d, thread) || !group_has_threads(g, rank))
		return is_known(d, thread);
	if ((unsigned)thread > g->ranks)
		name = d->thread[(unsigned)thread - g->ranks - 1].name;
	n = group_threads(g, rank, &list);
	for (size_t i = 0; i < n && !found; i++)
		found = strcmp(list[i].name, name) == 0 &&
			group_threads_choose(g, rank, list[i].id);
	group_threads_free(list, n);
	return found;
}

int cmd_dap_thread(struct cmd_dap *d, const json_t *request)
{
	const json_t *id = json_object_get(json_object_get(request, "arguments"), "threadId");
	json_int_t thread = json_integer_value(id);

	if (json_is_integer(id) && thread > 0 && thread < INT32_MAX && is_known(d, (int)thread)) {
		if (cmd_dap_choose(d, (int)thread))
			return (int)thread;
		cmd_dap_refuse(d, request, "there is no such thread here");
		return 0;
	}
	cmd_dap_refuse(d, request, "there is no such rank");
	return 0;
}

int cmd_dap_looked_at(struct cmd_dap *d, unsigned rank)
{
	struct group *g = &d->debug.group;
	struct group_set one;

	if (!group_has_threads(g, rank))
		return (int)rank + 1;
	group_set_init(&one, g->ranks, false);
	one.has[rank] = true;
	group_threads_name(g, &one);
	group_set_free(&one);
	return g->gdb[rank].thread_name ? number_of(d, rank, g->gdb[rank].thread_name)
					: (int)rank + 1;
}

static void add(json_t *list, int thread, char *name)
{
	json_array_append_new(list, json_pack("{s:i, s:s}", "id", thread, "name", name));
	free(name);
}

void cmd_dap_threads(struct cmd_dap *d, const json_t *request)
{
	struct group *g = &d->debug.group;
	json_t *list = json_array();

	for (unsigned i = 0; d->run && i < d->run->ranks; i++) {
		struct group_thread *threads;
		size_t n = d->debug.there && group_has_threads(g, i) ? group_threads(g, i, &threads)
								     : 0;

		add(list, (int)i + 1, rp_format("rank %u", i));
		for (size_t k = 0; k < n; k++) {
			if (strcmp(threads[k].name, MAIN) != 0)
				add(list, number_of(d, i, threads[k].name),
				    rp_format("rank %u, thread %s", i, threads[k].name));
		}
		if (n)
			group_threads_free(threads, n);
	}
	cmd_dap_answer(d, request, json_pack("{s:o}", "threads", list));
}
