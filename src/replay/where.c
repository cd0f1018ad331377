/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/where.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "replay/threads.h"
#include "symbol/process.h"
#include "symbol/symbol.h"

#define SHOWN 16      /* lines of ranks, and of threads of one rank */
#define NAMED 12      /* names, or rows of names, in a line */
#define LOOKED_AT 512 /* threads of all ranks; it takes milliseconds */

/* What is said of those with these names; `more` are further lines. */
struct replay_kind_of_line {
	char *text, *more;
	char **name;
	size_t names;
};

static void lines_add(struct replay_kind_of_line **line, size_t *lines, const char *name,
		      char *text, char *more)
{
	struct replay_kind_of_line *l = NULL;

	for (size_t i = 0; i < *lines && !l; i++) {
		if (strcmp((*line)[i].text, text) == 0 && strcmp((*line)[i].more, more) == 0)
			l = &(*line)[i];
	}
	if (l) {
		free(text);
		free(more);
	} else {
		*line = rp_widen(*line, *lines, *lines + 1, sizeof(**line));
		l = &(*line)[(*lines)++];
		l->text = text;
		l->more = more;
	}
	l->name = rp_widen(l->name, l->names, l->names + 1, sizeof(*l->name));
	l->name[l->names++] = rp_strdup(name);
}

static void lines_free(struct replay_kind_of_line *line, size_t lines)
{
	for (size_t i = 0; i < lines; i++) {
		for (size_t k = 0; k < line[i].names; k++)
			free(line[i].name[k]);
		free(line[i].name);
		free(line[i].text);
		free(line[i].more);
	}
	free(line);
}

/* "0.4" comes after "0.3". */
static bool follows(const char *after, const char *before)
{
	const char *a = strrchr(after, '.'), *b = strrchr(before, '.');

	a = a ? a + 1 : after;
	b = b ? b + 1 : before;
	return a - after == b - before && strncmp(after, before, (size_t)(a - after)) == 0 &&
	       atol(a) == atol(b) + 1;
}

static char *append(char *text, char *more)
{
	char *both = rp_format("%s%s", text, more);

	free(text);
	free(more);
	return both;
}

/* "thread 0.1", "threads 0.1, 0.4-0.7". */
static char *who(const char *what, const struct replay_kind_of_line *l)
{
	char *text = rp_format("%s%s ", what, l->names > 1 ? "s" : "");
	size_t rows = 0, i = 0;

	while (i < l->names && rows++ < NAMED) {
		size_t first = i++;

		while (i < l->names && follows(l->name[i], l->name[i - 1]))
			i++;
		text = append(text, rp_format("%s%s", rows > 1 ? ", " : "", l->name[first]));
		if (i - first > 1)
			text = append(text, rp_format("%s%s", i - first > 2 ? "-" : ", ",
						      l->name[i - 1]));
	}
	if (i < l->names)
		text = append(text, rp_format(" and %zu more", l->names - i));
	return text;
}

static char *look_at(struct symbol_process *p, const struct replay_listed *l)
{
	struct symbol_standing s;
	char *text;

	if (!l->tid || symbol_process_look(p, l->tid, &s) != 0)
		return rp_format("after %s", l->call[0] ? l->call : "its start");
	text = s.call ? rp_format("%s%s", replay_threads_call(l, &s), s.place)
		      : rp_format("runs%s", s.place);
	free(s.call);
	free(s.place);
	return text;
}

/* As the rank has reported them in its last word. */
static void add_told(const struct replay_word *word, struct replay_kind_of_line **line,
		     size_t *lines)
{
	for (size_t i = word->others; i-- > 0;) {
		const char *where = strchr(word->other[i], ' ');
		char *place = where && where[1] ? symbol_text(where + 1) : rp_strdup("");
		char *name = rp_format("%.*s", (int)strcspn(word->other[i], " "), word->other[i]);

		lines_add(line, lines, name,
			  rp_format("%s%s", word->in[i] ? word->in[i] : "?", place), rp_strdup(""));
		free(name);
		free(place);
	}
}

static void add_seen(struct replay_where *w, const struct replay_slot *slot, const char *but,
		     struct replay_kind_of_line **line, size_t *lines)
{
	struct replay_listed *list = NULL;
	size_t n = replay_threads_list(slot, &list);
	struct symbol_process *p = n ? symbol_process_open(slot->pid) : NULL;

	while (p && n-- > 0 && w->looked_at < LOOKED_AT) {
		if (strcmp(list[n].name, but) == 0)
			continue;
		lines_add(line, lines, list[n].name, look_at(p, &list[n]), rp_strdup(""));
		w->looked_at++;
	}
	free(list);
	symbol_process_close(p);
}

static char *text_of(const struct replay_kind_of_line *line, size_t lines)
{
	char *text = rp_strdup("");
	size_t more = 0;

	for (size_t i = 0; i < lines; i++) {
		char *names = who("thread", &line[i]);

		if (i < SHOWN)
			text = append(text, rp_format("    %s: %s\n", names, line[i].text));
		else
			more += line[i].names;
		free(names);
	}
	return more ? append(text, rp_format("    … and %zu further threads\n", more)) : text;
}

char *replay_where_main(const struct replay_front *f, size_t rank)
{
	int pid = f->state->slot[rank].pid;
	struct symbol_process *p = rank < LOOKED_AT ? symbol_process_open(pid) : NULL;
	struct symbol_standing s = {0};

	if (!p || symbol_process_look(p, pid, &s) != 0)
		s.place = rp_strdup("");
	symbol_process_close(p);
	free(s.call);
	return s.place;
}

char *replay_where_threads(struct replay_where *w, const struct replay_front *f, size_t rank,
			   const char *but)
{
	struct replay_kind_of_line *line = NULL;
	size_t lines = 0;
	char *text;

	add_seen(w, &f->state->slot[rank], but, &line, &lines);
	if (!lines)
		add_told(&f->word[rank], &line, &lines);
	text = text_of(line, lines);
	lines_free(line, lines);
	return text;
}

void replay_where_add(struct replay_where *w, const struct replay_front *f, size_t rank,
		      const char *thread, const char *text)
{
	char *name = rp_format("%zu", rank);

	lines_add(&w->line, &w->lines, name, rp_strdup(text),
		  replay_where_threads(w, f, rank, thread));
	free(name);
}

void replay_where_say_lines(const char *lines)
{
	const char *end;

	for (; (end = strchr(lines, '\n')); lines = end + 1)
		rp_say("%.*s", (int)(end - lines), lines);
}

void replay_where_say(struct replay_where *w)
{
	size_t more = 0;

	for (size_t i = 0; i < w->lines; i++) {
		struct replay_kind_of_line *l = &w->line[i];
		char *names = who("rank", l);

		if (i < SHOWN) {
			rp_say("  %s %s", names, l->text);
			replay_where_say_lines(l->more);
		} else {
			more += l->names;
		}
		free(names);
	}
	if (more)
		rp_say("  … and %zu further ranks", more);
	lines_free(w->line, w->lines);
	*w = (struct replay_where){0};
}
