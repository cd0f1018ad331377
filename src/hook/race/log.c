/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is found goes to a file that is mapped: it is there however the process ends. Of one place
 * in the program only so many races are told, and one on the same 8 bytes once: a loop may make
 * millions. The second pass finds whoever else was at the same bytes.
 */
#include "race/log.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "hook/race/module.h"
#include "hook/race/runtime.h"
#include "race/sys.h"

#define PLACE (115ul << 40) /* before RACE_ARENA */
#define TOLD (1u << 16)
#define SITES (1u << 12)
#define MOST_OF_A_SITE 512u

static struct race_log *file;
static struct race_log_entry *entry_of[RACE_MOST_THREADS]; /* of threads, by slot */
static uint64_t told[TOLD];                                /* hashes */
static struct {
	const void *site;
	uint32_t count;
} sites[SITES];

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
	file = (struct race_log *)at;
	file->magic = RACE_LOG_MAGIC;
	return 0;
}

struct race_log_entry *runtime_log_new(void)
{
	uint32_t i;

	if (!file)
		return NULL;
	i = __atomic_load_n(&file->count, __ATOMIC_RELAXED);
	do {
		if (i >= RACE_LOG_ENTRIES) {
			__atomic_fetch_add(&file->dropped, 1, __ATOMIC_RELAXED);
			return NULL;
		}
	} while (!__atomic_compare_exchange_n(&file->count, &i, i + 1, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return &file->entry[i];
}

void runtime_log_put(struct race_log_entry *e, uint32_t kind)
{
	__atomic_store_n(&e->kind, kind, __ATOMIC_RELEASE);
}

void runtime_log_stopped(void)
{
	if (file)
		file->stopped = race_stopped();
}

static void put_text(struct race_log_entry *e, const char *text)
{
	size_t n = strlen(text);

	memcpy(e->text, text, n < RACE_LOG_TEXT ? n : RACE_LOG_TEXT - 1);
}

void runtime_log_module(const char *name, uint64_t address, uint64_t end)
{
	struct race_log_entry *e = runtime_log_new();

	if (!e)
		return;
	put_text(e, name);
	e->address = address;
	e->value = end;
	runtime_log_put(e, RACE_LOG_MODULE);
}

static int put_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	runtime_log_module(info->dlpi_name, info->dlpi_addr, hook_race_module_end(info));
	return 0;
}

void runtime_log_modules(void)
{
	dl_iterate_phdr(put_module, NULL);
}

void runtime_log_thread(const struct race_thread *t, const char *name)
{
	struct race_log_entry *e = runtime_log_new();

	if (!e)
		return;
	e->side[0] =
		(struct race_log_side){.slot = race_thread_slot(t), .clock = race_thread_clock(t)};
	put_text(e, name);
	if (runtime_depends) {
		race_depend_count(t, &e->value);
		entry_of[race_thread_slot(t)] = e;
	}
	runtime_log_put(e, RACE_LOG_THREAD);
}

void runtime_log_thread_end(const struct race_thread *t)
{
	struct race_log_entry *e = entry_of[race_thread_slot(t)];

	if (e)
		e->size = 1;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/* The same bytes, place and kind of the other side; now and then it is told twice. */
static bool is_told(const struct race_found *f)
{
	uint64_t h = mix(mix(mix(1, f->address), (uintptr_t)f->site),
			 f->bytes | (uint64_t)f->before.write << 8);

	h = mix(h, f->before.slot) | 1;
	if (__atomic_load_n(&told[h >> 48], __ATOMIC_RELAXED) == h)
		return true;
	__atomic_store_n(&told[h >> 48], h, __ATOMIC_RELAXED);
	return false;
}

static bool is_enough(const struct race_found *f)
{
	uint32_t i = (uint32_t)(mix(1, (uintptr_t)f->site) >> 32);

	for (uint32_t n = 0; n < SITES; n++, i++) {
		const void *none = NULL;

		if (sites[i % SITES].site != f->site &&
		    !__atomic_compare_exchange_n(&sites[i % SITES].site, &none, f->site, false,
						 __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
		    none != f->site)
			continue;
		return __atomic_fetch_add(&sites[i % SITES].count, 1, __ATOMIC_RELAXED) >=
		       MOST_OF_A_SITE;
	}
	return true;
}

void runtime_log_race(const struct race_found *f)
{
	struct race_log_entry *e;

	if (!file)
		return;
	__atomic_fetch_add(&file->races, 1, __ATOMIC_RELAXED);
	if (is_told(f) || is_enough(f))
		return;
	e = runtime_log_new();
	if (!e)
		return;
	e->address = f->address;
	e->size = f->size;
	e->site = (uintptr_t)f->site;
	e->side[0] =
		(struct race_log_side){f->before.slot, f->before.clock, f->before.write, f->bytes};
	e->side[1] = (struct race_log_side){f->now.slot, f->now.clock, f->now.write, f->bytes};
	runtime_log_put(e, RACE_LOG_RACE);
}
