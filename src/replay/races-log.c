/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log that the runtime of a checked program has left, and what is looked up in it for each race:
 * threads by slot and clock, accesses by their segment.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "replay/front.h"
#include "replay/races.h"

static void add(const struct race_log_entry ***list, size_t *count, const struct race_log_entry *e)
{
	if ((*count & (*count - 1)) == 0)
		*list = rp_realloc(*list, *count ? 2 * *count : 1, sizeof(**list));
	(*list)[(*count)++] = e;
}

static int compare(const struct race_log_entry *e, uint32_t slot, uint32_t clock)
{
	if (e->side[0].slot != slot)
		return e->side[0].slot < slot ? -1 : 1;
	return e->side[0].clock < clock ? -1 : e->side[0].clock > clock;
}

static int by_slot(const void *a, const void *b)
{
	const struct race_log_entry *x = *(const struct race_log_entry *const *)a;
	const struct race_log_entry *y = *(const struct race_log_entry *const *)b;
	int order = compare(x, y->side[0].slot, y->side[0].clock);

	return order ? order : x < y ? -1 : x > y;
}

static int by_segment(const void *a, const void *b)
{
	const struct replay_race_access *x = a, *y = b;

	if (x->segment != y->segment)
		return x->segment < y->segment ? -1 : 1;
	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

static void index_make(struct replay_race_log *log)
{
	const struct race_log_entry **access = NULL;
	size_t accesses = 0;

	for (uint32_t i = 0; i < log->log->count; i++) {
		const struct race_log_entry *e = &log->log->entry[i];

		if (e->kind == RACE_LOG_THREAD)
			add(&log->thread, &log->threads, e);
		else if (e->kind == RACE_LOG_MODULE)
			add(&log->module, &log->modules, e);
		else if (e->kind == RACE_LOG_BLOCK)
			add(&log->block, &log->blocks, e);
		else if (e->kind == RACE_LOG_ACCESS)
			add(&access, &accesses, e);
	}
	if (log->threads)
		qsort(log->thread, log->threads, sizeof(*log->thread), by_slot);
	log->access = rp_alloc(accesses + 1, sizeof(*log->access));
	for (size_t i = 0; i < accesses; i++) {
		uint32_t segment;
		const char *name = replay_race_thread(log, &access[i]->side[0], &segment);

		log->access[i] =
			(struct replay_race_access){race_log_segment(name, segment), access[i]};
	}
	log->accesses = accesses;
	qsort(log->access, accesses, sizeof(*log->access), by_segment);
	free(access);
}

static void log_close(struct replay_race_log *log)
{
	munmap((void *)log->log, log->bytes);
	free(log->thread);
	free(log->module);
	free(log->block);
	free(log->access);
}

static bool log_open(int dir, const char *name, struct replay_race_log *log)
{
	int fd = rp_fd_open_file(dir, name);
	struct stat st;
	void *at;

	if (fd < 0)
		return false;
	at = fstat(fd, &st) == 0 && (size_t)st.st_size >= RACE_LOG_BYTES
		     ? mmap(NULL, RACE_LOG_BYTES, PROT_READ, MAP_SHARED, fd, 0)
		     : MAP_FAILED;
	close(fd);
	if (at == MAP_FAILED)
		return false;
	log->log = at;
	log->bytes = RACE_LOG_BYTES;
	if (log->log->magic == RACE_LOG_MAGIC && log->log->count <= RACE_LOG_ENTRIES) {
		index_make(log);
		return true;
	}
	munmap(at, RACE_LOG_BYTES);
	return false;
}

/* A process that was never a checked program has none. */
static void read_one(int dir, unsigned rank, uint32_t process, struct replay_race_logs *logs)
{
	struct replay_race_log log = {.rank = rank, .process = process};
	char *name = rp_format("races-%04u-%u", rank, process);

	if (log_open(dir, name, &log)) {
		logs->log = rp_realloc(logs->log, logs->count + 1, sizeof(*logs->log));
		logs->log[logs->count++] = log;
	}
	free(name);
}

void replay_race_logs_read(const struct replay_front *f, struct replay_race_logs *logs)
{
	for (size_t i = 0; i < f->ranks; i++) {
		const struct trace_run_rank *rank = &f->run->rank[i];

		for (size_t k = 0; k < rank->streams; k++) {
			if (trace_run_is_of_process(&rank->stream[k]))
				read_one(f->session_fd, rank->rank, rank->stream[k].process, logs);
		}
	}
}

void replay_race_logs_close(struct replay_race_logs *logs)
{
	for (size_t i = 0; i < logs->count; i++)
		log_close(&logs->log[i]);
	free(logs->log);
	*logs = (struct replay_race_logs){0};
}

const struct race_log_entry *replay_race_thread_of(const struct replay_race_log *log,
						   const struct race_log_side *side)
{
	size_t low = 0, high = log->threads;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare(log->thread[mid], side->slot, side->clock) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low && log->thread[low - 1]->side[0].slot == side->slot ? log->thread[low - 1]
								       : NULL;
}

const char *replay_race_thread(const struct replay_race_log *log, const struct race_log_side *side,
			       uint32_t *segment)
{
	const struct race_log_entry *best = replay_race_thread_of(log, side);

	*segment = best ? side->clock - best->side[0].clock : 0;
	return best ? best->text : "?";
}

const char *replay_race_module(const struct replay_race_log *log, uint64_t address, uint64_t *at)
{
	const char *found = NULL;

	for (size_t i = 0; i < log->modules; i++) {
		const struct race_log_entry *e = log->module[i];

		if (address < e->address || address >= e->value)
			continue;
		*at = address - e->address;
		found = e->text;
	}
	return found;
}

const struct replay_race_log *replay_race_seen(const struct replay_races *races,
					       const struct replay_race_log *log)
{
	for (size_t i = 0; i < races->seen.count; i++) {
		if (races->seen.log[i].rank == log->rank &&
		    races->seen.log[i].process == log->process)
			return &races->seen.log[i];
	}
	return NULL;
}

size_t replay_race_first_access(const struct replay_race_log *log, uint64_t segment)
{
	size_t low = 0, high = log->accesses;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (log->access[mid].segment < segment)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}
