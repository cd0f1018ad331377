/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After a recorded run: what was recorded is told, and how ranks ended that did not end well. A
 * trace that nobody wants, or in which there is nothing, is removed.
 */
#include "cmd/record.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/show.h"
#include "symbol/symbol.h"
#include "trace/input.h"
#include "trace/run.h"
#include "trace/unseen.h"
#include "trace/words.h"
#include "trace/written.h"

#define SHOWN 8 /* ranks whose end is told */

static bool has_vanished(const struct trace_dir *dir)
{
	struct stat ours, there;

	return fstat(dir->fd, &ours) != 0 || stat(dir->path, &there) != 0 ||
	       ours.st_dev != there.st_dev || ours.st_ino != there.st_ino;
}

static size_t count_recorded(const struct trace_dir *dir, const struct trace_ranks *ranks)
{
	size_t n = 0;

	for (size_t i = 0; i < ranks->n; i++) {
		char name[TRACE_RANK_NAME_BYTES];
		char *stream;

		trace_dir_rank_name(ranks->rank[i], name);
		stream = rp_format("%s/0.order", name);
		n += faccessat(dir->fd, stream, F_OK, 0) == 0;
		free(stream);
	}
	return n;
}

void cmd_record_remove(struct trace_dir *dir)
{
	int rc = trace_dir_remove(dir);

	if (rc)
		rp_say("cannot remove the trace %s: %s", dir->show, strerror(-rc));
}

/*
 * A launcher that was asked to end may end with status 0, whatever became of its ranks. If
 * recording stopped, the launcher's status is all we have.
 */
static bool ended_well(const struct trace_dir *dir, const struct launch_ended *ended)
{
	struct trace_run run;
	bool well = true;

	if (launch_ended_code(ended) || launch_front_signal() || trace_run_open(&run, dir->path))
		return false;
	for (size_t i = 0; i < run.ranks; i++) {
		const struct trace_run_rank *rank = &run.rank[i];

		well = well && (rank->stop || (rank->last && rank->last->end == TRACE_END_EXIT &&
					       rank->last->end_value == 0));
	}
	trace_run_close(&run);
	return well;
}

/* The only rank could not be started, and has said so: there is nothing to keep. */
static bool never_started(const struct launch_command *command, const struct launch_ended *ended)
{
	int code = launch_ended_code(ended);

	return !command->has_launcher && (code == RP_EXIT_CANNOT_EXEC || code == RP_EXIT_NOT_FOUND);
}

/* Is there a rank whose recording is incomplete? */
static bool misses_something(const struct trace_dir *dir, const struct trace_ranks *ranks)
{
	bool misses = false;

	for (size_t i = 0; i < ranks->n && !misses; i++) {
		char name[TRACE_RANK_NAME_BYTES];
		char *file;

		trace_dir_rank_name(ranks->rank[i], name);
		file = rp_format("%s/" TRACE_UNSEEN_NAME, name);
		misses = faccessat(dir->fd, file, F_OK, 0) == 0;
		free(file);
	}
	return misses;
}

static void say_recorded(const struct trace_dir *dir, const struct trace_ranks *ranks, size_t n,
			 double seconds)
{
	int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *size = cmd_show_size(fd < 0 ? 0 : cmd_show_usage(fd));

	rp_say("recorded in %s (%zu %s, %.*f s, %s)%s", dir->show, n, n == 1 ? "rank" : "ranks",
	       seconds < 10 ? 1 : 0, seconds, size,
	       n < ranks->n || misses_something(dir, ranks) ? "; not all of it, see 'reprise info'"
							    : "");
	free(size);
}

/* " at file.c:12 (function)" if the rank noted where; the caller frees. */
static char *crash_place(const struct trace_run_rank *rank)
{
	for (char **note = rank->notes; note && *note; note++) {
		const char *where = strchr(*note, ' '), *tab = where ? strchr(where, '\t') : NULL;
		char *first, *text;

		if (strncmp(*note, TRACE_NOTE_CRASH, strlen(TRACE_NOTE_CRASH)) != 0 || !where)
			continue;
		first = rp_format("%.*s", (int)strcspn(where + 1, "\t"), where + 1);
		text = symbol_is_foreign(first) && tab ? symbol_text(tab + 1) : symbol_text(first);
		free(first);
		return text;
	}
	return rp_strdup("");
}

/* Says how ranks ended that did not end well: the signal, as a shell says it, and the place. */
static void say_ends(const struct trace_dir *dir, bool alone, const struct launch_ended *ended)
{
	struct trace_run run;
	size_t said = 0;

	if (!launch_ended_code(ended) || trace_run_open(&run, dir->path))
		return;
	for (size_t i = 0; i < run.ranks && said < SHOWN; i++) {
		const struct trace_run_rank *rank = &run.rank[i];
		const struct trace_run_stream *last = rank->last;
		bool helper = last && last->end && strcmp(last->thread, "0") != 0;
		char *words, *place;

		if (alone && ended->signaled)
			words = trace_end_words(TRACE_END_SIGNAL, (uint64_t)ended->status);
		else if (last && (last->end == TRACE_END_SIGNAL || last->end == TRACE_END_ABORT))
			words = trace_end_words(last->end, last->end_value);
		else
			continue;
		place = crash_place(rank);
		rp_say("  rank %u%s%s: %s%s", rank->rank, helper ? " thread " : "",
		       helper ? last->thread : "", words, place);
		free(place);
		free(words);
		said++;
	}
	trace_run_close(&run);
	symbol_forget();
}

void cmd_record_finish(const struct cmd_recorded *o, struct trace_dir *dir, struct trace_meta *meta,
		       const struct launch_ended *ended)
{
	struct trace_ranks ranks;
	size_t recorded;
	int rc;

	if (has_vanished(dir)) {
		rp_say("the trace directory %s has vanished: this run is not recorded", dir->show);
		return;
	}
	meta->ended = ended->signaled ? TRACE_ENDED_SIGNAL : TRACE_ENDED_EXIT;
	meta->status = ended->status;
	meta->seconds = ended->seconds;
	if (trace_dir_ranks(dir, &ranks))
		return;
	recorded = count_recorded(dir, &ranks);
	if ((o->discard && ended_well(dir, ended)) ||
	    (!recorded && never_started(o->command, ended))) {
		cmd_record_remove(dir);
	} else if (ranks.n == 0) {
		cmd_record_remove(dir);
		rp_say("nothing was recorded: %s started no rank", o->name);
	} else {
		rc = trace_meta_write(dir, meta);
		if (rc)
			rp_say("cannot write how the run ended to %s: %s", dir->show,
			       strerror(-rc));
		rc = trace_written_keep(dir);
		if (rc)
			rp_say("cannot keep in %s the state of the files that were written: %s",
			       dir->show, strerror(-rc));
		if (recorded)
			say_recorded(dir, &ranks, recorded, ended->seconds);
		if (recorded)
			say_ends(dir, !o->command->has_launcher, ended);
		else
			rp_say("nothing was recorded in %s: no rank loaded the hook library, or "
			       "none could write there; see 'reprise doctor'",
			       dir->show);
	}
	trace_ranks_free(&ranks);
}
