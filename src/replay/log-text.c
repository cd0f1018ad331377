/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a message held. Of what type that was is not known to a log: it is shown as bytes, and as
 * the numbers that these could be.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/log.h"

#define BYTES 32
#define NUMBERS 8

static void add(char **text, char *more)
{
	char *both = rp_format("%s%s", *text, more);

	free(*text);
	free(more);
	*text = both;
}

static void add_numbers(char **text, const uint8_t *data, uint64_t bytes, size_t size,
			const char *type)
{
	size_t n = bytes / size < NUMBERS ? bytes / size : NUMBERS;

	if (bytes % size || !bytes)
		return;
	add(text, rp_format("\n    as %s:", type));
	for (size_t i = 0; i < n; i++) {
		int32_t whole;
		double real;

		memcpy(&whole, data + i * size, sizeof(whole));
		if (size == sizeof(real))
			memcpy(&real, data + i * size, sizeof(real));
		add(text,
		    size == sizeof(real) ? rp_format(" %g", real) : rp_format(" %" PRId32, whole));
	}
	if (bytes / size > n)
		add(text, rp_strdup(" ..."));
}

char *replay_log_text(const struct trace_log_rec *rec)
{
	char *text = rp_format("%" PRIu64 " bytes:", rec->bytes);

	for (size_t i = 0; i < rec->bytes && i < BYTES; i++)
		add(&text, rp_format(" %02x", rec->data[i]));
	if (rec->bytes > BYTES)
		add(&text, rp_strdup(" ..."));
	add_numbers(&text, rec->data, rec->bytes, sizeof(int32_t), "int");
	add_numbers(&text, rec->data, rec->bytes, sizeof(double), "double");
	return text;
}
