/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two passes. What they leave in the session is mapped, and stays so when the session is gone.
 */
#include "replay/races.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "replay/job.h"
#include "replay/pass.h"
#include "replay/races-messages.h"

#define PATIENCE 60.0
#define ROOM (512ul << 10) /* of a rank, in the session */

/* The front's callbacks know nothing of whom they work for. */
static struct replay_races *at_work;
static bool second, by_segments;
static struct replay_hands hands;

static int by_address(const void *a, const void *b)
{
	const struct race_log_watch *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->segment < y->segment ? -1 : x->segment > y->segment;
}

/* Both sides of what raced, in ascending order. */
static int write_watch(const struct replay_front *f, const struct replay_race_log *log)
{
	struct race_log_watch *watch = rp_alloc(2 * (size_t)log->log->count + 1, sizeof(*watch));
	char *name = rp_format("races-watch-%04u-%u", log->rank, log->process);
	int fd = openat(f->session_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	size_t n = 0;
	int rc = fd < 0 ? -errno : 0;

	for (uint32_t i = 0; i < log->log->count; i++) {
		const struct race_log_entry *e = &log->log->entry[i];

		for (int side = 0; e->kind == RACE_LOG_RACE && side < 2; side++) {
			uint32_t segment;
			const char *thread = replay_race_thread(log, &e->side[side], &segment);

			watch[n++] = (struct race_log_watch){e->address,
							     race_log_segment(thread, segment)};
		}
	}
	qsort(watch, n, sizeof(*watch), by_address);
	if (!rc && write(fd, watch, n * sizeof(*watch)) != (ssize_t)(n * sizeof(*watch)))
		rc = -ENOSPC;
	if (fd >= 0)
		close(fd);
	free(name);
	free(watch);
	return rc;
}

/* With less, a rank could not even say that there is none. */
static int check_room(const struct replay_front *f)
{
	struct statvfs st;

	if (fstatvfs(f->session_fd, &st) != 0 || !st.f_blocks)
		return 0;
	return st.f_bavail * st.f_frsize < f->ranks * ROOM ? -ENOSPC : 0;
}

static int prepare(const struct replay_front *f)
{
	int rc = check_room(f);

	if (!rc)
		rc = replay_pass_write(f->session_fd, "races", "");
	if (!rc)
		rc = replay_hands_write(f, &hands);
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

	if (code != RP_EXIT_DIVERGED) {
		/* A rank that finds no room cannot say so either. */
		if (check_room(f) != 0)
			rp_say("there is no space left for what it finds");
		return code;
	}
	replay_race_logs_read(f, logs);
	if (!second && !count_races(logs))
		return code;
	if (!at_work->left)
		at_work->left = where_left(f);
	return 0;
}

/* How often the processes of the rank have looked at what their threads did. */
static uint64_t looks_of(const struct replay_race_logs *logs, unsigned rank)
{
	uint64_t n = 0;

	for (size_t i = 0; i < logs->count; i++) {
		if (logs->log[i].rank == rank)
			n += __atomic_load_n(&logs->log[i].log->looked, __ATOMIC_ACQUIRE);
	}
	return n;
}

/* Ranks that are ended from outside have not looked at what their threads did last. */
static void ending(const struct replay_front *f)
{
	uint64_t *before = rp_alloc(f->ranks, sizeof(*before));
	bool *asked = rp_alloc(f->ranks, sizeof(*asked));
	double deadline = replay_now() + REPLAY_GRACE;
	struct replay_race_logs logs = {0};

	replay_race_logs_read(f, &logs);
	for (size_t i = 0; i < f->ranks; i++) {
		int pid = f->state->slot[i].pid;

		before[i] = looks_of(&logs, f->run->rank[i].rank);
		asked[i] = pid > 0 && replay_job_is_ours(f, pid) &&
			   sigqueue(pid, SIGILL, (union sigval){.sival_int = REPLAY_LOOK}) == 0;
	}
	for (size_t i = 0; i < f->ranks; i++) {
		while (asked[i] && looks_of(&logs, f->run->rank[i].rank) == before[i] &&
		       replay_now() < deadline)
			replay_nap();
	}
	replay_race_logs_close(&logs);
	free(before);
	free(asked);
}

static const struct replay_pass pass = {
	.verb = "look for races in",
	.doing = "looking for races in",
	.noun = "replay",
	.prepare = prepare,
	.keep = keep,
	.left = left,
	.ending = ending,
};

static int run_pass(const struct trace_run *run, const struct replay_races_how *how, bool is_second)
{
	struct replay_front f = {.run = run,
				 .ranks = run->ranks,
				 .patience = how->patience > 0 ? how->patience : PATIENCE,
				 .twin = how->twin,
				 .valgrind = !how->twin};
	int code = replay_check(&f);

	second = is_second;
	return code ? code : replay_pass_run(&f, &pass);
}

/* Nobody who told nothing is to be taken for one who had nothing to tell. */
static int check_told(const struct trace_run *run, const struct replay_races *races,
		      const char *twin)
{
	for (size_t i = 0; i < run->ranks && !races->left; i++) {
		bool told = !run->rank[i].syncs;

		for (size_t k = 0; k < races->found.count; k++)
			told |= races->found.log[k].rank == run->rank[i].rank;
		if (told)
			continue;
		rp_say("rank %u has told nothing: is %s the checked twin that 'reprise cc' made?",
		       run->rank[i].rank, twin ? twin : run->rank[i].start.program);
		return RP_EXIT_FAILURE;
	}
	return 0;
}

int replay_races(const struct trace_run *run, const struct replay_races_how *how,
		 struct replay_races *races)
{
	int code;

	*races = (struct replay_races){0};
	at_work = races;
	by_segments = how->segments;
	code = replay_hands_find(run, &hands);
	if (!code)
		code = run_pass(run, how, false);
	if (!code)
		code = check_told(run, races, how->twin);
	if (!code && count_races(&races->found))
		code = run_pass(run, how, true);
	at_work = NULL;
	replay_hands_free(&hands);
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
