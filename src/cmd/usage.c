/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a verb says of itself: usage line and help, from its table. Text is broken at WIDTH columns;
 * "\n" begins a new line, and lines that begin with a space stay as they are.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/option.h"

#define WIDTH 84
#define HELP_AT 26 /* labels that are longer have their help on the next line */

/* Columns that so many bytes of UTF-8 take. */
static size_t columns(const char *text, size_t bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < bytes; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

/* From column `at` on; further lines begin at column `indent`. No newline at the end. */
static void print_wrapped(FILE *out, const char *text, size_t at, size_t indent)
{
	bool first = true;

	while (*text) {
		size_t bytes = strcspn(text, " \n"), width = columns(text, bytes);
		char end = text[bytes];

		if (!first && at + 1 + width > WIDTH) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (!first) {
			fputc(' ', out);
			at++;
		}
		fwrite(text, 1, bytes, out);
		at += width;
		first = false;
		text += bytes + (end != 0);
		if (end == '\n') {
			fprintf(out, "\n%*s", *text == '\n' ? 0 : (int)indent, "");
			at = indent;
			first = true;
		}
	}
}

/* Paragraphs, and among them lines that are to stay. */
static void print_text(FILE *out, const char *text)
{
	while (*text) {
		size_t bytes = strcspn(text, "\n");
		char *line = rp_format("%.*s", (int)bytes, text);

		if (*line == ' ')
			fputs(line, out);
		else
			print_wrapped(out, line, 0, 0);
		fputc('\n', out);
		free(line);
		text += bytes + (text[bytes] == '\n');
	}
}

char *cmd_option_text(const struct cmd_option *o)
{
	if (!o->value)
		return rp_format("--%s", o->name);
	if (o->optional)
		return rp_format("--%s[=%s]", o->name, o->value);
	return rp_format("--%s%s%s", o->name, strchr(o->value, '=') ? " " : "=", o->value);
}

static const char *operands_text(enum cmd_takes takes)
{
	switch (takes) {
	case CMD_TAKES_TRACE:
		return " [TRACE]";
	case CMD_TAKES_TRACE_COMMAND:
		return " [TRACE] [-- COMMAND [ARG …]]";
	case CMD_TAKES_RANK_TRACE:
		return " RANK [TRACE] [-- ARGUMENT...]";
	case CMD_TAKES_COMMAND:
		return " [--] COMMAND [ARG …]";
	case CMD_TAKES_VERB:
		return " [VERB]";
	case CMD_TAKES_SHELL:
		return " bash";
	case CMD_TAKES_TRACES:
		return " TRACE …";
	case CMD_TAKES_PACKED:
		return " FILE";
	default:
		return "";
	}
}

/* An option is not broken. */
static void print_line(FILE *out, const struct cmd_verb *verb)
{
	size_t at = (size_t)fprintf(out, "usage: reprise %s", verb->name);
	const size_t indent = at + 1;
	char *operands = rp_strdup(operands_text(verb->takes));

	for (const struct cmd_option *o = verb->options; o && o->name; o++) {
		char *text = cmd_option_text(o);
		size_t width = columns(text, strlen(text)) + 2;

		if (at + 1 + width > WIDTH) {
			fprintf(out, "\n%*s[%s]", (int)indent, "", text);
			at = indent + width;
		} else {
			fprintf(out, " [%s]", text);
			at += 1 + width;
		}
		free(text);
	}
	if (at + columns(operands, strlen(operands)) > WIDTH)
		fprintf(out, "\n%*s%s\n", (int)indent - 1, "", operands);
	else
		fprintf(out, "%s\n", operands);
	free(operands);
}

static void print_option(FILE *out, const struct cmd_option *o, size_t help_at)
{
	char letter[] = {'-', o->letter, ',', ' ', 0};
	char *text = cmd_option_text(o);
	char *label = rp_format("  %s%s", o->letter ? letter : "", text);
	size_t width = columns(label, strlen(label));

	fputs(label, out);
	if (width + 2 > help_at)
		fprintf(out, "\n%*s", (int)help_at, "");
	else
		fprintf(out, "%*s", (int)(help_at - width), "");
	print_wrapped(out, o->help, help_at, help_at);
	fputc('\n', out);
	free(label);
	free(text);
}

static void print_options(FILE *out, const struct cmd_option *options)
{
	size_t help_at = 0;

	for (const struct cmd_option *o = options; o->name; o++) {
		char *text = cmd_option_text(o);
		size_t width = columns(text, strlen(text)) + (o->letter ? 4 : 0) + 4;

		if (width > help_at && width <= HELP_AT)
			help_at = width;
		free(text);
	}
	if (!help_at)
		help_at = HELP_AT;
	for (const struct cmd_option *o = options; o->name; o++)
		print_option(out, o, help_at);
}

void cmd_print_usage(FILE *out, const struct cmd_verb *verb)
{
	print_line(out, verb);
	fprintf(out, "\n%s.\n", verb->summary);
	if (verb->about) {
		fputc('\n', out);
		print_text(out, verb->about);
	}
	if (verb->options) {
		fputc('\n', out);
		print_options(out, verb->options);
	}
	if (verb->notes) {
		fputc('\n', out);
		print_text(out, verb->notes);
	}
}
