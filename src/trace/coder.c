/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The range [low, high] holds all that could still follow; a bit divides it by its odds. Bytes that
 * low and high share are finished. Invariant: low and high differ in their first byte, so neither
 * part of the range is empty.
 */
#include "trace/coder.h"

#define FIRST_BYTE 0xff000000u
#define SEEN_MOST 24
#define ODDS_LEAST 1024
#define HALF 32768

void trace_coder_to(struct trace_coder *c, uint8_t *out)
{
	*c = (struct trace_coder){.high = UINT32_MAX, .out = out};
}

static uint8_t byte_at(const struct trace_coder *c, size_t i)
{
	return i < (size_t)(c->end - c->in) ? c->in[i] : 0;
}

void trace_coder_from(struct trace_coder *c, const uint8_t *in, const uint8_t *end)
{
	*c = (struct trace_coder){.high = UINT32_MAX, .in = in, .end = end};
	for (size_t i = 0; i < 4; i++)
		c->window = c->window << 8 | byte_at(c, i);
}

static void shift(struct trace_coder *c)
{
	if (c->out)
		c->out[c->bytes] = (uint8_t)(c->high >> 24);
	else
		c->window = c->window << 8 | byte_at(c, c->bytes + 4);
	c->bytes++;
	c->low <<= 8;
	c->high = c->high << 8 | 0xff;
}

/* As many bytes as it takes for any that follow to stay inside of the range. */
void trace_coder_finish(struct trace_coder *c)
{
	uint32_t rest = UINT32_MAX;
	uint64_t first = 0;
	unsigned int n = 0;

	while (first + rest > c->high || first < c->low) {
		rest >>= 8;
		n++;
		first = ((uint64_t)c->low + rest) & ~(uint64_t)rest;
	}
	for (unsigned int i = 0; i < n && c->out; i++)
		c->out[c->bytes + i] = (uint8_t)(first >> (24 - 8 * i));
	c->bytes += n;
}

static bool divide(struct trace_coder *c, uint32_t odds, bool bit)
{
	uint32_t middle = c->low + (uint32_t)(((uint64_t)(c->high - c->low) * odds) >> 16);

	if (!c->out)
		bit = c->window <= middle;
	if (bit)
		c->high = middle;
	else
		c->low = middle + 1;
	while (!((c->low ^ c->high) & FIRST_BYTE))
		shift(c);
	return bit;
}

/* The first times count most: a program may have few operations. */
static void learn(struct trace_bit *b, bool bit)
{
	static const uint16_t share[SEEN_MOST + 1] = {
		40960, 25206, 18204, 14247, 11703, 9930, 8623, 7620, 6827, 6183, 5650, 5201, 4819,
		4489,  4201,  3948,  3724,  3523,  3344, 3181, 3034, 2900, 2777, 2664, 2560};
	int64_t odds = b->odds + HALF;

	odds += ((bit ? 2 * HALF : 0) - odds) * share[b->seen] / (2 * HALF);
	if (odds < ODDS_LEAST)
		odds = ODDS_LEAST;
	if (odds > 2 * HALF - ODDS_LEAST)
		odds = 2 * HALF - ODDS_LEAST;
	b->odds = (int16_t)(odds - HALF);
	if (b->seen < SEEN_MOST)
		b->seen++;
}

bool trace_coder_bit(struct trace_coder *c, struct trace_bit *b, bool bit)
{
	bit = divide(c, (uint32_t)(b->odds + HALF), bit);
	learn(b, bit);
	return bit;
}

uint32_t trace_coder_plain(struct trace_coder *c, uint32_t v, unsigned int n)
{
	uint32_t out = 0;

	while (n--)
		out = out << 1 | divide(c, HALF, v >> n & 1);
	return out;
}

/* v + 1 has so many bits below its highest one. */
static unsigned int length_of(struct trace_coder *c, struct trace_number *of, uint64_t v)
{
	unsigned int want = c->out ? 63 - (unsigned int)__builtin_clzll(v + 1) : 0, n = 0;

	while (n < 64) {
		unsigned int i = n < TRACE_NUMBER_CLASSES ? n : TRACE_NUMBER_CLASSES - 1;

		if (!trace_coder_bit(c, &of->longer[i], n < want))
			break;
		n++;
	}
	return n;
}

uint64_t trace_coder_number(struct trace_coder *c, struct trace_number *of, uint64_t v)
{
	unsigned int n = length_of(c, of, v);
	uint64_t out = 1;

	if (n == 64)
		return UINT64_MAX;
	for (unsigned int i = n; i--;) {
		bool bit = (v + 1) >> i & 1;

		if (n <= TRACE_NUMBER_LEARNT)
			bit = trace_coder_bit(c, &of->bit[n - 1][out], bit);
		else
			bit = divide(c, HALF, bit);
		out = out << 1 | bit;
	}
	return out - 1;
}
