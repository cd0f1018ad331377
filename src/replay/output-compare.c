/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the first difference of two outputs, and shows it. The text is compared as far as it was
 * kept, and blocks behind that by their hashes.
 */
#include "replay/output-compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "replay/output.h"

#define LINE_SHOWN 96 /* bytes of a line */
#define LINE_BEFORE 32

const char *const replay_output_name[2] = {"standard output", "standard error"};

static bool differs_in_text(const struct trace_output *a, const struct trace_output *b, unsigned i,
			    struct replay_output_difference *d)
{
	size_t n = a->kept[i] < b->kept[i] ? a->kept[i] : b->kept[i];

	for (size_t at = 0; at < n; at++) {
		if (a->text[i][at] != b->text[i][at]) {
			*d = (struct replay_output_difference){.which = i, .at = at};
			return true;
		}
	}
	return false;
}

static bool differs_in_blocks(const struct trace_output *a, const struct trace_output *b,
			      unsigned i, struct replay_output_difference *d)
{
	size_t n = a->blocks[i] < b->blocks[i] ? a->blocks[i] : b->blocks[i];
	size_t k = 0;

	while (k < n && a->block[i][k] == b->block[i][k])
		k++;
	*d = (struct replay_output_difference){.which = i,
					       .at = TRACE_OUTPUT_TEXT +
						     (uint64_t)k * TRACE_OUTPUT_BLOCK,
					       .is_block = true};
	return k < n || (a->length[i] == b->length[i] && a->tail[i] != b->tail[i]);
}

static bool differs_in_length(const struct trace_output *a, const struct trace_output *b,
			      unsigned i, struct replay_output_allowance may,
			      struct replay_output_difference *d)
{
	bool shorter = b->length[i] < a->length[i];

	*d = (struct replay_output_difference){.which = i,
					       .at = shorter ? b->length[i] : a->length[i]};
	if (a->length[i] == b->length[i] || (a->flags | b->flags) & TRACE_OUTPUT_LOST)
		return false;
	return shorter ? !may.shorter : !may.longer;
}

bool replay_output_differ(const struct trace_output *a, const struct trace_output *b,
			  struct replay_output_allowance may, struct replay_output_difference *d)
{
	may.longer = may.longer || a->flags & TRACE_OUTPUT_ALIVE;
	for (unsigned i = 0; i < 2; i++) {
		if (differs_in_text(a, b, i, d) || differs_in_blocks(a, b, i, d) ||
		    differs_in_length(a, b, i, may, d))
			return true;
	}
	return false;
}

static uint64_t line_of(const struct trace_output *o, const struct replay_output_difference *d,
			size_t *start)
{
	uint64_t line = 1;

	*start = 0;
	for (size_t at = 0; at < d->at; at++) {
		if (o->text[d->which][at] != '\n')
			continue;
		line++;
		*start = at + 1;
	}
	return line;
}

/* The line that begins at `start`, around the byte `at`, fit for a terminal; the caller frees. */
static char *show_line(const struct trace_output *o, const struct replay_output_difference *d,
		       size_t start)
{
	const char *text = o->text[d->which];
	size_t from = d->at - start > LINE_SHOWN - LINE_BEFORE ? d->at - LINE_BEFORE : start;
	size_t end = from, n = 0, kept = o->kept[d->which];
	char *out;

	while (end < kept && text[end] != '\n' && end - from < LINE_SHOWN)
		end++;
	if (end == from && end == kept)
		return rp_strdup("(nothing more)");
	out = rp_alloc(4 * (end - from) + 16, 1);
	if (from > start)
		n += (size_t)sprintf(out, "…");
	for (size_t i = from; i < end; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < ' ' || c == 0x7f)
			n += (size_t)sprintf(out + n, "\\x%02x", c);
		else
			out[n++] = (char)c;
	}
	if (end < kept && text[end] != '\n')
		strcpy(out + n, "…");
	return out;
}

static void say_lines(const struct trace_output *a, const struct trace_output *b,
		      const struct replay_output_difference *d, size_t start)
{
	char *recorded = show_line(a, d, start), *found = show_line(b, d, start);

	rp_say("  recorded: %s", recorded);
	rp_say("  found:    %s", found);
	free(recorded);
	free(found);
}

void replay_output_say_difference(const struct replay_front *f, size_t rank,
				  const struct trace_output *a, const struct trace_output *b,
				  const struct replay_output_difference *d, bool first)
{
	const char *what = first ? "replay diverged: " : "  ";
	const struct trace_output *longer = a->kept[d->which] > b->kept[d->which] ? a : b;
	size_t start;

	replay_output_end_line(f);
	if (d->is_block) {
		rp_say("%srank %zu printed something else than recorded: %s differs within %u "
		       "bytes from byte %lu on",
		       what, rank, replay_output_name[d->which], TRACE_OUTPUT_BLOCK,
		       (unsigned long)d->at);
	} else if (d->at > longer->kept[d->which]) {
		rp_say("%srank %zu printed %lu bytes on %s; the recording has %lu", what, rank,
		       (unsigned long)b->length[d->which], replay_output_name[d->which],
		       (unsigned long)a->length[d->which]);
	} else {
		rp_say("%srank %zu printed something else than recorded: %s, line %lu, byte %lu",
		       what, rank, replay_output_name[d->which],
		       (unsigned long)line_of(longer, d, &start), (unsigned long)d->at);
		say_lines(a, b, d, start);
	}
}
