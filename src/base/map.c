/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing with linear probing. Invariant: no slot between the home of a key and its slot is
 * free. Removal restores this by moving later keys back, so there are no marks of removed keys.
 */
#include "base/map.h"

#include <stdlib.h>

#include "base/mem.h"

static size_t home(const struct rp_map *map, uint64_t a, uint64_t b)
{
	uint64_t x = (a ^ (b << 32 | b >> 32)) * 0x9e3779b97f4a7c15ull;

	x ^= x >> 29;
	x = (x ^ b) * 0xbf58476d1ce4e5b9ull;
	return (size_t)(x ^ x >> 32) & (map->size - 1);
}

static size_t find(const struct rp_map *map, uint64_t a, uint64_t b)
{
	size_t i = home(map, a, b);

	while (map->slot[i].value && (map->slot[i].a != a || map->slot[i].b != b))
		i = (i + 1) & (map->size - 1);
	return i;
}

void *rp_map_get(const struct rp_map *map, uint64_t a, uint64_t b)
{
	return map->size ? map->slot[find(map, a, b)].value : NULL;
}

static void grow(struct rp_map *map)
{
	struct rp_map old = *map;

	map->size = old.size ? old.size * 2 : 16;
	map->slot = rp_alloc(map->size, sizeof(*map->slot));
	for (size_t i = 0; i < old.size; i++) {
		if (old.slot[i].value)
			map->slot[find(map, old.slot[i].a, old.slot[i].b)] = old.slot[i];
	}
	free(old.slot);
}

void rp_map_put(struct rp_map *map, uint64_t a, uint64_t b, void *value)
{
	size_t i;

	if ((map->used + 1) * 3 > map->size * 2)
		grow(map);
	i = find(map, a, b);
	map->used += !map->slot[i].value;
	map->slot[i] = (struct rp_map_slot){a, b, value};
}

void *rp_map_remove(struct rp_map *map, uint64_t a, uint64_t b)
{
	size_t mask = map->size - 1, i, k;
	void *value;

	if (!map->size)
		return NULL;
	i = find(map, a, b);
	value = map->slot[i].value;
	if (!value)
		return NULL;
	map->used--;
	for (k = (i + 1) & mask; map->slot[k].value; k = (k + 1) & mask) {
		size_t at = home(map, map->slot[k].a, map->slot[k].b);

		if (((k - at) & mask) >= ((k - i) & mask)) {
			map->slot[i] = map->slot[k];
			i = k;
		}
	}
	map->slot[i].value = NULL;
	return value;
}

void *rp_map_next(const struct rp_map *map, size_t *place)
{
	while (*place < map->size) {
		void *value = map->slot[(*place)++].value;

		if (value)
			return value;
	}
	return NULL;
}

void rp_map_free(struct rp_map *map)
{
	free(map->slot);
	*map = (struct rp_map){0};
}
