/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes numbers in few bits: a binary range coder. Writer and reader learn its probabilities on
 * the way, in the same manner. One function does both: when decoding, the value passed in does not
 * matter. A coded piece needs no length: its end follows from the state that both sides are in. No
 * malloc: this code runs inside the user's program.
 */
#ifndef TRACE_CODER_H
#define TRACE_CODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: nothing is known of the bit. */
struct trace_bit {
	int16_t odds;  /* of a 1, of 65536, less a half */
	uint16_t seen; /* up to a limit */
};

#define TRACE_NUMBER_CLASSES 16
#define TRACE_NUMBER_LEARNT 3 /* bits below the highest that are learnt, not just written */

/* Numbers of one sort: how long they are, and the bits of the short ones. */
struct trace_number {
	struct trace_bit longer[TRACE_NUMBER_CLASSES];
	struct trace_bit bit[TRACE_NUMBER_LEARNT][1 << TRACE_NUMBER_LEARNT];
};

struct trace_coder {
	uint32_t low, high;
	uint8_t *out;       /* NULL: decoding */
	const uint8_t *in;  /* zeros follow behind its end */
	const uint8_t *end; /* of `in` */
	uint32_t window;    /* of `in`: the four bytes from `bytes` on */
	size_t bytes;       /* written, or taken for good */
};

void trace_coder_to(struct trace_coder *c, uint8_t *out);
void trace_coder_from(struct trace_coder *c, const uint8_t *in, const uint8_t *end);

/* The piece is over; c->bytes is how long it is. */
void trace_coder_finish(struct trace_coder *c);

/* Each takes at most six bits, and returns the value that was put. */
bool trace_coder_bit(struct trace_coder *c, struct trace_bit *b, bool bit);

/* The low n <= 16 bits of v as they are. */
uint32_t trace_coder_plain(struct trace_coder *c, uint32_t v, unsigned int n);

/* v < UINT64_MAX. When decoding, UINT64_MAX means that there can be no such number. */
uint64_t trace_coder_number(struct trace_coder *c, struct trace_number *of, uint64_t v);

#endif
