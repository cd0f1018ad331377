/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash-2-4 with 128 bits (Aumasson and Bernstein): a short message authentication code. Without
 * the key, nobody can make the code of another text.
 */
#ifndef RP_SIPHASH_H
#define RP_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

#define RP_SIPHASH_KEY 16

void rp_siphash(const unsigned char key[RP_SIPHASH_KEY], const void *text, size_t n,
		uint64_t code[2]);

#endif
