/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that look like chance and follow from a seed. Not for secrets. */
#ifndef HOOK_RANDOM_H
#define HOOK_RANDOM_H

#include <stdint.h>

/* Spreads what is in few bits over all of them; the highest are the best. */
static inline uint64_t hook_random_spread(uint64_t x)
{
	return x * 0x9e3779b97f4a7c15ull;
}

/* The next one (xorshift64). Invariant: a state that is not 0 never becomes 0. */
static inline uint64_t hook_random_next(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x;
}

#endif
