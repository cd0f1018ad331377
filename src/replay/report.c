/* SPDX-License-Identifier: Apache-2.0 */
/* What the front says about the end of a replay. Places in the program are looked up here. */
#include "replay/front.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "replay/output.h"
#include "replay/pass.h"
#include "replay/where.h"
#include "symbol/symbol.h"
#include "trace/calls.h"
#include "trace/words.h"

#define SHOWN 16 /* ranks named one by one */

/* The innermost frame of the user's, or "" if there is none. */
char *replay_place_text(const struct replay_word *w)
{
	for (size_t i = 0; i < w->frames; i++) {
		if (!symbol_is_foreign(w->where[i]))
			return symbol_text(w->where[i]);
	}
	return rp_strdup("");
}

/*
 * Files with fixed addresses have these in their symbols, too. In other files, addresses count from
 * the start of the file.
 */
static bool has_fixed_addresses(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr header = {0};
	ssize_t n = fd < 0 ? -1 : read(fd, &header, sizeof(header));

	if (fd >= 0)
		close(fd);
	return n == (ssize_t)sizeof(header) && header.e_type == ET_EXEC;
}

/* The place of an address in a living process of ours. */
static char *place_in(int pid, uint64_t address)
{
	char *name = rp_format("/proc/%d/maps", pid);
	FILE *maps = fopen(name, "re");
	char line[4352], path[4096];
	unsigned long start, end, offset, base = 0;
	char *text = NULL;

	free(name);
	while (maps && !text && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %4095[^\n]", &start, &end, &offset,
			   path) != 4)
			continue;
		if (offset == 0)
			base = start;
		if (address < start || address >= end || path[0] != '/')
			continue;
		name = rp_format("%s+0x%lx", path,
				 (unsigned long)address - (has_fixed_addresses(path) ? 0 : base));
		text = symbol_text(name);
		free(name);
	}
	if (maps)
		fclose(maps);
	return text ? text : rp_strdup("");
}

static char *thread_of(const struct replay_word *w)
{
	return strcmp(w->thread, "0") == 0 ? rp_strdup("") : rp_format(" thread %s", w->thread);
}

static void report_words(const struct replay_front *f, const char *why, const char *format)
{
	struct replay_where where = {0};
	size_t said = 0;

	replay_output_end_line(f);
	for (size_t i = 0; i < f->ranks && said < SHOWN; i++) {
		const struct replay_word *w = &f->word[i];
		char *place, *thread, *others;

		if (!w->why || strcmp(w->why, why) != 0)
			continue;
		place = replay_place_text(w);
		thread = thread_of(w);
		rp_say(format, i, thread, (unsigned long)w->event, w->call, place, w->text);
		others = replay_where_threads(&where, f, i, w->thread);
		replay_where_say_lines(others);
		free(others);
		free(place);
		free(thread);
		said++;
	}
}

bool replay_report_unseen(const struct replay_front *f)
{
	struct trace_run_unseen *unseen;
	char *words;
	size_t n;

	unseen = trace_run_unseen(f->run, &n);
	for (size_t i = 0; i < n; i++) {
		words = trace_run_unseen_words(&unseen[i]);
		rp_say("  a likely cause, not recorded: %s%s%s", words,
		       unseen[i].first->remedy[0] ? "; " : "", unseen[i].first->remedy);
		free(words);
	}
	free(unseen);
	return n > 0;
}

void replay_report_divergence(const struct replay_front *f)
{
	report_words(f, REPLAY_WHY_DIVERGED, "replay diverged: rank %zu%s, event %lu, %s%s: %s");
	replay_report_unseen(f);
	replay_report_inputs(f, ": that is the likely cause");
}

static bool say_gave(const struct replay_front *f, const char *file, const char *before,
		     const char *what)
{
	size_t said = 0;

	for (size_t i = 0; i < f->ranks && said < SHOWN; i++) {
		struct replay_word w = {0};
		char *place, *thread;

		if (!replay_session_read_word(f, file, i, &w))
			continue;
		replay_output_end_line(f);
		place = replay_place_text(&w);
		thread = thread_of(&w);
		rp_say("%srank %zu%s, %s%s: %s bytes for a pipe, socket or queue %s",
		       said++ ? "  " : before, i, thread, w.call, place, w.text, what);
		free(place);
		free(thread);
	}
	return said > 0;
}

bool replay_report_gave_more(const struct replay_front *f)
{
	return say_gave(f, REPLAY_GAVE_MORE, "replay diverged: ", "are not as many as recorded");
}

void replay_report_gave(const struct replay_front *f)
{
	if (say_gave(f, REPLAY_GAVE, "", "are not the recorded ones"))
		rp_say("  if the program has set all of them, and they hold no address, the replay "
		       "differs there");
}

static const char *or_force(const struct replay_front *f, const char *text, size_t n)
{
	size_t end = strlen(REPLAY_RECORD_AGAIN);

	if (!f->or_force || n < end || memcmp(text + n - end, REPLAY_RECORD_AGAIN, end) != 0)
		return "";
	return f->or_force;
}

void replay_report_failure(const struct replay_front *f)
{
	for (size_t i = 0; i < f->ranks; i++) {
		if (f->word[i].why && strcmp(f->word[i].why, REPLAY_WHY_FAILURE) == 0) {
			const char *text = f->word[i].text;

			rp_say("cannot %s: rank %zu: %s%s", f->pass ? f->pass->verb : "replay", i,
			       text, or_force(f, text, strlen(text)));
			return;
		}
	}
}

bool replay_report_refusal(const struct replay_front *f)
{
	int fd = openat(f->session_fd, "refused", O_RDONLY | O_CLOEXEC);
	char text[4096];
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text));
	close(fd);
	n -= n > 0 && text[n - 1] == '\n';
	if (n > 0)
		dprintf(STDERR_FILENO, "%.*s%s\n", (int)n, text, or_force(f, text, (size_t)n));
	return true;
}

static void describe_wait(char *out, size_t size, const struct replay_slot *slot)
{
	int n = snprintf(out, size, "%s", trace_call_name(slot->call));

	if (slot->peer != INT32_MIN && slot->peer >= 0)
		n += snprintf(out + n, size - (size_t)n, " with rank %d", slot->peer);
	if (slot->peer != INT32_MIN && slot->tag >= 0)
		snprintf(out + n, size - (size_t)n, ", tag %d", slot->tag);
}

/*
 * Where the main thread of a rank is, by its stack. If that cannot be read: the place of its
 * current call, which may be in a library between MPI and Fortran.
 */
static char *main_place(const struct replay_front *f, size_t rank)
{
	const struct replay_slot *slot = &f->state->slot[rank];
	char *place = replay_where_main(f, rank);

	if (place[0] || !(slot->events & 1))
		return place;
	free(place);
	return place_in(slot->pid, slot->site);
}

char *replay_wait_text(const struct replay_front *f, size_t rank)
{
	const struct replay_slot *slot = &f->state->slot[rank];
	char what[128], *place = main_place(f, rank), *text;

	describe_wait(what, sizeof(what), slot);
	text = rp_format("%s%s", what, place);
	free(place);
	return text;
}

char *replay_word_text(const struct replay_front *f, size_t rank)
{
	const struct replay_word *w = &f->word[rank];
	char *place = replay_place_text(w), *thread = thread_of(w), *text;

	text = rp_format("rank %zu%s, event %lu, %s%s: %s", rank, thread, (unsigned long)w->event,
			 w->call, place, w->text);
	free(place);
	free(thread);
	return text;
}

static void report_input(const struct replay_front *f, const char *name, const char *end)
{
	int fd = openat(f->session_fd, name, O_RDONLY | O_CLOEXEC);
	char text[2048];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	if (n > 0)
		rp_say("%.*s%s", (int)n, text, end);
}

size_t replay_report_inputs(const struct replay_front *f, const char *end)
{
	int fd = openat(f->session_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	size_t said = 0;

	while (dir && said < SHOWN && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "changed-", 8) != 0)
			continue;
		report_input(f, entry->d_name, end);
		said++;
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return said;
}

/* What those wait for that have said no last word. */
static void say_waiting(const struct replay_front *f)
{
	struct replay_where where = {0};

	for (size_t i = 0; i < f->ranks; i++) {
		const struct replay_slot *slot = &f->state->slot[i];
		char what[128] = "", *place, *text;

		if (f->word[i].why)
			continue;
		place = main_place(f, i);
		describe_wait(what, sizeof(what), slot);
		if (slot->parked && !(slot->events & 1))
			text = rp_format("after event %lu%s; a thread does more than it did when "
					 "recorded",
					 (unsigned long)(slot->events >> 1), place);
		else
			text = rp_format("waits in event %lu of %lu: %s%s",
					 (unsigned long)(slot->events >> 1),
					 (unsigned long)(slot->limit >> 1), what, place);
		replay_where_add(&where, f, i, "0", text);
		free(text);
		free(place);
	}
	replay_where_say(&where);
}

void replay_report_stuck(const struct replay_front *f)
{
	replay_output_end_line(f);
	rp_say("replay diverged: all ranks wait for events that cannot come");
	say_waiting(f);
	replay_report_unseen(f);
}

void replay_report_left_behind(const struct replay_front *f)
{
	replay_output_end_line(f);
	rp_say("replay diverged: a rank died, as recorded, but the launcher ended other ranks "
	       "earlier than it did then; try again: the launcher decides when it does so");
	say_waiting(f);
}

/*
 * Of a run that ended well, a rank that came to its end when recorded and now has said nothing: our
 * library was not in it, or not any more.
 */
static bool any_ran_unseen(const struct replay_front *f)
{
	if (f->run->meta.ended != TRACE_ENDED_EXIT || (f->ranks > 1 && f->run->meta.status))
		return false;
	for (size_t i = 0; i < f->ranks; i++) {
		const struct trace_run_stream *last = f->run->rank[i].last;

		if (!f->word[i].why && last && last->end == TRACE_END_EXIT)
			return true;
	}
	return false;
}

bool replay_report_unseen_run(const struct replay_front *f)
{
	if (!any_ran_unseen(f))
		return false;
	replay_output_end_line(f);
	rp_say("replay diverged: the program ended without a word to Reprise: its library was not "
	       "loaded, or the program left it");
	return true;
}

void replay_report_other_status(const struct replay_front *f, int code, int recorded)
{
	replay_output_end_line(f);
	rp_say("replay diverged: the run ended with status %d; recorded is %d", code, recorded);
	replay_report_unseen(f);
}

/* Where recording had stopped by itself, and why. */
static void report_stop(const struct replay_front *f)
{
	for (size_t i = 0; i < f->ranks && i < SHOWN; i++) {
		const struct replay_word *w = &f->word[i];
		const struct trace_run_stream *stop = f->run->rank[i].stop;
		char *place, *why;

		if (!w->why || strcmp(w->why, REPLAY_WHY_STOP) != 0)
			continue;
		place = replay_place_text(w);
		why = stop ? trace_stop_words(stop->stop, stop->stop_value)
			   : rp_strdup("its recording had stopped");
		rp_say("replay ends at event %lu of rank %zu, %s%s: %s", (unsigned long)w->event, i,
		       w->call, place, why);
		free(place);
		free(why);
	}
}

/* What a rank does, or has done last. */
static char *last_of(const struct replay_front *f, size_t rank)
{
	const struct replay_word *w = &f->word[rank];
	char *place, *thread, *text;

	if (!w->why) {
		place = main_place(f, rank);
		if (f->run->rank[rank].world)
			text = rp_format(
				"computes%s, after event %lu and without a further MPI call", place,
				(unsigned long)(f->state->slot[rank].events >> 1));
		else
			text = rp_format("computes%s", place);
		free(place);
		return text;
	}
	place = replay_place_text(w);
	thread =
		strcmp(w->thread, "0") == 0 ? rp_strdup("") : rp_format(" of thread %s", w->thread);
	text = rp_format("%s event %lu%s: %s%s", strcmp(w->text, "in") == 0 ? "in" : "after",
			 (unsigned long)w->event, thread, w->call, place);
	free(place);
	free(thread);
	return text;
}

void replay_report_end(const struct replay_front *f)
{
	struct replay_where where = {0};

	replay_output_end_line(f);
	if (replay_front_any(f, REPLAY_WHY_STOP)) {
		report_stop(f);
		return;
	}
	rp_say("end of the recording: the run was stopped here");
	for (size_t i = 0; i < f->ranks; i++) {
		const struct replay_word *w = &f->word[i];
		char *text;

		if (w->why && strcmp(w->why, REPLAY_WHY_END) != 0)
			continue;
		text = last_of(f, i);
		replay_where_add(&where, f, i, w->why ? w->thread : "0", text);
		free(text);
	}
	replay_where_say(&where);
}
