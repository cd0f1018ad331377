/* SPDX-License-Identifier: Apache-2.0 */
/* Vector clocks: as long as they need to be. Memory of clocks that end is used by the next ones. */
#include <string.h>

#include "race/inner.h"

#define LEAST 8u
#define SIZES 8 /* LEAST << 7 is more than RACE_MOST_THREADS */

_Static_assert(LEAST << (SIZES - 1) >= RACE_MOST_THREADS, "a clock of all threads has a size");

struct unused {
	struct unused *next;
};

static struct unused *unused[SIZES];
static int lock;

static unsigned size_of(uint32_t room)
{
	unsigned k = 0;

	while (LEAST << k < room)
		k++;
	return k;
}

static void give_back(uint32_t *at, uint32_t room)
{
	unsigned k = size_of(room);
	struct unused *u = (struct unused *)at;

	if (!at)
		return;
	race_lock(&lock);
	u->next = unused[k];
	unused[k] = u;
	race_unlock(&lock);
}

static bool reserve(struct race_clock *c, uint32_t entries)
{
	unsigned k = size_of(entries);
	uint32_t room = LEAST << k, *at;

	if (entries <= c->room)
		return true;
	race_lock(&lock);
	at = (uint32_t *)unused[k];
	if (at)
		unused[k] = unused[k]->next;
	race_unlock(&lock);
	if (!at)
		at = race_arena_alloc(room * sizeof(*at));
	if (!at)
		return false;
	memset(at, 0, room * sizeof(*at));
	if (c->at)
		memcpy(at, c->at, c->room * sizeof(*at));
	give_back(c->at, c->room);
	c->at = at;
	c->room = room;
	return true;
}

bool race_clock_has(const struct race_clock *c, const struct race_clock *other)
{
	for (uint32_t i = 0; i < other->room; i++) {
		if (other->at[i] > race_clock_of(c, i))
			return false;
	}
	return true;
}

bool race_clock_join(struct race_clock *to, const struct race_clock *from)
{
	if (!reserve(to, from->room))
		return false;
	for (uint32_t i = 0; i < from->room; i++) {
		if (from->at[i] > to->at[i])
			to->at[i] = from->at[i];
	}
	return true;
}

bool race_clock_set(struct race_clock *to, uint32_t slot, uint32_t value)
{
	if (!reserve(to, slot + 1))
		return false;
	to->at[slot] = value;
	return true;
}

void race_clock_clear(struct race_clock *c)
{
	give_back(c->at, c->room);
	*c = (struct race_clock){0};
}

void race_clock_open(void)
{
	memset(unused, 0, sizeof(unused));
}
