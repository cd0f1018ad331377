/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processor can do, as one number, and its name. What libc chose by that when the process
 * began stays in an image, and so does the size of its registers in the frames of signals. Not part
 * of the number is what may differ between the cores of one machine. No libc, no allocation.
 */
#ifndef CKPT_PROCESSOR_H
#define CKPT_PROCESSOR_H

#include <cpuid.h>
#include <stdint.h>

#define CKPT_PROCESSOR_BYTES 64

/* Of leaf 7, edx: instructions, and not what keeps kernels from being spied on. */
#define CKPT_PROCESSOR_EDX 0x03c1411cu

static inline void ckpt_processor_mix(uint64_t *hash, uint32_t value)
{
	*hash = (*hash ^ value) * 1099511628211ull;
}

static inline uint64_t ckpt_processor_features(void)
{
	uint64_t hash = 14695981039346656037ull;
	uint32_t a, b, c, d;

	__cpuid(0, a, b, c, d);
	ckpt_processor_mix(&hash, b);
	ckpt_processor_mix(&hash, c);
	ckpt_processor_mix(&hash, d);
	__cpuid(1, a, b, c, d);
	ckpt_processor_mix(&hash, c);
	ckpt_processor_mix(&hash, d);
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
		ckpt_processor_mix(&hash, b);
		ckpt_processor_mix(&hash, c);
		ckpt_processor_mix(&hash, d & CKPT_PROCESSOR_EDX);
	}
	if (__get_cpuid_count(13, 0, &a, &b, &c, &d)) {
		ckpt_processor_mix(&hash, a);
		ckpt_processor_mix(&hash, b); /* bytes of all registers */
		ckpt_processor_mix(&hash, d);
	}
	if (__get_cpuid(0x80000001, &a, &b, &c, &d)) {
		ckpt_processor_mix(&hash, c);
		ckpt_processor_mix(&hash, d);
	}
	return hash;
}

/* As the manufacturer calls it; empty if it does not tell. */
static inline void ckpt_processor_name(char out[CKPT_PROCESSOR_BYTES])
{
	uint32_t word[4];

	for (int i = 0; i < CKPT_PROCESSOR_BYTES; i++)
		out[i] = 0;
	for (uint32_t leaf = 0; leaf < 3; leaf++) {
		if (!__get_cpuid(0x80000002 + leaf, &word[0], &word[1], &word[2], &word[3]))
			return;
		for (uint32_t i = 0; i < 16; i++)
			out[16 * leaf + i] = (char)(word[i / 4] >> 8 * (i % 4));
	}
}

#endif
