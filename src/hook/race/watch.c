/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second pass: the run is the same, so who was at the bytes that raced is seen by looking at
 * them alone. Told are the first access of a segment to each byte, and blocks of the heap that the
 * bytes were part of.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "hook/kit/random.h"
#include "hook/race/runtime.h"
#include "race/log.h"
#include "race/sys.h"

#define PLACE ((115ul << 40) + (1ul << 36))
#define FILTER (1u << 19) /* bits */
#define TOLD (1u << 16)

bool runtime_watches;

static const struct race_log_watch *watched; /* ascending */
static size_t watched_count;
static uint64_t filter[FILTER / 64], told[TOLD];
static const struct hook_race_frames *walker;

static uint32_t filter_bit(uint64_t cell)
{
	return (uint32_t)(hook_random_spread(cell >> 3) >> 45);
}

/* The first one that is not below. */
static size_t place_of(uint64_t address)
{
	size_t low = 0, high = watched_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (watched[mid].address < address)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool is_watched(const struct race_thread *t, uint64_t cell)
{
	uint32_t bit = filter_bit(cell);
	uint64_t segment;
	size_t i;

	if (!(filter[bit / 64] >> bit % 64 & 1))
		return false;
	i = place_of(cell);
	segment = runtime_log_segment(t);
	while (i < watched_count && watched[i].address == cell && watched[i].segment < segment)
		i++;
	return i < watched_count && watched[i].address == cell && watched[i].segment == segment;
}

/* A bit for each of the cell's bytes that the access touches. */
static uint64_t bytes_of(uint64_t cell, uintptr_t address, size_t n)
{
	uint64_t from = address > cell ? address - cell : 0;
	uint64_t to = address + n < cell + 8 ? address + n - cell : 8;

	return (1ul << to) - (1ul << from);
}

/* Which bytes were told of is in the low bits. An entry may be another segment's by now. */
static bool is_told(const struct race_thread *t, uint64_t cell, bool write, uint64_t bytes)
{
	uint64_t h = hook_random_spread(cell) ^ race_thread_slot(t) ^
		     (uint64_t)race_thread_clock(t) << 20 ^ (uint64_t)write << 60;
	uint64_t *place, had;

	h = hook_random_spread(h) & ~0xfful;
	place = &told[h >> 48];
	had = __atomic_load_n(place, __ATOMIC_RELAXED);
	if ((had & ~0xfful) != h)
		had = h;
	if ((had & bytes) == bytes)
		return true;
	__atomic_store_n(place, had | bytes, __ATOMIC_RELAXED);
	return false;
}

static void tell(const struct race_thread *t, uintptr_t address, size_t n, bool write,
		 const void *site)
{
	struct race_log_entry *e = runtime_log_new();

	if (!e)
		return;
	e->address = address;
	e->size = n;
	e->site = (uintptr_t)site;
	e->side[0] = (struct race_log_side){race_thread_slot(t), race_thread_clock(t), write, 0};
	memcpy(&e->value, (const void *)address, n < 8 ? n : 8);
	runtime_log_position(e, t);
	runtime_log_modules();
	e->frames = walker && walker->walk ? walker->walk(site, e->frame, RACE_LOG_FRAMES) : 0;
	runtime_log_put(e, RACE_LOG_ACCESS);
}

static void touched(struct race_thread *t, uintptr_t address, size_t n, bool write,
		    const void *site)
{
	for (uint64_t cell = address & ~7ul; cell < address + n; cell += 8) {
		if (!is_watched(t, cell) || is_told(t, cell, write, bytes_of(cell, address, n)))
			continue;
		tell(t, address, n, write, site);
		return;
	}
}

uint64_t runtime_block_number(void)
{
	static uint64_t blocks;

	return __atomic_add_fetch(&blocks, 1, __ATOMIC_RELAXED);
}

void runtime_watch_block(const void *p, size_t n, const void *site, uint64_t number)
{
	size_t i = place_of((uintptr_t)p & ~7ul);
	struct race_log_entry *e;

	if (i == watched_count || watched[i].address >= (uintptr_t)p + n)
		return;
	e = runtime_log_new();
	if (!e)
		return;
	e->address = (uintptr_t)p;
	e->size = n;
	e->site = (uintptr_t)site;
	e->value = number;
	e->side[0] = (struct race_log_side){race_thread_slot(runtime_self),
					    race_thread_clock(runtime_self), 0, 0};
	runtime_log_put(e, RACE_LOG_BLOCK);
}

bool runtime_watch_open(int dir, const char *name, const struct hook_race_frames *frames)
{
	long fd = rp_raw_call(SYS_openat, dir, (long)name, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	long at = -1;
	struct stat st;

	if (fd < 0)
		return false;
	if (rp_raw_call(SYS_fstat, fd, (long)&st, 0, 0, 0, 0) == 0 && st.st_size)
		at = rp_raw_call(SYS_mmap, (long)PLACE, st.st_size, PROT_READ,
				 MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0);
	rp_raw_call(SYS_close, fd, 0, 0, 0, 0, 0);
	if (at < 0)
		return false;
	watched = (const struct race_log_watch *)at;
	watched_count = (size_t)st.st_size / sizeof(*watched);
	for (size_t i = 0; i < watched_count; i++) {
		uint32_t bit = filter_bit(watched[i].address);

		filter[bit / 64] |= 1ul << bit % 64;
	}
	walker = frames;
	runtime_watches = true;
	race_tell_all(touched);
	return true;
}
