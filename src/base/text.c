/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 is decoded, all else replaced. */
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

static void copy(const char *from, char *to, const char *bad, bool keep_controls)
{
	const unsigned char *p = (const unsigned char *)from;

	while (*p) {
		size_t n = rp_utf8_length(p);

		if (n == 0 || (!keep_controls && rp_utf8_is_control(p))) {
			p += n ? n : 1;
			to = stpcpy(to, bad);
			continue;
		}
		memcpy(to, p, n);
		to += n;
		p += n;
	}
	*to = '\0';
}

char *rp_text_cleaned(const char *text, const char *bad, bool keep_controls)
{
	char *out = rp_alloc(strlen(text) + 1, strlen(bad) + 1);

	copy(text, out, bad, keep_controls);
	return out;
}

void rp_text_clean(char *text)
{
	char *clean = rp_text_cleaned(text, "?", false);

	strcpy(text, clean);
	free(clean);
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

char *rp_text_command(char *const *argv)
{
	char *line = NULL;
	size_t size;
	FILE *out = open_memstream(&line, &size);

	for (size_t i = 0; out && argv[i]; i++) {
		if (i)
			fputc(' ', out);
		put_quoted(out, argv[i]);
	}
	if (!out || fclose(out) != 0)
		return rp_strdup("?");
	rp_text_clean(line);
	return line;
}
