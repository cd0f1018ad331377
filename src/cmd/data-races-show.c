/* SPDX-License-Identifier: Apache-2.0 */
/* Data races for people and for scripts. Keys only ever get more; what is not known is left out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/data-races.h"
#include "cmd/show.h"

static const char *kind(const struct cmd_data_access *a)
{
	return a->write ? "write" : "read";
}

static void print_access(const struct cmd_data_access *a)
{
	printf("   %s", kind(a));
	if (a->size)
		printf(" of %" PRIu64 " byte%s", a->size, a->size == 1 ? "" : "s");
	printf(" at %s by thread %s", a->place, a->thread);
	if (a->position)
		printf(" (%s)", a->position);
	if (a->has_value)
		printf(", %s %" PRIu64, a->write ? "over" : "of", a->value);
	putchar('\n');
	for (size_t i = 1; a->stack && a->stack[0] && a->stack[i]; i++)
		printf("      called at %s\n", a->stack[i]);
}

static void print_race(const struct cmd_data_race *r, size_t number)
{
	printf("%zu. %s", number, r->what);
	if (r->allocated)
		printf(" allocated at %s", r->allocated);
	if (r->rank)
		printf(", rank %u", r->rank);
	if (r->count > 1)
		printf(" (an example of %" PRIu64 ")", r->count);
	putchar('\n');
	print_access(&r->side[0]);
	print_access(&r->side[1]);
}

static const char *stop_text(uint32_t why)
{
	if (why == RACE_STOP_BUSY)
		return "the process ended while a thread was being looked at";
	if (why == RACE_STOP_TASKS)
		return "of many tasks between two barriers, some were looked at as parts of the "
		       "threads that ran them";
	if (why == RACE_STOP_HANDLERS)
		return "handlers of signals ran while their threads were being looked at";
	return why == RACE_STOP_THREADS ? "there were more than 400 threads at a time"
					: "there was no memory left for it";
}

void cmd_data_races_print(const struct cmd_data_races *races, size_t top)
{
	char *program;

	if (!races->count && !races->left) {
		printf("No data races.\n");
	} else {
		printf("%zu data race%s", races->count, races->count == 1 ? "" : "s");
		if (races->left)
			printf(", then the replay left the recording at %s", races->left);
		printf(".\n");
	}
	program = cmd_show_text(races->program);
	printf(races->by_valgrind ? "Means: %s itself, in Valgrind.\n"
				  : "Means: %s, the checked twin.\n",
	       program);
	free(program);
	if (races->suppressed)
		printf("%zu suppressed.\n", races->suppressed);
	if (races->segments.created)
		printf("Segments: %" PRIu64 " created, %" PRIu64 " kept at most, %" PRIu64
		       " compared, with bitmaps of %" PRIu64 " pages at most.\n",
		       races->segments.created, races->segments.most_kept, races->segments.compared,
		       races->segments.pages);
	if (races->stopped)
		printf("Not all of the run was looked at: %s.\n", stop_text(races->stopped));
	if (races->dropped)
		printf("There was no room for %" PRIu64 " of what was found: threads and places "
		       "may be missing.\n",
		       races->dropped);
	if (races->untold)
		printf("Counted only: %" PRIu64 " further races, of the same threads and near "
		       "these.\n",
		       races->untold);
	for (size_t i = 0; i < races->count && (!top || i < top); i++)
		print_race(&races->race[i], i + 1);
	if (top && races->count > top)
		printf("%zu more: --all shows them.\n", races->count - top);
}

static json_t *access_json(const struct cmd_data_access *a)
{
	json_t *object = json_object();

	json_object_set_new(object, "kind", json_string(kind(a)));
	json_object_set_new(object, "thread", cmd_show_json(a->thread));
	if (a->position)
		json_object_set_new(object, "position", cmd_show_json(a->position));
	json_object_set_new(object, "place", cmd_show_json(a->place));
	if (a->size)
		json_object_set_new(object, "bytes", json_integer((json_int_t)a->size));
	if (a->has_value)
		json_object_set_new(object, "value", json_integer((json_int_t)a->value));
	if (a->stack)
		json_object_set_new(object, "stack", cmd_show_json_list(a->stack));
	return object;
}

static json_t *race_json(const struct cmd_data_race *r)
{
	json_t *object = json_object();

	json_object_set_new(object, "rank", json_integer((json_int_t)r->rank));
	json_object_set_new(object, "count", json_integer((json_int_t)r->count));
	json_object_set_new(object, "what", cmd_show_json(r->what));
	if (r->allocated)
		json_object_set_new(object, "allocated", cmd_show_json(r->allocated));
	json_object_set_new(object, "first", access_json(&r->side[0]));
	json_object_set_new(object, "second", access_json(&r->side[1]));
	return object;
}

void cmd_data_races_json(const struct cmd_data_races *races, json_t *root)
{
	json_t *list = json_array();

	for (size_t i = 0; i < races->count; i++)
		json_array_append_new(list, race_json(&races->race[i]));
	json_object_set_new(root, "data_races", list);
	json_object_set_new(root, "means", json_string(races->by_valgrind ? "valgrind" : "twin"));
	json_object_set_new(root, "program", cmd_show_json(races->program));
	if (races->suppressed)
		json_object_set_new(root, "suppressed",
				    json_integer((json_int_t)races->suppressed));
	if (races->left)
		json_object_set_new(root, "left_at", cmd_show_json(races->left));
	json_object_set_new(
		root, "complete",
		json_boolean(!races->left && !races->stopped && !races->dropped && !races->untold));
}
