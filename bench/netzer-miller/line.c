/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of a collection of line segments intersect: every node knows all segments and tries its
 * share of the pairs; what they find is summed up along a tree.
 *
 * Races: none. The type of a message tells the level of the tree, and on each level a node has one
 * child: of every type it gets one message.
 */
#include "nx.h"

#define FOUND 1 /* + level */
#define EXTENT 65536

struct segment {
	int64_t x1, y1, x2, y2;
};

struct found {
	long pairs;
	uint64_t which;
};

/* On which side of the line through s is the point: exact, since coordinates are small. */
static int side(const struct segment *s, int64_t x, int64_t y)
{
	int64_t turn = (s->x2 - s->x1) * (y - s->y1) - (s->y2 - s->y1) * (x - s->x1);

	return (turn > 0) - (turn < 0);
}

static int intersect(const struct segment *a, const struct segment *b)
{
	return side(a, b->x1, b->y1) * side(a, b->x2, b->y2) <= 0 &&
	       side(b, a->x1, a->y1) * side(b, a->x2, a->y2) <= 0;
}

static void add(void *mine, const void *theirs)
{
	const struct found *other = theirs;
	struct found *sum = mine;

	sum->pairs += other->pairs;
	sum->which += other->which;
}

static void solve(int size)
{
	struct segment *segments = nx_alloc((size_t)size, sizeof(*segments));
	struct found sum = {0, 0}, other;

	for (int i = 0; i < size; i++) {
		segments[i].x1 = nx_random() % EXTENT;
		segments[i].y1 = nx_random() % EXTENT;
		segments[i].x2 = nx_random() % EXTENT;
		segments[i].y2 = nx_random() % EXTENT;
	}
	for (int i = nx_me; i < size; i += nx_nodes)
		for (int j = i + 1; j < size; j++)
			if (intersect(&segments[i], &segments[j])) {
				sum.pairs++;
				sum.which += (uint64_t)i * 0x9e3779b97f4a7c15ull ^ (uint64_t)j
											   << 20;
			}
	nx_join(FOUND, &sum, &other, sizeof(sum), 0, add);
	if (nx_me == 0)
		nx_result("line %d: %ld pairs, %016llx", size, sum.pairs,
			  (unsigned long long)sum.which);
	free(segments);
}

static const struct nx_program nx_program = {1000, solve};
