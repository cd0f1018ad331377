/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 is decoded, all else replaced. */
#include "base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

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

static void copy(const char *from, char *to, const char *bad, bool keep_controls)
{
	const unsigned char *p = (const unsigned char *)from;

	while (*p) {
		size_t n = utf8_length(p);

		if (n == 0 || (!keep_controls && is_control(p))) {
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
