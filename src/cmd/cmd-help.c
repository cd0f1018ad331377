/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise help [VERB], and what all verbs share when they speak about themselves: usage, the
 * overview, the nearest verb to a mistyped one, the sentence about a bad option.
 */
#include "cmd/cmd.h"

#include <ctype.h>
#include <getopt.h>
#include <string.h>

#include "base/log.h"

#define WORD_MAX 32

const struct cmd_verb *cmd_find(const char *name)
{
	for (int i = 0; cmd_verbs[i]; i++) {
		if (!strcmp(cmd_verbs[i]->name, name))
			return cmd_verbs[i];
	}
	return NULL;
}

/* Levenshtein distance. */
static size_t distance(const char *a, const char *b)
{
	size_t row[WORD_MAX + 1];
	size_t n = strlen(b);

	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < n; j++) {
			size_t best = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j + 1] + 1 < best)
				best = row[j + 1] + 1;
			row[j + 1] = best;
		}
	}
	return row[n];
}

static const struct cmd_verb *nearest(const char *name)
{
	const struct cmd_verb *found = NULL;
	char word[WORD_MAX];
	size_t best = 3, n = strlen(name);

	if (n == 0 || n >= sizeof(word))
		return NULL;
	for (size_t i = 0; i <= n; i++)
		word[i] = (char)tolower((unsigned char)name[i]);
	for (int i = 0; cmd_verbs[i]; i++) {
		size_t d = distance(word, cmd_verbs[i]->name);

		if (cmd_verbs[i]->hidden)
			continue;
		if (n > 1 && !strncmp(word, cmd_verbs[i]->name, n))
			return cmd_verbs[i];
		if (d < best && d < strlen(cmd_verbs[i]->name)) {
			best = d;
			found = cmd_verbs[i];
		}
	}
	return found;
}

int cmd_unknown(const char *name)
{
	const struct cmd_verb *verb = nearest(name);

	if (verb)
		rp_say("there is no verb '%s'; did you mean '%s'?", name, verb->name);
	else
		rp_say("there is no verb '%s'; 'reprise help' lists them", name);
	return RP_EXIT_BAD_INPUT;
}

void cmd_print_usage(FILE *out, const struct cmd_verb *verb)
{
	fprintf(out, "usage: reprise %s%s%s\n\n%s.\n", verb->name, *verb->args ? " " : "",
		verb->args, verb->summary);
	if (verb->details)
		fprintf(out, "\n%s", verb->details);
}

void cmd_print_overview(FILE *out)
{
	fputs("Reprise records a run of a parallel program and replays that very run.\n\n"
	      "  reprise record mpirun -n 4 ./app    run it and record it\n"
	      "  reprise replay                      the same run again, as often as you like\n\n"
	      "Verbs:\n",
	      out);
	for (int i = 0; cmd_verbs[i]; i++) {
		if (!cmd_verbs[i]->hidden)
			fprintf(out, "  %-8s  %s\n", cmd_verbs[i]->name, cmd_verbs[i]->summary);
	}
	fputs("\n'reprise help VERB' says more about one of them.\n", out);
}

int cmd_bad_option(const struct cmd_verb *verb, int c, char **argv)
{
	const char *word = argv[optind - 1];

	if (c == ':')
		rp_say("option %s needs a value; see 'reprise help %s'", word, verb->name);
	else if (optopt && !strncmp(word, "--", 2))
		rp_say("option %s takes no value; see 'reprise help %s'", word, verb->name);
	else if (optopt)
		rp_say("there is no option -%c; see 'reprise help %s'", optopt, verb->name);
	else
		rp_say("there is no option %s; see 'reprise help %s'", word, verb->name);
	return RP_EXIT_BAD_INPUT;
}

static int run(int argc, char **argv)
{
	const struct cmd_verb *verb;

	if (argc > 2) {
		rp_say("help takes one verb; 'reprise help' lists them");
		return RP_EXIT_BAD_INPUT;
	}
	if (argc < 2) {
		cmd_print_overview(stdout);
		return 0;
	}
	verb = cmd_find(argv[1]);
	if (verb) {
		cmd_print_usage(stdout, verb);
		return 0;
	}
	return cmd_unknown(argv[1]);
}

const struct cmd_verb cmd_help = {
	.name = "help",
	.args = "[VERB]",
	.summary = "Says what Reprise can do, or more about one verb",
	.run = run,
};
