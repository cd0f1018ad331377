/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts together what two passes have found: a race of the first with the accesses of the second.
 * Threads are known by their names, and segments by how many of the thread came before: that is
 * the same in both, whichever slots they had.
 */
#include "cmd/data-races.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/place.h"
#include "replay/halt.h"
#include "symbol/symbol.h"

struct context {
	const struct replay_races *races;
	const char *twin;
	bool calls; /* of MPI are what positions count */
};

static const char *file_of(const struct context *c, const char *module)
{
	return *module ? module : c->twin;
}

static char *place_at(const struct context *c, const struct replay_race_log *log, uint64_t address)
{
	uint64_t at;
	const char *module = replay_race_module(log, address, &at);

	return module ? cmd_place_in(file_of(c, module), at) : rp_strdup("?");
}

static char **stack_of(const struct context *c, const struct replay_race_log *log,
		       const struct race_log_entry *e)
{
	char **list = rp_alloc(e->frames + 1, sizeof(*list));
	size_t n = 0;

	for (uint32_t i = 0; i < e->frames && i < RACE_LOG_FRAMES; i++) {
		uint64_t at;
		const char *module = replay_race_module(log, e->frame[i], &at);

		if (module && !symbol_is_foreign(file_of(c, module)))
			list[n++] = place_at(c, log, e->frame[i]);
	}
	return list;
}

/* Which of the 8 bytes at the address does the access touch? */
static uint32_t bytes_of(const struct race_log_entry *e, uint64_t address)
{
	uint32_t bytes = 0;

	for (unsigned i = 0; i < 8; i++) {
		if (e->address <= address + i && address + i < e->address + e->size)
			bytes |= 1u << i;
	}
	return bytes;
}

/* The access of the second pass that is this side of a race of the byte; NULL: it was not told. */
static const struct race_log_entry *access_of(const struct context *c,
					      const struct replay_race_log *log,
					      const struct race_log_entry *race, uint32_t byte,
					      int side)
{
	const struct replay_race_log *seen = replay_race_seen(c->races, log);
	uint32_t number;
	const char *name = replay_race_thread(log, &race->side[side], &number);
	uint64_t segment = race_log_segment(name, number);

	if (!seen)
		return NULL;
	for (size_t i = replay_race_first_access(seen, segment);
	     i < seen->accesses && seen->access[i].segment == segment; i++) {
		const struct race_log_entry *e = seen->access[i].entry;

		if (e->side[0].write == race->side[side].write && bytes_of(e, race->address) & byte)
			return e;
	}
	return NULL;
}

/*
 * Before the last operation of the thread: the access comes after it. A thread that has made none
 * is found where it was created.
 */
static char *position_of(const struct context *c, const struct replay_race_log *log,
			 const struct race_log_entry *e)
{
	const struct race_log_entry *t = replay_race_thread_of(log, &e->side[1]), *maker;
	uint64_t n = c->calls ? e->events : e->operations;

	while (!n && t) {
		maker = replay_race_thread_of(log, &t->side[1]);
		if (maker == t)
			return NULL;
		n = c->calls ? t->events : t->operations;
		t = maker;
	}
	if (!t || log->process)
		return NULL;
	return !strcmp(t->text, "0") ? rp_format("%u@%" PRIu64, log->rank, n)
				     : rp_format("%u.%s@%" PRIu64, log->rank, t->text, n);
}

/* Gives the bytes that the access has of the 8. */
static uint32_t fill_access(const struct context *c, const struct replay_race_log *log,
			    const struct race_log_entry *race, uint32_t byte, int side,
			    struct cmd_data_access *out)
{
	const struct race_log_entry *e = access_of(c, log, race, byte, side);
	uint32_t segment;

	out->thread = replay_race_thread(log, &race->side[side], &segment);
	out->write = race->side[side].write;
	if (e) {
		const struct replay_race_log *seen = replay_race_seen(c->races, log);

		out->place = place_at(c, seen, e->site);
		out->stack = stack_of(c, seen, e);
		out->position = position_of(c, seen, e);
		out->size = e->size;
		out->value = e->value;
		out->has_value = e->size <= 8;
	} else {
		out->place = rp_strdup("?");
	}
	return e ? bytes_of(e, race->address) : 0xff;
}

/* The block of the heap around the address, as it was allocated last. */
static const struct race_log_entry *block_of(const struct replay_race_log *seen, uint64_t address)
{
	const struct race_log_entry *found = NULL;

	for (size_t i = 0; seen && i < seen->blocks; i++) {
		const struct race_log_entry *e = seen->block[i];

		if (e->address <= address && address < e->address + e->size &&
		    (!found || e->value > found->value))
			found = e;
	}
	return found;
}

static void fill_what(const struct context *c, const struct replay_race_log *log, uint64_t address,
		      struct cmd_data_race *out)
{
	const struct replay_race_log *seen = replay_race_seen(c->races, log);
	const struct race_log_entry *block = block_of(seen, address);
	const char *module, *name = NULL;
	uint64_t at, offset;

	out->address = address;
	module = replay_race_module(seen ? seen : log, address, &at);
	if (module)
		name = symbol_variable(file_of(c, module), at, &offset);
	if (name && offset)
		out->what = rp_format("%s+%" PRIu64, name, offset);
	else if (name)
		out->what = rp_strdup(name);
	else if (block)
		out->what = rp_format("byte %" PRIu64 " of a block of %" PRIu64,
				      address - block->address, block->size);
	else
		out->what = rp_format("0x%" PRIx64, address);
	if (block && !name)
		out->allocated = place_at(c, seen, block->site);
}

static void access_free(struct cmd_data_access *a)
{
	free(a->place);
	free(a->position);
	if (a->stack)
		rp_strings_free(a->stack);
}

void cmd_data_race_free(struct cmd_data_race *r)
{
	access_free(&r->side[0]);
	access_free(&r->side[1]);
	free(r->what);
	free(r->allocated);
}

static bool same_access(const struct cmd_data_access *a, const struct cmd_data_access *b)
{
	return !strcmp(a->place, b->place);
}

static bool is_known(const struct cmd_data_race *r)
{
	return strcmp(r->side[0].place, "?") != 0 && strcmp(r->side[1].place, "?") != 0;
}

/* A line or an address, not a function alone: without debugging information, or merged code. */
static bool is_exact(const struct cmd_data_access *a)
{
	const char *colon = strchr(a->place, ':');

	while (colon && (colon[1] < '0' || colon[1] > '9'))
		colon = strchr(colon + 1, ':');
	return colon || strstr(a->place, "+0x");
}

/* The same variable, blocks that were allocated at the same place, or unknown. */
static bool same_object(const struct cmd_data_race *a, const struct cmd_data_race *b)
{
	size_t n = strcspn(a->what, "+");

	if (a->allocated && b->allocated)
		return !strcmp(a->allocated, b->allocated);
	if (!strncmp(a->what, "0x", 2) && !strncmp(b->what, "0x", 2))
		return true;
	return n == strcspn(b->what, "+") && !strncmp(a->what, b->what, n);
}

/* Which of the two came first is chance. Without a place it is about what raced. */
static bool same_places(const struct cmd_data_race *a, const struct cmd_data_race *b)
{
	if (!is_known(a) && strcmp(a->what, b->what) != 0)
		return false;
	if ((!is_exact(&a->side[0]) || !is_exact(&a->side[1])) && !same_object(a, b))
		return false;
	return (same_access(&a->side[0], &b->side[0]) && same_access(&a->side[1], &b->side[1])) ||
	       (same_access(&a->side[0], &b->side[1]) && same_access(&a->side[1], &b->side[0]));
}

static void add(struct cmd_data_races *out, struct cmd_data_race *r)
{
	for (size_t i = 0; i < out->count; i++) {
		if (same_places(&out->race[i], r)) {
			out->race[i].count++;
			cmd_data_race_free(r);
			return;
		}
	}
	r->count = 1;
	out->race = rp_realloc(out->race, out->count + 1, sizeof(*out->race));
	out->race[out->count++] = *r;
}

/* The segments may have used the 8 bytes by several accesses: one race for each of two that meet.
 */
static void add_all(const struct context *c, const struct replay_race_log *log,
		    const struct race_log_entry *e, struct cmd_data_races *out)
{
	uint32_t bytes = e->side[0].bytes & 0xff;

	while (bytes) {
		struct cmd_data_race r = {.rank = log->rank};
		uint32_t byte = bytes & -bytes, both;

		both = fill_access(c, log, e, byte, 0, &r.side[0]);
		both &= fill_access(c, log, e, byte, 1, &r.side[1]);
		fill_what(c, log, e->address + (unsigned)__builtin_ctz(byte), &r);
		add(out, &r);
		bytes &= ~(both | byte);
	}
}

static int by_count(const void *a, const void *b)
{
	const struct cmd_data_race *x = a, *y = b;
	int order = strcmp(x->side[0].place, y->side[0].place);

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return order ? order : strcmp(x->side[1].place, y->side[1].place);
}

static void add_segments(struct race_segment_figures *sum, const struct race_segment_figures *one)
{
	sum->created += one->created;
	sum->most_kept += one->most_kept;
	sum->compared += one->compared;
	sum->pages += one->pages;
}

void cmd_data_races_group(struct cmd_data_races *out, const struct replay_races *races,
			  const struct trace_run *run, const char *twin)
{
	struct context c = {races, twin, replay_halt_unit(run) == REPLAY_UNIT_MPI};

	*out = (struct cmd_data_races){.left = races->left};
	for (size_t i = 0; i < races->found.count; i++) {
		const struct replay_race_log *log = &races->found.log[i];

		out->all += log->log->races;
		out->dropped += log->log->dropped;
		out->untold += log->log->untold;
		if (log->log->stopped)
			out->stopped = log->log->stopped;
		for (uint32_t k = 0; k < log->log->count; k++) {
			const struct race_log_entry *e = &log->log->entry[k];

			if (e->kind == RACE_LOG_SEGMENTS)
				add_segments(&out->segments, &e->segments);
			if (e->kind == RACE_LOG_RACE)
				add_all(&c, log, e, out);
		}
	}
	for (size_t i = 0; i < races->seen.count; i++)
		out->dropped += races->seen.log[i].log->dropped;
	if (out->count)
		qsort(out->race, out->count, sizeof(*out->race), by_count);
}

void cmd_data_races_free(struct cmd_data_races *races)
{
	for (size_t i = 0; i < races->count; i++)
		cmd_data_race_free(&races->race[i]);
	free(races->race);
	symbol_forget();
}
