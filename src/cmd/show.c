/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and arguments in a trace are whatever bytes the user had. Nothing of them reaches a
 * terminal or a JSON reader unchecked: UTF-8 is decoded, all else replaced.
 */
#include "cmd/show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

#define RANKS_WIDTH 48

/* Bytes of the UTF-8 character at p, or 0 if there is none. */
static size_t utf8_length(const unsigned char *p)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = *p < 0x80 ? 1 : *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : *p >= 0xc0 ? 2 : 0;
	uint32_t c = n == 1 ? *p : *p & (0xffu >> (n + 1));

	if (*p >= 0xf8)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	return n && c >= least[n] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) ? n : 0;
}

/* Also the control characters of Latin 1, which some terminals obey. */
static bool is_control(const unsigned char *p)
{
	return *p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0);
}

static char *cleaned(const char *text, const char *bad, bool keep_controls)
{
	char *out = rp_alloc(strlen(text) + 1, strlen(bad) + 1), *to = out;

	for (const unsigned char *p = (const unsigned char *)text; *p;) {
		size_t n = utf8_length(p);

		if (n == 0 || (!keep_controls && is_control(p))) {
			to = stpcpy(to, bad);
			p += n ? n : 1;
			continue;
		}
		memcpy(to, p, n);
		to += n;
		p += n;
	}
	*to = '\0';
	return out;
}

char *cmd_show_text(const char *text)
{
	return cleaned(text, "?", false);
}

static void put_quoted(FILE *out, const char *word)
{
	if (*word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"0123456789_-+=./:,@%^")]) {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word; word++)
		*word == '\'' ? fputs("'\\''", out) : fputc(*word, out);
	fputc('\'', out);
}

char *cmd_show_command(char *const *argv)
{
	char *line = NULL, *shown;
	size_t size;
	FILE *out = open_memstream(&line, &size);

	for (size_t i = 0; out && argv[i]; i++) {
		if (i)
			fputc(' ', out);
		put_quoted(out, argv[i]);
	}
	if (!out || fclose(out) != 0)
		return rp_strdup("?");
	shown = cmd_show_text(line);
	free(line);
	return shown;
}

char *cmd_show_size(uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	double value = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 1024)
		return rp_format("%" PRIu64 " B", bytes);
	for (; value >= 1024 && unit < 3; unit++)
		value /= 1024;
	return rp_format("%.1f %s", value, units[unit]);
}

char *cmd_show_ranks(const unsigned *rank, size_t n)
{
	char *out = rp_alloc(RANKS_WIDTH + 32, 1);
	size_t length = 0;

	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && rank[end] == rank[end - 1] + 1;)
			end++;
		if (length > RANKS_WIDTH) {
			strcpy(out + length, ",…");
			break;
		}
		length += (size_t)sprintf(out + length, "%s%u", i ? "," : "", rank[i]);
		if (end - i > 1)
			length += (size_t)sprintf(out + length, "%s%u", end - i > 2 ? "-" : ",",
						  rank[end - 1]);
	}
	return out;
}

json_t *cmd_show_json(const char *text)
{
	json_t *string = json_string(text);
	char *clean;

	if (string)
		return string;
	clean = cleaned(text, "\xef\xbf\xbd", true);
	string = json_string(clean);
	free(clean);
	return string;
}

json_t *cmd_show_json_list(char *const *list)
{
	json_t *array = json_array();

	for (size_t i = 0; list && list[i]; i++)
		json_array_append_new(array, cmd_show_json(list[i]));
	return array;
}

void cmd_show_json_line(json_t *value, size_t flags)
{
	char *text = json_dumps(value, flags);

	if (text)
		puts(text);
	free(text);
	json_decref(value);
}

int cmd_show_format(const char *value, bool *json)
{
	*json = !strcmp(value, "json");
	if (*json || !strcmp(value, "text"))
		return 0;
	rp_say("there is no format '%s'; there are text and json", value);
	return RP_EXIT_BAD_INPUT;
}

int cmd_show_top(const char *value, const char *what, size_t *top)
{
	char *end;
	long n = strtol(value, &end, 10);

	if (*value && !*end && n > 0) {
		*top = (size_t)n;
		return 0;
	}
	rp_say("--top takes a number of %s, not '%s'", what, value);
	return RP_EXIT_BAD_INPUT;
}

int cmd_show_seed(const char *value, uint64_t *seed)
{
	char *end;

	errno = 0;
	*seed = strtoull(value, &end, 10);
	if (*value >= '0' && *value <= '9' && !*end && !errno)
		return 0;
	rp_say("--noise takes a number, not '%s'", value);
	return RP_EXIT_BAD_INPUT;
}
