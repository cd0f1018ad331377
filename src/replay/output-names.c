/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariant: nothing is compared of a rank of which one of the two sets is not whole: there were
 * too many, the disk was full, or threads were alive at the end.
 */
#include "replay/output-names.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct names {
	char **name;
	size_t count, room;
	bool marked, partial;
};

static void add(struct names *all, const struct trace_output *o)
{
	all->partial |= o->flags & (TRACE_OUTPUT_LOST | TRACE_OUTPUT_ALIVE) || o->writing;
	for (size_t i = 0; i < o->files; i++) {
		const char *name = o->file[i].path;

		all->marked |= strcmp(name, TRACE_OUTPUT_NAMES) == 0;
		all->partial |= strcmp(name, TRACE_OUTPUT_NAMES_CUT) == 0;
		if (all->count == all->room) {
			all->room = all->room ? 2 * all->room : 64;
			all->name = rp_realloc(all->name, all->room, sizeof(*all->name));
		}
		all->name[all->count++] = rp_strdup(name);
	}
}

static void forget(struct names *all)
{
	for (size_t i = 0; i < all->count; i++)
		free(all->name[i]);
	free(all->name);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* By exec, so that there is no end of it. */
static bool became_another(const struct trace_run_rank *rank, const struct trace_run_stream *s)
{
	for (size_t i = 0; i < rank->streams; i++) {
		const struct trace_run_stream *next = &rank->stream[i];

		if (next->kind == TRACE_STREAM_ORDER && next->pid == s->pid &&
		    next->process > s->process)
			return true;
	}
	return false;
}

static void gather(const struct replay_front *f, size_t rank, struct names *then, struct names *now)
{
	for (size_t k = 0; k < f->run->rank[rank].streams; k++) {
		const struct trace_run_stream *s = &f->run->rank[rank].stream[k];
		struct trace_output o;

		/* How far one came that did not end by itself, nor became another, is chance. */
		if (s->kind == TRACE_STREAM_ORDER && strcmp(s->thread, "0") == 0 &&
		    (s->end < TRACE_END_EXIT || s->end > TRACE_END_EARLY) &&
		    !became_another(&f->run->rank[rank], s))
			then->partial = true;
		if (s->kind != TRACE_STREAM_OUTPUT)
			continue;
		if (s->damage || !replay_output_read_recorded(f, rank, s->name, &o)) {
			then->partial = true;
			return;
		}
		add(then, &o);
		trace_output_free(&o);
		if (!replay_output_read_found(f, rank, s->process, &o)) {
			now->partial = true;
			return;
		}
		add(now, &o);
		trace_output_free(&o);
	}
	if (then->count)
		qsort(then->name, then->count, sizeof(*then->name), compare);
	if (now->count)
		qsort(now->name, now->count, sizeof(*now->name), compare);
}

static bool has(const struct names *all, char *name)
{
	return all->count && bsearch(&name, all->name, all->count, sizeof(name), compare);
}

static char *words(const char *name, bool recorded)
{
	const char *who = recorded ? "the recorded run" : "the replay";
	const char *other = recorded ? "the replay" : "the recorded run";

	if (name[0] == '/')
		return rp_format("%s wrote %s, %s did not", who, name, other);
	return rp_format("%s did '%s', %s did not", who, name, other);
}

static char *difference(const struct names *then, const struct names *now)
{
	for (size_t i = 0; i < then->count; i++) {
		if (!has(now, then->name[i]))
			return words(then->name[i], true);
	}
	for (size_t i = 0; i < now->count; i++) {
		if (!has(then, now->name[i]) && strcmp(now->name[i], TRACE_OUTPUT_NAMES) != 0)
			return words(now->name[i], false);
	}
	return NULL;
}

char *replay_output_names_difference(const struct replay_front *f)
{
	char *text = NULL;

	for (size_t i = 0; i < f->ranks && !text; i++) {
		struct names then = {0}, now = {0};

		gather(f, i, &then, &now);
		/* Without the mark not all names were noted. */
		if (!then.partial && !now.partial && (then.marked || !then.count))
			text = difference(&then, &now);
		forget(&then);
		forget(&now);
	}
	return text;
}
