/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two passes. What they leave in the session is mapped, and stays so when the session is gone.
 */
#include "replay/races.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "replay/pass.h"

#define PATIENCE 60.0
#define MOST_PROCESSES 4096u

/* The front's callbacks know nothing of whom they work for. */
static struct replay_races *at_work;
static bool second, by_segments;

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
	if (log->log->magic == RACE_LOG_MAGIC && log->log->count <= RACE_LOG_ENTRIES)
		return true;
	munmap(at, RACE_LOG_BYTES);
	return false;
}

void replay_race_logs_read(const struct replay_front *f, struct replay_race_logs *logs)
{
	for (size_t i = 0; i < f->ranks; i++) {
		unsigned rank = f->run->rank[i].rank;

		for (unsigned k = 0; k < MOST_PROCESSES; k++) {
			struct replay_race_log log = {.rank = rank, .process = k};
			char *name = rp_format("races-%04u-%u", rank, k);
			bool there = log_open(f->session_fd, name, &log);

			free(name);
			if (!there && k)
				break;
			if (!there)
				continue;
			logs->log = rp_realloc(logs->log, logs->count + 1, sizeof(*logs->log));
			logs->log[logs->count++] = log;
		}
	}
}

void replay_race_logs_close(struct replay_race_logs *logs)
{
	for (size_t i = 0; i < logs->count; i++)
		munmap((void *)logs->log[i].log, logs->log[i].bytes);
	free(logs->log);
	*logs = (struct replay_race_logs){0};
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The addresses that raced, in ascending order. */
static int write_watch(const struct replay_front *f, const struct replay_race_log *log)
{
	uint64_t *address = rp_alloc(log->log->count + 1, sizeof(*address));
	char *name = rp_format("races-watch-%04u-%u", log->rank, log->process);
	int fd = openat(f->session_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	size_t n = 0;
	int rc = fd < 0 ? -errno : 0;

	for (uint32_t i = 0; i < log->log->count; i++) {
		if (log->log->entry[i].kind == RACE_LOG_RACE)
			address[n++] = log->log->entry[i].address;
	}
	qsort(address, n, sizeof(*address), by_address);
	if (!rc && write(fd, address, n * sizeof(*address)) != (ssize_t)(n * sizeof(*address)))
		rc = -EIO;
	if (fd >= 0)
		close(fd);
	free(name);
	free(address);
	return rc;
}

static int prepare(const struct replay_front *f)
{
	int rc = replay_pass_write(f->session_fd, "races", "");

	if (!rc && by_segments)
		rc = replay_pass_write(f->session_fd, RACE_LOG_BY_SEGMENTS, "s");
	for (size_t i = 0; second && i < at_work->found.count && !rc; i++)
		rc = write_watch(f, &at_work->found.log[i]);
	return rc;
}

static int keep(const struct replay_front *f, uint64_t started)
{
	(void)started;
	replay_race_logs_read(f, second ? &at_work->seen : &at_work->found);
	return 0;
}

static uint64_t count_races(const struct replay_race_logs *logs)
{
	uint64_t n = 0;

	for (size_t i = 0; i < logs->count; i++)
		n += logs->log[i].log->races;
	return n;
}

static char *where_left(const struct replay_front *f)
{
	for (size_t i = 0; i < f->ranks; i++) {
		if (f->word[i].why && !strcmp(f->word[i].why, REPLAY_WHY_DIVERGED))
			return replay_word_text(f, i);
	}
	return rp_strdup("a place where all threads wait for each other");
}

static int left(const struct replay_front *f, int code)
{
	struct replay_race_logs *logs = second ? &at_work->seen : &at_work->found;

	if (code != RP_EXIT_DIVERGED)
		return code;
	replay_race_logs_read(f, logs);
	if (!second && !count_races(logs))
		return code;
	if (!at_work->left)
		at_work->left = where_left(f);
	return 0;
}

static const struct replay_pass pass = {
	.verb = "look for races in",
	.doing = "looking for races in",
	.noun = "replay",
	.prepare = prepare,
	.keep = keep,
	.left = left,
};

static int run_pass(const struct trace_run *run, const char *twin, bool is_second)
{
	struct replay_front f = {.run = run,
				 .ranks = run->ranks,
				 .patience = PATIENCE,
				 .twin = twin,
				 .valgrind = !twin};
	int code = replay_check(&f);

	second = is_second;
	return code ? code : replay_pass_run(&f, &pass);
}

int replay_races(const struct trace_run *run, const char *twin, bool segments,
		 struct replay_races *races)
{
	int code;

	*races = (struct replay_races){0};
	at_work = races;
	by_segments = segments;
	code = run_pass(run, twin, false);
	if (!code && count_races(&races->found))
		code = run_pass(run, twin, true);
	at_work = NULL;
	if (code)
		replay_races_free(races);
	return code;
}

void replay_races_free(struct replay_races *races)
{
	replay_race_logs_close(&races->found);
	replay_race_logs_close(&races->seen);
	free(races->left);
	races->left = NULL;
}

const char *replay_race_thread(const struct replay_race_log *log, const struct race_log_side *side,
			       uint32_t *segment)
{
	const struct race_log_entry *best = NULL;

	for (uint32_t i = 0; i < log->log->count; i++) {
		const struct race_log_entry *e = &log->log->entry[i];

		if (e->kind == RACE_LOG_THREAD && e->side[0].slot == side->slot &&
		    e->side[0].clock <= side->clock &&
		    (!best || e->side[0].clock > best->side[0].clock))
			best = e;
	}
	*segment = best ? side->clock - best->side[0].clock : 0;
	return best ? best->text : "?";
}

const char *replay_race_module(const struct replay_race_log *log, uint64_t address, uint64_t *at)
{
	for (uint32_t i = 0; i < log->log->count; i++) {
		const struct race_log_entry *e = &log->log->entry[i];

		if (e->kind != RACE_LOG_MODULE || address < e->address || address >= e->value)
			continue;
		*at = address - e->address;
		return e->text;
	}
	return NULL;
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
