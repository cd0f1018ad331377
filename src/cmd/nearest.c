/* SPDX-License-Identifier: Apache-2.0 */
/* Guesses which verb or option a mistyped name was meant to be. */
#include <ctype.h>
#include <string.h>

#include "cmd/option.h"

#define WORD_MAX 32
#define FAR 3 /* so many letters wrong, and it is another word */

/* Levenshtein distance; b is shorter than WORD_MAX. */
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

const char *cmd_nearest(const char *word, const char *const names[])
{
	size_t best = FAR, n = strlen(word);
	const char *found = NULL;
	char lower[WORD_MAX];

	if (n == 0 || n >= sizeof(lower))
		return NULL;
	for (size_t i = 0; i <= n; i++)
		lower[i] = (char)tolower((unsigned char)word[i]);
	for (; *names; names++) {
		size_t d = distance(lower, *names);

		if (n > 1 && !strncmp(lower, *names, n))
			return *names;
		if (d < best && d < strlen(*names)) {
			best = d;
			found = *names;
		}
	}
	return found;
}
