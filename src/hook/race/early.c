/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of the heap that were allocated before the first thread was made, and by whom: nothing
 * counts yet, but threads will mostly race for these. There is room for so many; of those that
 * share a set, the smallest one is forgotten. Until the first thread there is only one; in a
 * program that is not replayed several may get here, and what they note is never read.
 */
#include "hook/race/runtime.h"

#define SETS (1u << 14)
#define WAYS 4u

static struct {
	uintptr_t address;
	size_t size;
	const void *site;
	uint64_t number;
} block[SETS][WAYS];

bool runtime_early = true;

static uint32_t set_of(uintptr_t address)
{
	return (uint32_t)((address >> 4) * 0x9e3779b97f4a7c15ull >> 50);
}

void runtime_early_block(const void *p, size_t n, const void *site)
{
	uintptr_t address = (uintptr_t)p;
	uint32_t set = set_of(address), at = 0;

	for (uint32_t i = 0; i < WAYS; i++) {
		if (block[set][i].address == address) {
			at = i;
			break;
		}
		if (block[set][i].size < block[set][at].size)
			at = i;
	}
	block[set][at].address = address;
	block[set][at].size = n;
	block[set][at].site = site;
	block[set][at].number = runtime_block_number();
}

void runtime_early_gone(const void *p)
{
	uint32_t set = set_of((uintptr_t)p);

	for (uint32_t i = 0; i < WAYS; i++) {
		if (block[set][i].address == (uintptr_t)p)
			block[set][i].address = block[set][i].size = 0;
	}
}

void runtime_early_end(void)
{
	runtime_early = false;
	for (uint32_t i = 0; runtime_watches && i < SETS * WAYS; i++) {
		uint32_t set = i / WAYS, way = i % WAYS;

		if (block[set][way].address)
			runtime_watch_block((const void *)block[set][way].address,
					    block[set][way].size, block[set][way].site,
					    block[set][way].number);
	}
}
