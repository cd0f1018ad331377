/* SPDX-License-Identifier: Apache-2.0 */
/* Where a thread is in an image, if it is there, or has been. */
#include <stdlib.h>
#include <string.h>

#include "ckpt/image.h"
#include "replay/from.h"

static const struct ckpt_thread *find_thread(const struct ckpt_image *image, const char *name,
					     size_t length)
{
	const struct ckpt_thread *t = ckpt_image_section(image, CKPT_THREADS);
	size_t n = image->head->section[CKPT_THREADS].bytes / sizeof(*t);

	for (size_t i = 0; i < n; i++) {
		const char *other = ckpt_image_text(image, t[i].name);

		if (length && strlen(other) == length && memcmp(other, name, length) == 0)
			return &t[i];
	}
	return NULL;
}

/* Threads are named by their parents: "0.2" is the second child of "0". */
static bool is_born(const struct ckpt_image *image, const char *name, size_t length)
{
	size_t parent = length;
	const struct ckpt_thread *t;

	while (parent && name[parent - 1] != '.')
		parent--;
	if (!parent || find_thread(image, name, length))
		return true;
	t = find_thread(image, name, parent - 1);
	if (t)
		return strtoul(name + parent, NULL, 10) <= t->children;
	return is_born(image, name, parent - 1);
}

static uint64_t all_events_of(const struct trace_run_rank *rank, const char *name, size_t length,
			      bool operations)
{
	uint64_t most = 0;

	for (size_t i = 0; i < rank->streams; i++) {
		const struct trace_run_stream *s = &rank->stream[i];
		uint64_t n = operations ? s->syncs : s->events;

		if (s->kind == (operations ? TRACE_STREAM_SYNC : TRACE_STREAM_ORDER) &&
		    strlen(s->thread) == length && memcmp(s->thread, name, length) == 0 && n > most)
			most = n;
	}
	return most;
}

/* One that has ended has none to come. */
uint64_t replay_from_event(const struct ckpt_image *image, const struct trace_run_rank *rank,
			   enum replay_halt_unit unit, const char *name, size_t length)
{
	const struct ckpt_thread *t = find_thread(image, name, length);
	bool operations = unit == REPLAY_UNIT_OPERATION;

	if (unit == REPLAY_UNIT_CALL)
		return image->head->event;
	if (t)
		return operations ? t->operation : t->event;
	return is_born(image, name, length) ? all_events_of(rank, name, length, operations) + 1 : 0;
}

uint64_t replay_from_main(const struct ckpt_image *image, const struct trace_run *run,
			  const struct trace_run_rank *rank)
{
	enum replay_halt_unit unit = replay_halt_unit(run);

	return unit == REPLAY_UNIT_OPERATION ? replay_from_event(image, rank, unit, "0", 1)
					     : image->head->event;
}
