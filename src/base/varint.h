/* SPDX-License-Identifier: Apache-2.0 */
/* LEB128 varints and zigzag. Readers check every bound. */
#ifndef RP_VARINT_H
#define RP_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RP_VARINT_MAX 10

static inline size_t rp_varint_put(uint8_t *out, uint64_t v)
{
	size_t n = 0;

	while (v >= 0x80) {
		out[n++] = (uint8_t)v | 0x80;
		v >>= 7;
	}
	out[n++] = (uint8_t)v;
	return n;
}

/* Bytes taken, or 0 if [p, end) does not hold a whole varint of at most 64 bits. */
static inline size_t rp_varint_get(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
	uint64_t x = 0;
	size_t n = 0;

	while (p + n < end && n < RP_VARINT_MAX) {
		uint8_t byte = p[n];

		if (n == RP_VARINT_MAX - 1 && byte > 1)
			return 0;
		x |= (uint64_t)(byte & 0x7f) << (7 * n);
		n++;
		if (!(byte & 0x80)) {
			*v = x;
			return n;
		}
	}
	return 0;
}

/* Reads one after the other. Once one is missing it is bad, and gives 0. */
struct rp_varints {
	const uint8_t *at, *end;
	bool bad;
};

static inline uint64_t rp_varints_next(struct rp_varints *v)
{
	uint64_t value = 0;
	size_t n = v->bad ? 0 : rp_varint_get(v->at, v->end, &value);

	v->bad = v->bad || !n;
	v->at += n;
	return value;
}

static inline uint64_t rp_zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t rp_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

#endif
