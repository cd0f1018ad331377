/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is found goes to a file that is mapped: it is there however the process ends. Of two threads
 * on the same 8 bytes a few are told, each of other segments, and if two threads have many, only
 * some that lie near each other: a loop may make millions. The rest is counted. The second pass
 * finds who was at these bytes.
 */
#include "race/log.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "hook/race/module.h"
#include "hook/race/runtime.h"
#include "race/sys.h"

#define PLACE (115ul << 40) /* before RACE_ARENA */
#define GRANT 64u           /* entries at a time */
#define POPULATE_WRITE 23   /* MADV_POPULATE_WRITE, which headers may not have */
#define TOLD (1u << 16)
#define PAIRS (1u << 12)
#define OF_A_CELL 8u   /* of two threads at the same bytes */
#define OF_A_PAIR 128u /* of two threads; then one of a line, */
#define LINES_TO 4096u /* in all; then one of a page, */
#define PAGES_TO 16384u

static struct race_log *file;
static struct race_log_entry *entry_of[RACE_MOST_THREADS]; /* of threads, by slot */
static uint64_t told[TOLD];                                /* hashes */
static uint64_t near[TOLD], modules[TOLD];
static uint8_t cell_count[TOLD];               /* by hash, as pairs */
static uint32_t told_count, pair_count[PAIRS]; /* by hash: two that share one are told less */
static uint64_t name_of[RACE_MOST_THREADS];    /* by slot: hash of the thread's name, */
static uint32_t first_of[RACE_MOST_THREADS];   /* and its first segment */
static struct {
	const uint64_t *events, *operations;
	uint32_t slot; /* of the thread that counts there */
} counts_of[RACE_MOST_THREADS];
static bool is_nameless[RACE_MOST_THREADS]; /* there was no room for its name */

/*
 * A disk may be full: the kernel is asked for the pages first, since it would end the process if it
 * finds no room for one that is written to. One that cannot be asked (before 5.14) does so.
 */
static bool has_room(uint32_t entries)
{
	static uint32_t granted;
	uint32_t has = __atomic_load_n(&granted, __ATOMIC_ACQUIRE);
	uintptr_t from, to;

	if (entries <= has)
		return true;
	entries = (entries + GRANT - 1) & ~(GRANT - 1);
	from = (uintptr_t)&file->entry[has] & ~4095ul;
	to = ((uintptr_t)&file->entry[entries] + 4095) & ~4095ul;
	if (has == 0)
		from = (uintptr_t)file;
	if (rp_raw_call(SYS_madvise, (long)from, (long)(to - from), POPULATE_WRITE, 0, 0, 0) ==
	    -EFAULT)
		return false;
	while (has < entries && !__atomic_compare_exchange_n(&granted, &has, entries, false,
							     __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
		;
	return true;
}

int runtime_log_open(int dir, const char *name)
{
	long fd = rp_raw_call(SYS_openat, dir, (long)name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
			      0600, 0, 0);
	long at;

	if (fd < 0)
		return (int)fd;
	at = rp_raw_call(SYS_ftruncate, fd, (long)RACE_LOG_BYTES, 0, 0, 0, 0);
	if (!at)
		at = rp_raw_call(SYS_mmap, (long)PLACE, (long)RACE_LOG_BYTES,
				 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
	rp_raw_call(SYS_close, fd, 0, 0, 0, 0, 0);
	if (at < 0 && at > -4096)
		return (int)at;
	/* It is empty: nothing is to be read ahead. */
	rp_raw_call(SYS_madvise, at, (long)RACE_LOG_BYTES, MADV_RANDOM, 0, 0, 0);
	file = (struct race_log *)at;
	if (!has_room(1)) {
		rp_raw_call(SYS_munmap, at, (long)RACE_LOG_BYTES, 0, 0, 0, 0);
		file = NULL;
		return -ENOSPC;
	}
	file->magic = RACE_LOG_MAGIC;
	return 0;
}

static struct race_log_entry *new_below(uint32_t most)
{
	uint32_t i;

	if (!file)
		return NULL;
	i = __atomic_load_n(&file->count, __ATOMIC_RELAXED);
	do {
		if (i >= most || !has_room(i + 1)) {
			__atomic_fetch_add(&file->dropped, 1, __ATOMIC_RELAXED);
			return NULL;
		}
	} while (!__atomic_compare_exchange_n(&file->count, &i, i + 1, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return &file->entry[i];
}

struct race_log_entry *runtime_log_new(void)
{
	return new_below(RACE_LOG_ENTRIES - RACE_LOG_NAMES);
}

void runtime_log_put(struct race_log_entry *e, uint32_t kind)
{
	__atomic_store_n(&e->kind, kind, __ATOMIC_RELEASE);
}

void runtime_log_stopped(void)
{
	if (file && race_stopped())
		file->stopped = race_stopped();
}

void runtime_log_partly(enum race_stop why)
{
	if (file && !file->stopped)
		file->stopped = why;
}

void runtime_log_looked(bool all)
{
	if (!file)
		return;
	if (all)
		__atomic_fetch_add(&file->looked, 1, __ATOMIC_RELEASE);
	else if (!file->stopped)
		file->stopped = RACE_STOP_BUSY;
}

static void put_text(struct race_log_entry *e, const char *text)
{
	size_t n = strlen(text);

	memcpy(e->text, text, n < RACE_LOG_TEXT ? n : RACE_LOG_TEXT - 1);
}

void runtime_log_module(const char *name, uint64_t address, uint64_t end)
{
	struct race_log_entry *e = new_below(RACE_LOG_ENTRIES);

	if (!e)
		return;
	put_text(e, name);
	e->address = address;
	e->value = end;
	runtime_log_put(e, RACE_LOG_MODULE);
}

/* Now and then something is told twice. */
static bool is_in(uint64_t *set, uint64_t h)
{
	h |= 1;
	if (__atomic_load_n(&set[h >> 48], __ATOMIC_RELAXED) == h)
		return true;
	__atomic_store_n(&set[h >> 48], h, __ATOMIC_RELAXED);
	return false;
}

static int look_at_adds(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(uint64_t *)arg = info->dlpi_adds;
	return 1;
}

static int put_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	if (is_in(modules, race_log_mix(race_log_name(info->dlpi_name), info->dlpi_addr)))
		return 0;
	runtime_log_module(info->dlpi_name, info->dlpi_addr, hook_race_module_end(info));
	return 0;
}

void runtime_log_modules(void)
{
	static uint64_t listed;
	uint64_t loaded = 0;

	dl_iterate_phdr(look_at_adds, &loaded);
	if (__atomic_exchange_n(&listed, loaded, __ATOMIC_RELAXED) != loaded)
		dl_iterate_phdr(put_module, NULL);
}

void runtime_log_counts(const struct race_thread *t, const uint64_t *events,
			const uint64_t *operations)
{
	uint32_t slot = race_thread_slot(t);

	counts_of[slot].events = events;
	counts_of[slot].operations = operations;
	counts_of[slot].slot = slot;
}

void runtime_log_task(const struct race_thread *task, const struct race_thread *runs)
{
	counts_of[race_thread_slot(task)] = counts_of[race_thread_slot(runs)];
}

void runtime_log_position(struct race_log_entry *e, const struct race_thread *t)
{
	uint32_t slot = race_thread_slot(t);

	if (counts_of[slot].events) {
		e->events = *counts_of[slot].events;
		e->operations = *counts_of[slot].operations;
	}
	slot = counts_of[slot].slot;
	e->side[1] = (struct race_log_side){.slot = slot, .clock = first_of[slot]};
}

void runtime_log_thread(const struct race_thread *t, const char *name)
{
	struct race_log_entry *e = new_below(RACE_LOG_ENTRIES);
	uint32_t slot = race_thread_slot(t);

	is_nameless[slot] = !e;
	name_of[slot] = race_log_name(name);
	first_of[slot] = race_thread_clock(t);
	runtime_log_counts(t, NULL, NULL);
	if (!e)
		return;
	runtime_log_position(e, runtime_self);
	e->side[0] = (struct race_log_side){.slot = slot, .clock = first_of[slot]};
	put_text(e, name);
	if (runtime_depends) {
		race_depend_count(t, &e->value);
		entry_of[slot] = e;
	}
	runtime_log_put(e, RACE_LOG_THREAD);
}

void runtime_log_thread_end(const struct race_thread *t)
{
	struct race_log_entry *e = entry_of[race_thread_slot(t)];

	if (e)
		e->size = 1;
}

uint64_t runtime_log_segment(const struct race_thread *t)
{
	uint32_t slot = race_thread_slot(t);

	return race_log_mix(name_of[slot], race_thread_clock(t) - first_of[slot]);
}

static uint64_t pair_of(const struct race_found *f)
{
	return race_log_mix((uint64_t)f->before.slot << 32 | f->now.slot,
			    (uint64_t)f->before.write << 1 | f->now.write);
}

static uint64_t cell_of(const struct race_found *f)
{
	return race_log_mix(race_log_mix(pair_of(f), f->address), f->bytes);
}

/* The same segments, too. */
static bool is_told(const struct race_found *f)
{
	return is_in(told,
		     race_log_mix(cell_of(f), (uint64_t)f->before.clock << 32 | f->now.clock));
}

/* Threads that come at once may both be the last one. */
static bool is_enough_here(const struct race_found *f)
{
	uint8_t *count = &cell_count[cell_of(f) >> 48];
	uint8_t n = __atomic_load_n(count, __ATOMIC_RELAXED);

	if (n >= OF_A_CELL)
		return true;
	__atomic_store_n(count, (uint8_t)(n + 1), __ATOMIC_RELAXED);
	return false;
}

static bool is_enough(const struct race_found *f)
{
	uint64_t pair = pair_of(f);
	uint32_t *of_pair = &pair_count[pair >> 52];
	uint32_t all = __atomic_load_n(&told_count, __ATOMIC_RELAXED);

	if (__atomic_load_n(of_pair, __ATOMIC_RELAXED) >= OF_A_PAIR &&
	    (all >= PAGES_TO ||
	     is_in(near, race_log_mix(pair, f->address >> (all < LINES_TO ? 6 : 12)))))
		return true;
	__atomic_fetch_add(of_pair, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&told_count, 1, __ATOMIC_RELAXED);
	return false;
}

void runtime_log_race(const struct race_found *f)
{
	struct race_log_entry *e;

	if (!file)
		return;
	__atomic_fetch_add(&file->races, 1, __ATOMIC_RELAXED);
	if (is_told(f))
		return;
	if (is_enough_here(f) || is_enough(f)) {
		__atomic_fetch_add(&file->untold, 1, __ATOMIC_RELAXED);
		return;
	}
	/* Whose slot that was before would be taken for it. */
	if (is_nameless[f->before.slot] || is_nameless[f->now.slot]) {
		__atomic_fetch_add(&file->dropped, 1, __ATOMIC_RELAXED);
		return;
	}
	e = runtime_log_new();
	if (!e)
		return;
	e->address = f->address;
	e->side[0] =
		(struct race_log_side){f->before.slot, f->before.clock, f->before.write, f->bytes};
	e->side[1] = (struct race_log_side){f->now.slot, f->now.clock, f->now.write, f->bytes};
	runtime_log_put(e, RACE_LOG_RACE);
}
