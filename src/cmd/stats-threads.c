/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads and what they synchronise on, for people and for scripts. The measure of contention is
 * how often an object was handed over. That is known exactly; how long a thread waited is not
 * recorded.
 */
#include "cmd/stats-threads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/show.h"

#define PLACES 5 /* of an object, unless all are wanted */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* "2", "2/1" for the second process of the rank, "" if there is only one. */
static char *process_text(const struct graph_objects *all, unsigned rank, uint32_t process)
{
	bool several = false;

	for (size_t i = 0; i < all->threads; i++)
		several = several || all->thread[i].rank || all->thread[i].process;
	if (!several)
		return rp_strdup("");
	return process ? rp_format("rank %u/%" PRIu32 " ", rank, process)
		       : rp_format("rank %u ", rank);
}

static void print_sums(const struct graph_sums *sum, const char *threads)
{
	printf("%12" PRIu64 " %7s %12" PRIu64 " %6.1f %10" PRIu64 "  ", sum->count, threads,
	       sum->handed, percent(sum->handed, sum->count), sum->bytes);
}

static void print_heading(const char *threads, const char *last)
{
	printf("\n%12s %7s %12s %6s %10s  %s\n", "operations", threads, "handed over", "%", "bytes",
	       last);
}

static void print_threads(const struct graph_objects *all)
{
	print_heading("", "thread");
	for (size_t i = 0; i < all->threads; i++) {
		const struct graph_thread *t = &all->thread[i];
		char *process = process_text(all, t->rank, t->process);

		print_sums(&t->sum, "");
		printf("%s%s%s%s%s%s\n", process, t->thread, t->name ? " " : "",
		       t->name ? t->name : "", t->start ? ": " : "", t->start ? t->start : "");
		free(process);
	}
}

static void print_uses(const struct graph_object *o, bool all)
{
	size_t shown = all || o->uses <= PLACES + 1 ? o->uses : PLACES;
	uint64_t rest = 0;

	for (size_t i = 0; i < shown; i++) {
		const struct graph_use *u = &o->use[i];

		print_sums(&u->sum, "");
		printf("  %s at %s", u->op, u->place);
		if (u->sum.failed)
			printf(", %" PRIu64 " failed", u->sum.failed);
		putchar('\n');
	}
	for (size_t i = shown; i < o->uses; i++)
		rest += o->use[i].sum.count;
	if (shown < o->uses)
		printf("%12" PRIu64 " %39s  %zu further places\n", rest, "", o->uses - shown);
}

static void print_object(const struct graph_objects *all, const struct graph_object *o)
{
	char *process = process_text(all, o->rank, o->process);
	char threads[24];

	snprintf(threads, sizeof(threads), "%zu", o->threads);
	print_sums(&o->sum, threads);
	printf("%s%s", process, o->kind);
	if (o->name)
		printf(" %s", o->name);
	if (o->address)
		printf(" (0x%" PRIx64 ")", o->address);
	printf(", %s %s\n", o->made ? "made at" : "first used at", o->place);
	free(process);
}

void cmd_stats_threads_print(const struct graph_objects *all, const struct trace_run_rank *sum,
			     size_t top)
{
	size_t shown = top && top < all->objects ? top : all->objects;
	uint64_t bytes = 0;

	print_threads(all);
	print_heading("threads", "object, and where it is used");
	for (size_t i = 0; i < all->objects; i++)
		bytes += all->object[i]->sum.bytes;
	for (size_t i = 0; i < shown; i++) {
		print_object(all, all->object[i]);
		print_uses(all->object[i], !top);
	}
	if (shown < all->objects)
		printf("\n%zu further objects; --all shows them\n", all->objects - shown);
	printf("\n%" PRIu64 " operations on %zu objects, %" PRIu64 " predicted; %" PRIu64
	       " bytes, and %" PRIu64 " of checks\n",
	       sum->syncs, all->objects, sum->syncs - sum->unpredicted, bytes,
	       sum->bytes[TRACE_STREAM_SYNC] - bytes);
	puts("handed over: another thread had taken the object since this one last did");
}

static void set_sums(json_t *object, const struct graph_sums *sum)
{
	json_t *sums =
		json_pack("{s:I, s:I, s:I, s:I, s:I}", "operations", (json_int_t)sum->count,
			  "handed_over", (json_int_t)sum->handed, "failed", (json_int_t)sum->failed,
			  "predicted", (json_int_t)sum->predicted, "bytes", (json_int_t)sum->bytes);

	json_object_update(object, sums);
	json_decref(sums);
}

static void set_text(json_t *object, const char *key, const char *text)
{
	if (text)
		json_object_set_new(object, key, cmd_show_json(text));
}

static json_t *process_json(unsigned rank, uint32_t process)
{
	return json_pack("{s:I, s:I}", "rank", (json_int_t)rank, "process", (json_int_t)process);
}

json_t *cmd_stats_threads_json(const struct graph_objects *all)
{
	json_t *list = json_array();

	for (size_t i = 0; i < all->threads; i++) {
		const struct graph_thread *t = &all->thread[i];
		json_t *thread = process_json(t->rank, t->process);

		set_text(thread, "thread", t->thread);
		set_text(thread, "name", t->name);
		set_text(thread, "start", t->start);
		set_sums(thread, &t->sum);
		json_array_append_new(list, thread);
	}
	return list;
}

static json_t *object_json(const struct graph_object *o)
{
	json_t *object = process_json(o->rank, o->process), *uses = json_array();
	char *id = rp_format("%016" PRIx64, o->id), *address = rp_format("0x%" PRIx64, o->address);

	set_text(object, "kind", o->kind);
	set_text(object, "id", id);
	set_text(object, "name", o->name);
	if (o->address)
		set_text(object, "address", address);
	set_text(object, o->made ? "made_at" : "first_used_at", o->place);
	json_object_set_new(object, "threads", json_integer((json_int_t)o->threads));
	set_sums(object, &o->sum);
	for (size_t i = 0; i < o->uses; i++) {
		json_t *use = json_object();

		set_text(use, "operation", o->use[i].op);
		set_text(use, "place", o->use[i].place);
		set_sums(use, &o->use[i].sum);
		json_array_append_new(uses, use);
	}
	json_object_set_new(object, "uses", uses);
	free(id);
	free(address);
	return object;
}

json_t *cmd_stats_objects_json(const struct graph_objects *all)
{
	json_t *list = json_array();

	for (size_t i = 0; i < all->objects; i++)
		json_array_append_new(list, object_json(all->object[i]));
	return list;
}
