/* SPDX-License-Identifier: Apache-2.0 */
/* Answers, merged: for people "[0,2-3] text", for scripts one object on a line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/debug.h"
#include "cmd/show.h"
#include "group/stacks.h"

#define WIDTH 79

static json_t *ranks_json(const struct group_set *set)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < set->ranks; i++) {
		if (set->has[i])
			json_array_append_new(list, json_integer(i));
	}
	return list;
}

static void print_object(const char *command, const char *key, json_t *value)
{
	json_t *object = json_object();

	json_object_set_new(object, "command", cmd_show_json(command));
	json_object_set_new(object, key, value);
	cmd_show_json_line(object, JSON_COMPACT);
	fflush(stdout);
}

void cmd_debug_say(struct cmd_debug *d, const char *command, const char *text)
{
	if (d->json)
		print_object(command, "text", cmd_show_json(text));
	else
		printf("%s\n", text);
	fflush(stdout);
}

void cmd_debug_fail(struct cmd_debug *d, const char *command, const char *text)
{
	d->failed = true;
	if (d->json)
		print_object(command, "error", cmd_show_json(text));
	else
		printf("%s\n", text);
	fflush(stdout);
}

/* Ranks that say the same as rank `first`, which is taken out of `left`. */
static void take_alike(struct group_set *left, char *const *text, unsigned first,
		       struct group_set *alike)
{
	group_set_init(alike, left->ranks, false);
	for (unsigned i = first; i < left->ranks; i++) {
		if (!left->has[i] || strcmp(text[i], text[first]) != 0)
			continue;
		alike->has[i] = true;
		left->has[i] = false;
	}
}

static void print_line(const struct group_set *alike, const char *text)
{
	char *ranks = group_set_text(alike);
	bool block = strchr(text, '\n') && text[strcspn(text, "\n") + 1];

	printf(block ? "[%s]\n%s" : "[%s] %s", ranks, text);
	if (!*text || text[strlen(text) - 1] != '\n')
		putchar('\n');
	free(ranks);
}

static void print_all(const struct group_set *set, char *const *text)
{
	struct group_set left, alike;

	group_set_copy(&left, set);
	for (unsigned i = 0; i < left.ranks; i++) {
		if (!left.has[i])
			continue;
		take_alike(&left, text, i, &alike);
		print_line(&alike, text[i]);
		group_set_free(&alike);
	}
	group_set_free(&left);
}

/* "[0-1] 0.5  [2] nan"; NULL if it is too long. */
static char *one_line(const struct group_set *set, char *const *text)
{
	struct group_set left, alike;
	char *line = rp_strdup("");

	group_set_copy(&left, set);
	for (unsigned i = 0; i < left.ranks; i++) {
		char *ranks, *longer;

		if (!left.has[i])
			continue;
		take_alike(&left, text, i, &alike);
		ranks = group_set_text(&alike);
		longer = rp_format("%s%s[%s] %s", line, *line ? "  " : "", ranks, text[i]);
		free(line);
		free(ranks);
		group_set_free(&alike);
		line = longer;
	}
	group_set_free(&left);
	if (strlen(line) <= WIDTH && !strchr(line, '\n'))
		return line;
	free(line);
	return NULL;
}

static json_t *groups_json(const struct group_set *set, char *const *text)
{
	struct group_set left, alike;
	json_t *groups = json_array();

	group_set_copy(&left, set);
	for (unsigned i = 0; i < left.ranks; i++) {
		if (!left.has[i])
			continue;
		take_alike(&left, text, i, &alike);
		json_array_append_new(groups, json_pack("{s:o, s:o}", "ranks", ranks_json(&alike),
							"text", cmd_show_json(text[i])));
		group_set_free(&alike);
	}
	group_set_free(&left);
	return groups;
}

void cmd_debug_show(struct cmd_debug *d, const char *command, const struct group_set *set,
		    char **text, bool on_one_line)
{
	char *line = on_one_line ? one_line(set, text) : NULL;

	if (d->json)
		print_object(command, "groups", groups_json(set, text));
	else if (line)
		puts(line);
	else
		print_all(set, text);
	fflush(stdout);
	free(line);
	for (unsigned i = 0; i < set->ranks; i++)
		free(text[i]);
	free(text);
}

void cmd_debug_show_stops(struct cmd_debug *d, const char *command, const struct group_set *set)
{
	char **text = rp_alloc(set->ranks + 1, sizeof(*text));

	group_look(&d->group, set);
	for (unsigned i = 0; i < set->ranks; i++)
		text[i] = set->has[i] ? group_stop_text(&d->group, i) : NULL;
	cmd_debug_show(d, command, set, text, false);
}

/* The stacks of the set have their first `depth` frames in common. */
static void print_tree(const struct group_set *set, char ***frames, size_t depth)
{
	struct group_set left;

	group_set_copy(&left, set);
	for (unsigned i = 0; i < left.ranks; i++) {
		struct group_set alike;
		char *ranks;

		if (!left.has[i])
			continue;
		left.has[i] = false;
		if (depth >= rp_strings_count(frames[i]))
			continue;
		group_set_init(&alike, left.ranks, false);
		alike.has[i] = true;
		for (unsigned k = i + 1; k < left.ranks; k++) {
			if (!left.has[k] || depth >= rp_strings_count(frames[k]) ||
			    strcmp(frames[k][depth], frames[i][depth]) != 0)
				continue;
			alike.has[k] = true;
			left.has[k] = false;
		}
		ranks = group_set_text(&alike);
		printf("%*s[%s] %s\n", (int)(2 * depth), "", ranks, frames[i][depth]);
		print_tree(&alike, frames, depth + 1);
		free(ranks);
		group_set_free(&alike);
	}
	group_set_free(&left);
}

static char *joined(char *const *frames)
{
	char *text = rp_strdup("");

	for (size_t i = rp_strings_count(frames); i-- > 0;) {
		char *longer = rp_format("%s%s\n", text, frames[i]);

		free(text);
		text = longer;
	}
	return text;
}

void cmd_debug_where(struct cmd_debug *d, const struct group_set *set)
{
	char ***frames = rp_alloc(set->ranks + 1, sizeof(*frames));
	char **text = rp_alloc(set->ranks + 1, sizeof(*text));

	group_look(&d->group, set);
	for (unsigned i = 0; i < set->ranks; i++) {
		if (!set->has[i])
			continue;
		if (d->group.gdb[i].state == GROUP_GDB_STOPPED) {
			frames[i] = group_frames(&d->group.gdb[i]);
		} else {
			frames[i] = rp_alloc(2, sizeof(**frames));
			frames[i][0] = group_stop_text(&d->group, i);
		}
		text[i] = joined(frames[i]);
	}
	if (d->json)
		print_object("where", "groups", groups_json(set, text));
	else
		print_tree(set, frames, 0);
	fflush(stdout);
	for (unsigned i = 0; i < set->ranks; i++) {
		if (frames[i])
			rp_strings_free(frames[i]);
		free(text[i]);
	}
	free(frames);
	free(text);
}
