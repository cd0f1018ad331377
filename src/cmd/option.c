/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a command line by the table of its verb. If an option does not exist, the message names the
 * nearest one.
 */
#include "cmd/option.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "launch/flavour.h"
#include "launch/moved.h"
#include "replay/trust.h"

#define OPTIONS_MAX 32
#define HELP OPTIONS_MAX
#define FIRST 256 /* what getopt gives for the first option of the table */

struct spelling {
	struct option longs[OPTIONS_MAX + 2];
	char letters[3 * OPTIONS_MAX + 4];
};

/* The table in the words of getopt_long. */
static void spell(const struct cmd_verb *verb, struct spelling *s)
{
	char *letter = s->letters;
	int n = 0;

	/*
	 * "-": words that are no options are returned in their place, as option 1. "+": the first
	 * such word ends the options.
	 */
	*letter++ = verb->takes == CMD_TAKES_COMMAND ? '+' : '-';
	*letter++ = ':';
	for (const struct cmd_option *o = verb->options; o && o->name && n < OPTIONS_MAX; o++) {
		s->longs[n] = (struct option){o->name,
					      !o->value     ? no_argument
					      : o->optional ? optional_argument
							    : required_argument,
					      NULL, FIRST + n};
		n++;
		if (!o->letter)
			continue;
		*letter++ = o->letter;
		if (o->value)
			*letter++ = ':';
	}
	*letter++ = 'h';
	*letter = 0;
	s->longs[n++] = (struct option){"help", no_argument, NULL, FIRST + HELP};
	s->longs[n] = (struct option){0};
}

/* Which option getopt means: OPTIONS_MAX for help, -1 if none. */
static int index_of(const struct cmd_verb *verb, int c)
{
	if (c >= FIRST)
		return c - FIRST;
	for (int i = 0; verb->options && verb->options[i].name; i++) {
		if (verb->options[i].letter == c)
			return i;
	}
	return c == 'h' ? HELP : -1;
}

static int bad_option(const struct cmd_verb *verb, int c, const char *word)
{
	const char *names[OPTIONS_MAX + 1], *near;
	int n = 0;

	if (c == ':') {
		rp_say("option %s needs a value; see 'reprise help %s'", word, verb->name);
	} else if (optopt && !strncmp(word, "--", 2)) {
		rp_say("option %s takes no value; see 'reprise help %s'", word, verb->name);
	} else if (optopt) {
		rp_say("there is no option -%c; see 'reprise help %s'", optopt, verb->name);
	} else {
		char *name = rp_format("%.*s", (int)strcspn(word + 2, "="), word + 2);

		for (; verb->options && verb->options[n].name; n++)
			names[n] = verb->options[n].name;
		names[n] = NULL;
		near = cmd_nearest(name, names);
		if (near)
			rp_say("there is no option --%s; did you mean --%s? See 'reprise help %s'",
			       name, near, verb->name);
		else
			rp_say("there is no option --%s; see 'reprise help %s'", name, verb->name);
		free(name);
	}
	return RP_EXIT_BAD_INPUT;
}

static bool read_unsigned(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno;
}

static bool read_seconds(const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return *text && !*end && *value > 0 && *value < 1e9;
}

/* Which of the words "this|that|other" it is. */
static bool read_choice(const char *words, const char *text, unsigned *choice)
{
	size_t length = strlen(text);

	for (*choice = 0;; ++*choice) {
		size_t n = strcspn(words, "|");

		if (n == length && !strncmp(words, text, n))
			return true;
		if (!words[n])
			return false;
		words += n + 1;
	}
}

/* "this, that or other" of "this|that|other"; the caller frees. */
static char *say_choice(const char *words)
{
	char *text = rp_format("%.*s", (int)strcspn(words, "|"), words);

	for (words += strlen(text); *words; words += strcspn(words, "|")) {
		size_t n = strcspn(++words, "|");
		char *more = rp_format("%s%s%.*s", text, words[n] ? ", " : " or ", (int)n, words);

		free(text);
		text = more;
	}
	return text;
}

static int bad_value(const struct cmd_option *o, const char *text)
{
	char *words;

	switch (o->kind) {
	case CMD_CHOICE:
		words = say_choice(o->value);
		rp_say("--%s is %s, not '%s'", o->name, words, text);
		free(words);
		break;
	case CMD_SECONDS:
		rp_say("--%s takes a number of seconds, not '%s'", o->name, text);
		break;
	case CMD_COUNT:
		rp_say("--%s takes a number of at least 1, not '%s'", o->name, text);
		break;
	case CMD_NUMBER:
		rp_say("--%s takes a number, not '%s'", o->name, text);
		break;
	default:
		rp_say("--%s takes a %s, not an empty word", o->name, o->value);
	}
	return RP_EXIT_BAD_INPUT;
}

static int read_option(const struct cmd_option *o, const char *text, char *wanted)
{
	void *target = wanted ? wanted + o->target : NULL;
	uint64_t number = 0;
	double seconds = 0;
	unsigned choice;

	switch (o->kind) {
	case CMD_FLAG:
		*(bool *)target = true;
		return 0;
	case CMD_TEXT:
		if (!*text)
			return bad_value(o, text);
		*(const char **)target = text;
		return 0;
	case CMD_CHOICE:
		if (!read_choice(o->value, text, &choice))
			return bad_value(o, text);
		*(unsigned *)target = choice;
		return 0;
	case CMD_NUMBER:
		if (!read_unsigned(text, &number))
			return bad_value(o, text);
		*(uint64_t *)target = number;
		return 0;
	case CMD_COUNT:
		if (!read_unsigned(text, &number) || !number)
			return bad_value(o, text);
		*(size_t *)target = number;
		return 0;
	case CMD_SECONDS:
		if (!read_seconds(text, &seconds))
			return bad_value(o, text);
		*(double *)target = seconds;
		return 0;
	case CMD_OWN:
		return o->read(target, text);
	}
	return 0;
}

static int take_trace(const char *word, struct cmd_operands *operands)
{
	size_t n = 0;

	while (operands->all && operands->all[n])
		n++;
	operands->all = rp_realloc(operands->all, n + 2, sizeof(*operands->all));
	operands->all[n] = word;
	operands->all[n + 1] = NULL;
	return 0;
}

static int take_operand(const struct cmd_verb *verb, const char *word,
			struct cmd_operands *operands)
{
	if (verb->takes == CMD_TAKES_TRACES)
		return take_trace(word, operands);
	if (verb->takes == CMD_TAKES_NOTHING)
		rp_say("'%s' is one argument too many: %s takes none; see 'reprise help %s'", word,
		       verb->name, verb->name);
	else if (verb->takes == CMD_TAKES_RANK_TRACE && operands->first && !operands->trace)
		return operands->trace = word, 0;
	else if (operands->first)
		rp_say("'%s' is one argument too many: %s takes one %s%s; see 'reprise help %s'",
		       word, verb->name,
		       verb->takes == CMD_TAKES_VERB         ? "verb"
		       : verb->takes == CMD_TAKES_SHELL      ? "shell"
		       : verb->takes == CMD_TAKES_PACKED     ? "file"
		       : verb->takes == CMD_TAKES_RANK_TRACE ? "rank and one trace"
							     : "trace",
		       verb->takes == CMD_TAKES_TRACE_COMMAND ? ", and a command after --" : "",
		       verb->name);
	else
		operands->first = word;
	return operands->first == word ? 0 : RP_EXIT_BAD_INPUT;
}

static int take_rest(const struct cmd_verb *verb, char **rest, struct cmd_operands *operands)
{
	int code = 0;

	if (verb->takes == CMD_TAKES_COMMAND || verb->takes == CMD_TAKES_TRACE_COMMAND ||
	    verb->takes == CMD_TAKES_RANK_TRACE) {
		operands->command = rest[0] ? rest : NULL;
		return 0;
	}
	for (; *rest && !code; rest++)
		code = take_operand(verb, *rest, operands);
	return code;
}

int cmd_options_read(const struct cmd_verb *verb, int argc, char **argv, void *wanted,
		     struct cmd_operands *operands)
{
	struct spelling s;
	int c, i, code = 0;

	*operands = (struct cmd_operands){0};
	spell(verb, &s);
	opterr = 0;
	optind = 0;
	while (!code && (c = getopt_long(argc, argv, s.letters, s.longs, NULL)) != -1) {
		i = c == '?' || c == ':' || c == 1 ? -1 : index_of(verb, c);
		if (c == 1) {
			code = take_operand(verb, optarg, operands);
		} else if (i < 0) {
			code = bad_option(verb, c, argv[optind - 1]);
		} else if (i == HELP) {
			cmd_print_usage(stdout, verb);
			code = CMD_HELPED;
		} else {
			code = read_option(&verb->options[i], optarg, wanted);
		}
	}
	return code ? code : take_rest(verb, argv + optind, operands);
}

int cmd_read_bytes(uint64_t *bytes, const char *text, const char *option)
{
	static const char units[] = "KMGT";
	const char *unit;
	char *end;

	errno = 0;
	*bytes = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (text[0] >= '0' && text[0] <= '9' && !errno && *bytes && *bytes < 1ull << 24 &&
	    (!*end || (unit && !end[1]))) {
		*bytes <<= unit ? 10 * (unit - units + 1) : 0;
		return 0;
	}
	rp_say("--%s takes a number of bytes, such as 500M or 2G, not '%s'", option, text);
	return RP_EXIT_BAD_INPUT;
}

int cmd_read_noise(void *target, const char *text)
{
	struct cmd_noise *noise = target;

	noise->given = true;
	noise->seeded = text != NULL;
	if (!text || read_unsigned(text, &noise->seed))
		return 0;
	rp_say("--noise takes a number, not '%s'", text);
	return RP_EXIT_BAD_INPUT;
}

int cmd_read_mpi(void *target, const char *text)
{
	if (launch_mpi_parse(text, target))
		return 0;
	rp_say("--mpi is openmpi, mpich or none, not '%s'", text);
	return RP_EXIT_BAD_INPUT;
}

int cmd_read_map(void *nothing, const char *text)
{
	(void)nothing;
	return launch_moved_add(text);
}

int cmd_read_trust(void *nothing, const char *text)
{
	(void)nothing;
	(void)text;
	replay_trust_given();
	return 0;
}
