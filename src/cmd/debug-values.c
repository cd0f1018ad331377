/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of an expression in all ranks. Of arrays of numbers there is also how large they are, in
 * which rank, and how many are no numbers.
 */
#include <ctype.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/debug.h"
#include "group/mi.h"
#include "group/stacks.h"

struct extremes {
	double least, most;
	unsigned least_rank, most_rank;
	uint64_t least_at, most_at;
	uint64_t numbers, nans;
	char *nan_ranks;
};

/* "u[2..5]" is "u[2]@4" in gdb's words; the caller frees. */
static char *spelled(const char *expression)
{
	const char *open = strrchr(expression, '['), *dots = open ? strstr(open, "..") : NULL;
	const char *close = dots ? strchr(dots, ']') : NULL;
	long first, last;
	char *end;

	if (!close || close[1])
		return rp_strdup(expression);
	first = strtol(open + 1, &end, 0);
	last = strtol(dots + 2, NULL, 0);
	if (end != dots || last < first)
		return rp_strdup(expression);
	return rp_format("%.*s[%ld]@%ld", (int)(open - expression), expression, first,
			 last - first + 1);
}

/* The number that follows "<repeats", else 1; goes to the next element. */
static uint64_t repeats(const char **at)
{
	uint64_t n = 1;

	while (isspace((unsigned char)**at))
		++*at;
	if (strncmp(*at, "<repeats ", 9) == 0) {
		n = strtoull(*at + 9, NULL, 10);
		*at += strcspn(*at, ">");
		*at += **at == '>';
	}
	*at += strspn(*at, ", ");
	return n;
}

static void note(struct extremes *e, unsigned rank, uint64_t at, double value)
{
	if (!e->numbers || value < e->least) {
		e->least = value;
		e->least_rank = rank;
		e->least_at = at;
	}
	if (!e->numbers || value > e->most) {
		e->most = value;
		e->most_rank = rank;
		e->most_at = at;
	}
	e->numbers++;
}

/* False: it is no array of numbers. */
static bool read_array(struct extremes *e, unsigned rank, const char *text)
{
	uint64_t at = 0, nans = 0;

	if (*text++ != '{')
		return false;
	while (*text && *text != '}') {
		char *end;
		double value = strtod(text, &end);
		bool is_nan;

		if (end == text || (*end && !strchr(", }(<", *end)))
			return *text == '.';
		is_nan = isnan(value);
		text = end;
		if (*text == '(')
			text += strcspn(text, ")") + 1;
		for (uint64_t n = repeats(&text); n > 0; n--, at++) {
			if (is_nan)
				nans++;
			else
				note(e, rank, at, value);
		}
	}
	if (nans) {
		char *more =
			rp_format("%s%s%" PRIu64 " of rank %u", e->nan_ranks ? e->nan_ranks : "",
				  e->nan_ranks ? ", " : "", nans, rank);

		free(e->nan_ranks);
		e->nan_ranks = more;
		e->nans += nans;
	}
	return true;
}

static void print_extremes(struct cmd_debug *d, const struct extremes *e)
{
	char *text = e->numbers ? rp_format("min %g (rank %u, element %" PRIu64
					    "), max %g (rank %u, element %" PRIu64 "); ",
					    e->least, e->least_rank, e->least_at, e->most,
					    e->most_rank, e->most_at)
				: rp_strdup("");
	char *all = e->nans ? rp_format("%s%" PRIu64 " NaN: %s", text, e->nans, e->nan_ranks)
			    : rp_format("%sno NaN", text);

	cmd_debug_say(d, "print", all);
	free(text);
	free(all);
}

void cmd_debug_print(struct cmd_debug *d, const struct group_set *set, const char *expression)
{
	char **text = rp_alloc(set->ranks + 1, sizeof(*text)), *gdb = spelled(expression);
	char *quoted = group_mi_quoted(gdb);
	char *command = rp_format("-data-evaluate-expression %s", quoted);
	char *asked = rp_format("print %s", expression);
	struct extremes e = {0};
	bool arrays = true, good = false;

	group_look(&d->group, set);
	group_ask(&d->group, set, command);
	for (unsigned i = 0; i < set->ranks; i++) {
		const struct group_gdb *g = &d->group.gdb[i];
		const char *error = group_gdb_error(g), *value;

		if (!set->has[i])
			continue;
		value = error ? error : group_mi_string(g->answer, "value");
		text[i] = rp_strdup(value ? value : "?");
		good |= !error;
		arrays = arrays && !error && read_array(&e, i, text[i]);
	}
	d->failed |= !good;
	cmd_debug_show(d, asked, set, text, true);
	if (arrays && e.numbers + e.nans > 1)
		print_extremes(d, &e);
	free(e.nan_ranks);
	free(gdb);
	free(quoted);
	free(command);
	free(asked);
}
