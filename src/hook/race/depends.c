/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dependences that have to be kept go to a file that is mapped, as the log is: it grows as it is
 * needed, and what was found is there however the process ends. Invariant: no other thread runs
 * between the moment at which an access is told and the access itself. So a thread that waits in a
 * loop is stopped here, before it tells, and not by a signal somewhere. That others ran there is
 * kept, too: a dependence of the thread on itself.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "hook/race/runtime.h"
#include "race/depend.h"
#include "race/log.h"
#include "race/sys.h"

#define PLACE ((115ul << 40) + (1ul << 37)) /* behind log and watched addresses */
#define GROWS (64ul << 20)
#define MOST (1ul << 38) /* bytes */

#define PLACES 8
#define HIGHEST 8 /* descriptors below the limit */
#define POLLS 1024

static int fd = -1;
static const struct hook_race_frames *hooks;
static struct race_depends *file;
static uint64_t mapped; /* bytes */

static bool grow(void)
{
	long at = -1;

	if (mapped < MOST &&
	    rp_raw_call(SYS_ftruncate, fd, (long)(mapped + GROWS), 0, 0, 0, 0) == 0)
		at = rp_raw_call(SYS_mmap, (long)(PLACE + mapped), (long)GROWS,
				 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd,
				 (long)mapped);
	if (at < 0)
		return false;
	file = (struct race_depends *)PLACE;
	mapped += GROWS;
	return true;
}

static void traced(const struct race_dependence *d)
{
	struct race_depends_one *one;

	if (d->order != RACE_DEPEND_ALONE || !file || file->lost)
		return;
	one = &file->one[file->count];
	if ((uintptr_t)(one + 1) > PLACE + mapped && !grow()) {
		file->lost = 1;
		return;
	}
	*one = (struct race_depends_one){.from_slot = d->from.slot,
					 .from = d->from.clock,
					 .to_slot = d->to.slot,
					 .to = d->to.clock,
					 .address = d->address};
	__atomic_store_n(&file->count, file->count + 1, __ATOMIC_RELEASE);
}

/* Words that the thread has read since it last wrote. */
static __thread struct {
	uintptr_t place[PLACES];
	unsigned places;
	uint64_t reads, due;
	const void *site; /* of the last read, */
	uintptr_t last;   /* and what it was of */
} polled;

/* Some functions tell of two reads before they make them: not between these. */
static bool may_stop(uintptr_t address, const void *site)
{
	return site != polled.site || address == polled.last || address == polled.place[0];
}

static bool note_read(uintptr_t address, const void *site)
{
	unsigned i = 0;
	bool stopped = false;

	while (i < polled.places && polled.place[i] != address)
		i++;
	if (i == PLACES)
		i = polled.places = 0;
	if (i == polled.places) {
		polled.place[polled.places++] = address;
		polled.reads = 0;
		polled.due = POLLS;
	}
	if (++polled.reads >= polled.due && may_stop(address, site)) {
		polled.due = polled.reads + POLLS;
		stopped = hooks && hooks->polls && hooks->polls(polled.reads);
	}
	polled.site = site;
	polled.last = address;
	return stopped;
}

static void told(struct race_thread *t, uintptr_t address, size_t n, bool write, const void *site)
{
	const struct race_side here = {.slot = race_thread_slot(t), .clock = race_thread_clock(t)};
	struct race_dependence d = {.order = RACE_DEPEND_ALONE, .address = address};

	if (write) {
		polled.places = 0;
	} else if (note_read(address, site)) {
		d.from = d.to = here;
		d.to.clock++;
		traced(&d);
	}
	race_depend_touched(t, address, n, write, site);
}

/* Out of the way of the program's descriptors, which get the lowest numbers that are free. */
static int lift(long low)
{
	struct rlimit limit = {0, 0};
	long high = -1;

	rp_raw_call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit, 0, 0);
	if (low >= 0 && limit.rlim_cur > HIGHEST)
		high = rp_raw_call(SYS_fcntl, low, F_DUPFD_CLOEXEC, (long)limit.rlim_cur - HIGHEST,
				   0, 0, 0);
	if (low >= 0)
		rp_raw_call(SYS_close, low, 0, 0, 0, 0, 0);
	return (int)high;
}

void runtime_depends_open(int dir, const char *name, unsigned shift,
			  struct race_depend_figures *figures,
			  const struct hook_race_frames *frames)
{
	fd = lift(rp_raw_call(SYS_openat, dir, (long)name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
			      0600, 0, 0));
	hooks = frames;
	race_depend_start(shift, figures, fd >= 0 && grow() ? traced : NULL);
	race_tell_all(told);
}
