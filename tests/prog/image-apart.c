/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread with large blocks of which it changes little at a time, in ways that do and do not
 * write: image-apart STEPS [MiB]. With a size, every second page of its blocks is never touched,
 * and only the last block changes. Prints a hash of all of it now and then. Exit status 3.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE 4096ul
#define BLOCKS 3
#define OFTEN 20 /* steps from one line to the next */

static unsigned char *block[BLOCKS];
static size_t bytes = 8ul << 20;
static uint32_t step = 1; /* pages from one that is touched to the next */

static uint32_t random_below(uint32_t n)
{
	static uint64_t x = 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (uint32_t)(x >> 32) % n;
}

static uint64_t hash(void)
{
	uint64_t h = 7;

	for (int i = 0; i < BLOCKS; i++) {
		const uint64_t *word = (const uint64_t *)block[i];

		for (size_t k = 0; k < bytes / sizeof(*word); k++)
			h = (h ^ word[k]) * 0x9e3779b97f4a7c15ul;
	}
	return h;
}

/* A whole page of the block, as malloc has placed it. */
static unsigned char *page_of(unsigned char *p, uint32_t number)
{
	return (unsigned char *)(((uintptr_t)p + PAGE - 1) & -PAGE) + number * PAGE;
}

static void change(unsigned char *p)
{
	unsigned char *page = page_of(p, random_below((uint32_t)(bytes / PAGE / step) - 2) * step);
	struct timespec t;

	switch (random_below(8)) {
	case 0: /* what an image before has is gone */
		madvise(page, PAGE, MADV_DONTNEED);
		break;
	case 1: /* zero again, but written */
		memset(page, 0, PAGE);
		break;
	case 2: /* comes to be there by a read */
		madvise(page, PAGE, MADV_DONTNEED);
		page[1] += page[0];
		break;
	case 3: /* for a while it cannot be written */
		mprotect(page, PAGE, PROT_READ);
		clock_gettime(CLOCK_MONOTONIC, &t); /* images are taken at calls */
		mprotect(page, PAGE, PROT_READ | PROT_WRITE);
		break;
	default:
		page[random_below(PAGE)]++;
	}
	clock_gettime(CLOCK_MONOTONIC, &t);
}

static unsigned char *make_block(void)
{
	unsigned char *p = calloc(1, bytes);

	if (!p)
		exit(1);
	return p;
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 400;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 2) {
		bytes = (size_t)atol(argv[2]) << 20;
		step = 2;
	}
	for (int i = 0; i < BLOCKS; i++) {
		block[i] = make_block();
		/* Every fourth page stays zero: half of these are touched. */
		for (size_t k = 0; k < bytes / PAGE / step - 1; k++)
			if (k % 4 || k % 8 == 0)
				memset(page_of(block[i], (uint32_t)k * step),
				       k % 4 ? (int)k | 1 : 0, PAGE);
	}
	for (int i = 1; i <= steps; i++) {
		for (int k = step == 1 ? 0 : BLOCKS - 1; k < BLOCKS; k++)
			change(block[k]);
		if (i % 100 == 0 && step == 1) { /* another block, with other pages */
			free(block[i / 100 % BLOCKS]);
			block[i / 100 % BLOCKS] = make_block();
			memset(block[i / 100 % BLOCKS], i & 255, bytes);
		}
		if (i % OFTEN == 0)
			printf("%d %016lx\n", i, (unsigned long)hash());
	}
	return 3;
}
