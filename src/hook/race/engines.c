/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other engines in place of the histories, if the session asks for one: dependences
 * (race/depend.h), or RecPlay's segments (race/segments.h). Their figures are in the log, and what
 * they were when the process ended is what is read there. Or nothing is looked for, and accesses
 * are kept in an order (obey.c).
 */
#include <fcntl.h>
#include <string.h>

#include "hook/race/runtime.h"
#include "race/depend.h"
#include "race/log.h"
#include "race/segments.h"
#include "race/sys.h"

bool runtime_depends, runtime_segments;

/* The first letter of that file; 0: there is none. */
static char letter_of(int dir, const char *name)
{
	long fd = rp_raw_call(SYS_openat, dir, (long)name, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	char letter = 0;

	if (fd < 0)
		return 0;
	rp_raw_call(SYS_read, fd, (long)&letter, 1, 0, 0, 0);
	rp_raw_call(SYS_close, fd, 0, 0, 0, 0, 0);
	return letter;
}

/* `what` in place of the first part of the log's name, "races-NNNN-K". */
static const char *name_of(char *out, size_t room, const char *what, const char *log)
{
	size_t n = strlen(what), tail = strlen(log) - 5 + 1;

	if (n + tail > room)
		return "";
	memcpy(out, what, n);
	memcpy(out + n, log + 5, tail);
	return out;
}

void runtime_engine_open(int dir, const char *name, const struct hook_race_frames *frames)
{
	char unit = letter_of(dir, RACE_LOG_MEMORY), other[64];
	struct race_log_entry *e;

	if (runtime_obey_open(dir, name_of(other, sizeof(other), "order", name), frames))
		return;
	runtime_depends = unit != 0;
	runtime_segments = !unit && !runtime_watches && letter_of(dir, RACE_LOG_BY_SEGMENTS);
	if (!runtime_depends && !runtime_segments)
		return;
	e = runtime_log_new();
	if (!e)
		return;
	if (runtime_depends)
		runtime_depends_open(dir, name_of(other, sizeof(other), "depends", name),
				     (unsigned)(unit - 'a'), &e->depend, frames);
	else
		race_segments_start(&e->segments);
	runtime_log_put(e, runtime_depends ? RACE_LOG_DEPEND : RACE_LOG_SEGMENTS);
}
