/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which data raced: two replays of the checked twin of the recorded program. The first finds the
 * bytes and who used them, the second looks at these bytes alone and tells where that was.
 */
#ifndef REPLAY_RACES_H
#define REPLAY_RACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "race/log.h"
#include "race/race.h"
#include "trace/run.h"

struct replay_race_access {
	uint64_t segment; /* race_log_segment() */
	const struct race_log_entry *entry;
};

/* A log that was read: race/log.h. */
struct replay_race_log {
	unsigned rank, process;
	const struct race_log *log;
	size_t bytes;
	const struct race_log_entry **thread, **module, **block; /* its entries of a kind */
	size_t threads, modules, blocks;
	struct replay_race_access *access; /* by segment, and as they were made */
	size_t accesses;
};

struct replay_race_logs {
	struct replay_race_log *log;
	size_t count;
};

struct replay_races {
	struct replay_race_logs found, seen; /* of the first pass, and of the second */
	char *left; /* where the replay left the recording, as a sentence part; NULL: it did not */
};

struct replay_races_how {
	const char *twin; /* absolute; NULL: the program itself, in our Valgrind tool */
	bool segments;    /* by RecPlay's segments instead of histories */
	double patience;  /* 0: the usual one */
};

/*
 * 0, or the exit code after saying why not; a replay that
 * leaves the recording is none if something was found before.
 */
int replay_races(const struct trace_run *run, const struct replay_races_how *how,
		 struct replay_races *races) __attribute__((warn_unused_result));
void replay_races_free(struct replay_races *races);

/* Those that the processes of a replay have left in its session so far. */
struct replay_front;
void replay_race_logs_read(const struct replay_front *f, struct replay_race_logs *logs);
void replay_race_logs_close(struct replay_race_logs *logs);

/* The thread that had the slot then; NULL: it is not known. */
const struct race_log_entry *replay_race_thread_of(const struct replay_race_log *log,
						   const struct race_log_side *side);

/* The same: its name, and how many of its segments came before. */
const char *replay_race_thread(const struct replay_race_log *log, const struct race_log_side *side,
			       uint32_t *segment);

/* The file that was loaded last at an address, "" for the program itself; NULL: none. *at is that
 * in the file.
 */
const char *replay_race_module(const struct replay_race_log *log, uint64_t address, uint64_t *at);

/* Which one of log->access is the first of the segment, or of a later one. */
size_t replay_race_first_access(const struct replay_race_log *log, uint64_t segment);

/* The log of the second pass of the same process, or NULL. */
const struct replay_race_log *replay_race_seen(const struct replay_races *races,
					       const struct replay_race_log *log);

#endif
