/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Races for people: a paragraph for each place, as wide as the terminal. A race is no verdict: the
 * text says what could have been otherwise, and leaves it to the reader whether that matters.
 */
#include "cmd/races.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/show.h"

#define WIDTH 80
#define INDENT 4

static unsigned width(void)
{
	struct winsize size;

	if (isatty(1) && !ioctl(1, TIOCGWINSZ, &size) && size.ws_col >= 40)
		return size.ws_col;
	return WIDTH;
}

/* Prints words, indented, and breaks lines between them. Takes the text. */
static void print_wrapped(char *text)
{
	unsigned room = width(), column = 0;
	char *rest = text, *word;

	while ((word = strsep(&rest, " "))) {
		unsigned n = (unsigned)strlen(word);

		if (column && column + 1 + n > room) {
			putchar('\n');
			column = 0;
		}
		if (column)
			column += (unsigned)printf(" %s", word);
		else
			column = (unsigned)printf("%*s%s", INDENT, "", word);
	}
	putchar('\n');
	free(text);
}

static char *times(uint64_t n)
{
	return n == 1 ? rp_strdup("once") : rp_format("%" PRIu64 " times", n);
}

static void print_head(size_t number, const struct cmd_race_group *group)
{
	char *ranks = cmd_show_ranks(group->rank, group->ranks);

	printf("\n%2zu  %s: %s in rank%s %s\n", number, group->place, group->call,
	       group->ranks == 1 ? "" : "s", ranks);
	free(ranks);
}

/* "what 2@4 sent (race.c:55 (main), tag 1, 8 bytes)" */
static char *message_words(struct cmd_graph *g, const struct graph_finding_message *m)
{
	char *position, *words;

	if (!m->number)
		return rp_format("a message of rank %u", m->rank);
	position = cmd_graph_position(g, m->rank, m->thread, m->number);
	words = rp_format("what %s sent (%s, tag %d, %" PRIu64 " byte%s)", position,
			  cmd_graph_place(g, m->rank, m->thread, m->site), m->tag, m->bytes,
			  m->bytes == 1 ? "" : "s");
	free(position);
	return words;
}

static void print_example(struct cmd_graph *g, const struct graph_finding *f)
{
	char *at = cmd_graph_position(g, f->rank, f->thread, f->number);
	char *got = message_words(g, &f->got), *other = message_words(g, &f->other);
	const char *verb = f->kind == GRAPH_FINDING_PROBE ? "found" : "got";

	print_wrapped(
		rp_format("Race: %s %s %s; it could have %s %s.", at, verb, got, verb, other));
	free(at);
	free(got);
	free(other);
}

static void print_messages(struct cmd_graph *g, const struct graph_finding *f)
{
	print_wrapped(rp_format(
		"%" PRIu64 " of %" PRIu64 " times another message could have come; %" PRIu64
		" such message%s in all.",
		f->racing, f->outcomes, f->alternatives, f->alternatives == 1 ? "" : "s"));
	print_example(g, f);
	print_wrapped(rp_format("What could differ: the source%s%s.",
				f->differs & GRAPH_DIFFERS_TAG ? ", the tag" : "",
				f->differs & GRAPH_DIFFERS_BYTES ? ", the length" : ""));
}

static void print_probed(struct cmd_graph *g, const struct graph_finding *f)
{
	char *often = times(f->swapped);

	print_wrapped(rp_format(
		"A probe at %s finds a message of any source, and this receives from any "
		"source again: it may get another message than the probe has found%s%s. A "
		"receive from the source that the probe returned gets the one found.",
		cmd_graph_place(g, f->rank, f->thread, f->probe_site),
		f->swapped ? "; in this run it did so " : "", f->swapped ? often : ""));
	free(often);
	print_messages(g, f);
}

static void print_choice(struct cmd_graph *g, const struct graph_finding *f)
{
	char *at = cmd_graph_position(g, f->rank, f->thread, f->number);
	char *posted = cmd_graph_position(g, f->other.rank, f->other.thread, f->other.number);

	print_wrapped(rp_format("%" PRIu64 " of %" PRIu64
				" times another request could have completed first.",
				f->racing, f->outcomes));
	print_wrapped(rp_format("Race: %s could have returned the request begun at %s (%s).", at,
				posted,
				cmd_graph_place(g, f->other.rank, f->other.thread, f->other.site)));
	print_wrapped(rp_strdup("What could differ: the order in which requests are dealt with."));
	free(at);
	free(posted);
}

static void print_group(struct cmd_graph *g, size_t number, const struct cmd_race_group *group)
{
	const struct graph_finding *f = &group->sum;
	char *often;

	print_head(number, group);
	switch (f->kind) {
	case GRAPH_FINDING_PROBED:
		print_probed(g, f);
		break;
	case GRAPH_FINDING_CHOICE:
		print_choice(g, f);
		break;
	case GRAPH_FINDING_POLL:
		often = times(f->outcomes);
		print_wrapped(rp_format("True %s; when it is true, is chance.", often));
		free(often);
		break;
	default:
		print_messages(g, f);
	}
}

static void print_summary(const struct cmd_races *races)
{
	const struct graph_report *r = races->report;
	char *trace = cmd_show_text(races->graph->dir.show);

	printf("%s: ", trace);
	free(trace);
	if (races->racing)
		printf("races at %zu place%s; ", races->racing, races->racing == 1 ? "" : "s");
	else
		printf("no races; ");
	if (r->wildcards)
		printf("%" PRIu64 " of %" PRIu64 " outcomes of any source could have been others\n",
		       r->racing, r->wildcards);
	else
		printf("nothing was received from any source\n");
}

void cmd_races_print(const struct cmd_races *races, size_t top)
{
	size_t shown = top && top < races->racing ? top : races->racing;
	size_t polls = races->groups - races->racing;

	print_summary(races);
	if (!top)
		shown = races->groups;
	for (size_t i = 0; i < shown; i++)
		print_group(races->graph, i + 1, &races->group[i]);
	if (shown < races->racing)
		printf("\n%zu more place%s with races: --all\n", races->racing - shown,
		       races->racing - shown == 1 ? "" : "s");
	if (polls && top)
		printf("\n%zu place%s poll%s (Test, Iprobe), true or false by chance: --all\n",
		       polls, polls == 1 ? "" : "s", polls == 1 ? "s" : "");
}
