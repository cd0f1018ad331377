/* SPDX-License-Identifier: Apache-2.0 */
#include "base/siphash.h"

#include <endian.h>
#include <string.h>

static uint64_t load(const unsigned char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return le64toh(word);
}

static uint64_t turned(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static void mix(uint64_t v[4], int rounds)
{
	while (rounds-- > 0) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = turned(v[1], 13) ^ v[0];
		v[3] = turned(v[3], 16) ^ v[2];
		v[0] = turned(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = turned(v[1], 17) ^ v[2];
		v[3] = turned(v[3], 21) ^ v[0];
		v[2] = turned(v[2], 32);
	}
}

static void absorb(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	mix(v, 2);
	v[0] ^= word;
}

void rp_siphash(const unsigned char key[RP_SIPHASH_KEY], const void *text, size_t n,
		uint64_t code[2])
{
	const unsigned char *p = text;
	uint64_t k0 = load(key), k1 = load(key + 8);
	uint64_t v[4] = {k0 ^ 0x736f6d6570736575ull, k1 ^ 0x646f72616e646f6dull ^ 0xee,
			 k0 ^ 0x6c7967656e657261ull, k1 ^ 0x7465646279746573ull};
	unsigned char last[8] = {0};
	size_t whole = n - n % 8;

	for (size_t i = 0; i < whole; i += 8)
		absorb(v, load(p + i));
	memcpy(last, p + whole, n - whole);
	last[7] = (unsigned char)n;
	absorb(v, load(last));
	v[2] ^= 0xee;
	mix(v, 4);
	code[0] = v[0] ^ v[1] ^ v[2] ^ v[3];
	v[1] ^= 0xdd;
	mix(v, 4);
	code[1] = v[0] ^ v[1] ^ v[2] ^ v[3];
}
