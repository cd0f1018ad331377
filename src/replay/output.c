/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares what ranks printed with what they had printed (trace/output.h), byte by byte as far as
 * the text was kept, and by the hashes of blocks behind that. Invariant: a difference is reported
 * only between bytes that both runs wrote, or if an end was reproduced before which one of them
 * wrote more.
 */
#include "replay/output.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launch/front.h"
#include "replay/alone.h"
#include "replay/output-compare.h"
#include "replay/output-names.h"
#include "replay/pass.h"
#include "replay/unread.h"
#include "trace/output.h"
#include "trace/theirs.h"
#include "trace/written.h"

#define SHOWN 4 /* ranks whose lines are shown */

/* What that process of the rank printed in this replay; all zero if the process did not come up. */
bool replay_output_read_found(const struct replay_front *f, size_t rank, uint32_t process,
			      struct trace_output *o)
{
	char name[48];
	struct trace_view view;
	const char *why;
	bool good;

	memset(o, 0, sizeof(*o));
	snprintf(name, sizeof(name), REPLAY_PRINTED "%04zu-%u", rank, process);
	if (trace_view_open(&view, f->session_fd, name, &why))
		return false;
	good = trace_output_read(o, &view) == 0;
	trace_view_close(&view);
	return good;
}

bool replay_output_read_recorded(const struct replay_front *f, size_t rank, const char *name,
				 struct trace_output *o)
{
	char dir[TRACE_RANK_NAME_BYTES];
	struct trace_view view;
	const char *why;
	bool good = false;
	int fd;

	trace_dir_rank_name(f->run->rank[rank].rank, dir);
	fd = openat(f->run->dir.fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && trace_view_open(&view, fd, name, &why) == 0) {
		good = trace_output_read(o, &view) == 0;
		trace_view_close(&view);
	}
	if (fd >= 0)
		close(fd);
	return good;
}

/* A rank that is killed by a launcher, here or there, does not write what is in its buffers. */
static bool is_reproduced(const struct replay_front *f, size_t rank)
{
	const struct trace_run_stream *last = f->run->rank[rank].last;
	const struct trace_meta *meta = &f->run->meta;
	const char *why = f->word[rank].why;

	if (!last || last->end < TRACE_END_EXIT || last->end > TRACE_END_EARLY ||
	    f->run->rank[rank].stop || !why || strcmp(why, REPLAY_WHY_EXIT) != 0)
		return false;
	return meta->ended == TRACE_ENDED_EXIT && (f->ranks == 1 || meta->status == 0);
}

struct children {
	uint64_t recorded, found, flags;
	uint64_t commands; /* of the recorded ones, less those that were found */
};

/*
 * Threads were printing when the process ended. Which of them still managed to is chance, in the
 * recording and in the replay.
 */
static bool ends_in_the_middle(const struct trace_output *a, const struct trace_output *b)
{
	return a->flags & TRACE_OUTPUT_ALIVE &&
	       (a->writing || a->length[0] != b->length[0] || a->length[1] != b->length[1]);
}

static void say_cut(const struct replay_front *f, size_t rank, const struct trace_output *a,
		    const struct trace_output *b)
{
	unsigned i = a->length[0] == b->length[0] && a->length[1] != b->length[1];

	replay_output_end_line(f);
	rp_say("rank %zu: threads were still running when the process ended, so their last output "
	       "may differ: recorded %lu bytes on %s, found %lu",
	       rank, (unsigned long)a->length[i], replay_output_name[i],
	       (unsigned long)b->length[i]);
}

/* One process of a rank; true if it differs and that was said. */
static bool judge_process(const struct replay_front *f, size_t rank,
			  const struct trace_run_stream *s, bool first, struct children *c)
{
	bool strict = is_reproduced(f, rank), unread = replay_unread(f);
	struct replay_output_allowance may = {!strict || unread, !strict || unread};
	struct trace_output a, b;
	struct replay_output_difference d;
	bool other = false;

	if (!replay_output_read_recorded(f, rank, s->name, &a))
		return false;
	if (replay_output_read_found(f, rank, s->process, &b)) {
		other = replay_output_differ(&a, &b, may, &d);
		c->recorded += a.children;
		c->found += b.children;
		c->commands += a.commands - b.commands;
		c->flags |= a.flags | b.flags;
	}
	if (other)
		replay_output_say_difference(f, rank, &a, &b, &d, first);
	else if (strict && ends_in_the_middle(&a, &b))
		say_cut(f, rank, &a, &b);
	trace_output_free(&a);
	trace_output_free(&b);
	return other;
}

/* True if it printed something else and that was said; *own: not only its children did. */
static bool judge_rank(const struct replay_front *f, size_t rank, bool first, bool *own)
{
	struct children c = {0};
	bool other = false;

	for (size_t k = 0; k < f->run->rank[rank].streams; k++) {
		const struct trace_run_stream *s = &f->run->rank[rank].stream[k];

		if (s->kind == TRACE_STREAM_OUTPUT && !s->damage)
			other = judge_process(f, rank, s, first && !other, &c) || other;
	}
	*own |= other;
	c.recorded &= (1ull << 48) - 1;
	c.found &= (1ull << 48) - 1;
	c.commands &= (1ull << 48) - 1;
	if (other || !is_reproduced(f, rank) || replay_front_has_processes(f) || replay_unread(f))
		return other;
	if (c.commands)
		rp_say("rank %zu: its child processes executed something else than recorded; one "
		       "that was ended before it did may be the cause",
		       rank);
	if (c.recorded == c.found || c.flags & TRACE_OUTPUT_UNSEEN)
		return false;
	rp_say("%srank %zu: its child processes printed something else than recorded; child "
	       "processes run again, they are not replayed",
	       first ? "replay diverged: " : "  ", rank);
	return true;
}

static void say_why(const struct replay_front *f)
{
	size_t threads = 0;

	for (size_t i = 0; i < f->ranks; i++)
		threads = f->run->rank[i].threads > threads ? f->run->rank[i].threads : threads;
	if (threads > 1 && f->run->meta.threads != TRACE_THREADS_SERIAL) {
		rp_say("  threads that share data without locks can do that: record with "
		       "--threads=serial");
		replay_report_unseen(f);
	} else if (!replay_report_unseen(f)) {
		rp_say("  what is not recorded can do that: a file that has changed, the cycle "
		       "counter, shared memory");
	}
}

/* Ranks that were not started, or that the user has ended, are not judged. */
static bool is_to_be_judged(const struct replay_front *f)
{
	int sig = launch_front_signal();

	return (!f->pass || f->pass->exact) && !f->explore &&
	       (!sig || sig == SIGUSR1 || sig == SIGUSR2) &&
	       !replay_front_any(f, REPLAY_WHY_FAILURE) &&
	       faccessat(f->session_fd, "refused", F_OK, 0) != 0;
}

static bool begins_at(const struct trace_output *o, const char *path, uint64_t *start)
{
	for (size_t i = 0; i < o->files; i++) {
		if (o->file[i].appended && strcmp(o->file[i].path, path) == 0) {
			*start = o->file[i].start;
			return true;
		}
	}
	return false;
}

static bool start_of(const void *ctx, const char *path, uint64_t *start)
{
	const struct replay_front *f = ctx;
	bool found = false;

	for (size_t i = 0; i < f->ranks && !found; i++) {
		for (size_t k = 0; k < f->run->rank[i].streams && !found; k++) {
			const struct trace_run_stream *s = &f->run->rank[i].stream[k];
			struct trace_output o;

			if (s->kind != TRACE_STREAM_OUTPUT ||
			    !replay_output_read_found(f, i, s->process, &o))
				continue;
			found = begins_at(&o, path, start);
			trace_output_free(&o);
		}
	}
	return found;
}

static bool has_bit(int dir, const char *name, const char *path)
{
	struct trace_theirs theirs = {0};
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	unsigned word;
	uint64_t bit = trace_theirs_bit(XXH3_64bits(path, strlen(path)), &word);
	bool is = fd >= 0 && pread(fd, &theirs, sizeof(theirs), 0) == sizeof(theirs) &&
		  (theirs.version > TRACE_THEIRS_VERSION || theirs.word[word] & bit);

	if (fd >= 0)
		close(fd);
	return is;
}

/* May children, which are not recorded, have written the file, then or now? */
static bool is_theirs(const void *ctx, const char *path)
{
	const struct replay_front *f = ctx;
	char *whole = realpath(path, NULL);
	bool theirs = false;

	for (size_t i = 0; i < f->ranks && !theirs; i++) {
		char dir[TRACE_RANK_NAME_BYTES], name[48];
		int fd;

		trace_dir_rank_name(f->run->rank[i].rank, dir);
		snprintf(name, sizeof(name), REPLAY_THEIRS "%04zu", i);
		fd = openat(f->run->dir.fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		theirs = has_bit(fd, TRACE_THEIRS, whole ? whole : path) ||
			 has_bit(f->session_fd, name, whole ? whole : path);
		if (fd >= 0)
			close(fd);
	}
	free(whole);
	return theirs;
}

static char *files_difference(const struct replay_front *f, bool *theirs)
{
	char *which = trace_written_difference(&f->run->dir, start_of, is_theirs, f, theirs);
	char *text = which ? rp_format("a file that the run wrote differs from the recorded one: "
				       "%s",
				       which)
			   : NULL;

	free(which);
	return text;
}

/* Names are those that the kernel has, which it may have in another way where a link has come. */
static bool is_where_it_was(const struct replay_front *f)
{
	char *now = realpath(f->run->meta.cwd, NULL);
	bool same = now && strcmp(now, f->run->meta.cwd) == 0;

	free(now);
	return same;
}

/* While another replay of the run is at work, the files are unfinished. */
static int judge_files(const struct replay_front *f, int code)
{
	struct stat moved;
	bool theirs;
	char *text;

	/* Where directories lie elsewhere now, so do the files. */
	if (fstatat(f->session_fd, "moved", &moved, 0) == 0 && moved.st_size > 0)
		return code;
	for (size_t i = 0; i < f->ranks; i++) {
		if (!is_reproduced(f, i))
			return code;
	}
	text = is_where_it_was(f) ? replay_output_names_difference(f) : NULL;
	theirs = false;
	if (!text)
		text = files_difference(f, &theirs);
	if (!text || f->force || !replay_session_is_alone(f) || replay_unread(f)) {
		free(text);
		return code;
	}
	for (char *p = text; *p; p++)
		*p = (unsigned char)*p < ' ' || *p == 0x7f ? '?' : *p;
	replay_output_end_line(f);
	if (theirs) {
		rp_say("%s; child processes had it open, too; these run again, they are not "
		       "replayed",
		       text);
	} else {
		rp_say("replay diverged: %s", text);
		say_why(f);
		code = RP_EXIT_DIVERGED;
	}
	free(text);
	return code;
}

/* A process that begins at an image writes to copies of the files that it had open there. */
static void say_not_compared(const struct replay_front *f)
{
	if (f->pass || faccessat(f->run->dir.fd, TRACE_WRITTEN, F_OK, 0) != 0)
		return;
	replay_output_end_line(f);
	rp_say("files that the program writes were not compared: this replay %s",
	       f->alone ? "is of ranks alone" : "began in the middle of the run");
}

int replay_output_judge(const struct replay_front *f, int code)
{
	bool diverged = f->stuck || replay_front_any(f, REPLAY_WHY_DIVERGED), own = false;
	size_t others = 0;

	if (!is_to_be_judged(f))
		return code;
	for (size_t i = 0; i < f->ranks && others <= SHOWN; i++) {
		if (replay_alone_is_in(f, i))
			others += judge_rank(f, i, !diverged && !others, &own);
	}
	if (!others && !diverged && !replay_unread(f) && replay_report_gave_more(f))
		others = own = true;
	if (!others && !diverged && !f->pass && !replay_unread(f))
		replay_report_gave(f);
	/* Files may be the work of several ranks. */
	if (!others && !diverged && (f->alone || f->image))
		say_not_compared(f);
	else if (!others && !diverged)
		code = judge_files(f, code);
	if (!others)
		return code;
	if (!diverged && own)
		say_why(f);
	/* With --force another program may be replayed; its output may differ. */
	return f->force ? code : RP_EXIT_DIVERGED;
}

static bool is_unfinished(const struct replay_front *f, unsigned which)
{
	for (size_t i = 0; i < f->ranks; i++) {
		for (size_t k = 0; k < f->run->rank[i].streams; k++) {
			const struct trace_run_stream *s = &f->run->rank[i].stream[k];
			struct trace_output o;
			bool unfinished;

			if (s->kind != TRACE_STREAM_OUTPUT ||
			    !replay_output_read_found(f, i, s->process, &o))
				continue;
			unfinished = o.unfinished[which];
			trace_output_free(&o);
			if (unfinished)
				return true;
		}
	}
	return false;
}

static bool is_one_file(void)
{
	struct stat out, err;

	return fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
	       out.st_dev == err.st_dev && out.st_ino == err.st_ino;
}

void replay_output_end_line(const struct replay_front *f)
{
	static bool done;

	if (f->pass || f->explore || done)
		return;
	done = true;
	if (is_unfinished(f, 1) || (is_one_file() && is_unfinished(f, 0))) {
		if (write(STDERR_FILENO, "\n", 1) < 0)
			return;
	}
}
