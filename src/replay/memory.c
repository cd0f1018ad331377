/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pass whose ranks leave figures in the session, which are added up, and dependences, which are
 * kept if all of them are known.
 */
#include "replay/memory.h"

#include "base/log.h"
#include "replay/memory-order.h"
#include "replay/pass.h"
#include "replay/races.h"

/* The front's callbacks know nothing of whom they work for. */
static struct replay_memory *at_work;

static int prepare(const struct replay_front *f)
{
	char unit[] = {(char)('a' + at_work->shift), '\0'};
	int rc = replay_pass_write(f->session_fd, "races", "");

	return rc ? rc : replay_pass_write(f->session_fd, RACE_LOG_MEMORY, unit);
}

static void add(struct race_depend_figures *sum, const struct race_depend_figures *one)
{
	sum->references += one->references;
	sum->operations += one->operations;
	sum->checked += one->checked;
	for (int i = 0; i < RACE_DEPEND_ORDERS; i++)
		sum->traced[i] += one->traced[i];
	sum->histories += one->histories;
	sum->lost += one->lost;
	if (one->stopped)
		sum->stopped = one->stopped;
}

static int keep(const struct replay_front *f, uint64_t started)
{
	struct replay_race_logs logs = {0};
	int rc = 0;

	(void)started;
	replay_race_logs_read(f, &logs);
	for (size_t i = 0; i < logs.count; i++) {
		const struct race_log *log = logs.log[i].log;

		for (uint32_t k = 0; k < log->count; k++) {
			at_work->threads += log->entry[k].kind == RACE_LOG_THREAD;
			if (log->entry[k].kind != RACE_LOG_DEPEND)
				continue;
			at_work->processes++;
			add(&at_work->sum, &log->entry[k].depend);
		}
	}
	if (at_work->processes && !at_work->sum.stopped && !at_work->sum.lost) {
		rc = replay_memory_order_keep(f, &logs);
		at_work->kept = !rc;
	}
	replay_race_logs_close(&logs);
	return rc < 0 ? replay_pass_cannot(f, rc) : 0;
}

static const struct replay_pass pass = {
	.verb = "evaluate the memory of",
	.doing = "evaluating the memory of",
	.noun = "evaluation",
	.prepare = prepare,
	.keep = keep,
};

int replay_memory(const struct trace_run *run, struct replay_memory *memory)
{
	struct replay_front f = {.run = run,
				 .ranks = run->ranks,
				 .patience = memory->patience,
				 .twin = memory->twin};
	int code = replay_check(&f);

	at_work = memory;
	if (!code)
		code = replay_pass_run(&f, &pass);
	at_work = NULL;
	return code;
}
