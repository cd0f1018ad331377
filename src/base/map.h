/* SPDX-License-Identifier: Apache-2.0 */
/* A map from pairs of numbers to pointers, for the tool. All zero is an empty one. */
#ifndef RP_MAP_H
#define RP_MAP_H

#include <stddef.h>
#include <stdint.h>

struct rp_map_slot {
	uint64_t a, b;
	void *value; /* NULL: the slot is free */
};

struct rp_map {
	struct rp_map_slot *slot;
	size_t size; /* a power of two, or 0 */
	size_t used;
};

/* NULL if it is not there. */
void *rp_map_get(const struct rp_map *map, uint64_t a, uint64_t b);

/* value must not be NULL; what was there before is replaced. */
void rp_map_put(struct rp_map *map, uint64_t a, uint64_t b, void *value);

/* What was there, or NULL. */
void *rp_map_remove(struct rp_map *map, uint64_t a, uint64_t b);

/* Each value once, in no particular order: start with *place = 0; NULL at the end. */
void *rp_map_next(const struct rp_map *map, size_t *place);

/* The values are the caller's. */
void rp_map_free(struct rp_map *map);

#endif
