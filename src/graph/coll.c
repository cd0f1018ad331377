/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operation is open from the first process that enters to the last that leaves. Where everybody
 * waits for everybody one sum of clocks per group is enough; where it matters who gave what (a
 * root, lower ranks, neighbours) each gift is kept by itself.
 */
#include "graph/coll.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "trace/calls.h"

struct gift {
	unsigned rank, place;
	uint32_t index;
	struct graph_clock *clock; /* NULL: it gave nothing, but it has been here */
};

struct brought {
	unsigned rank, place, side;
	struct graph_hand *hand;
};

struct graph_coll {
	uint32_t comm;
	uint64_t n;
	enum graph_sync sync;
	unsigned entered[2], left; /* by side */
	unsigned expected;
	uint32_t *sum[2];
	struct gift *gift;
	size_t gifts;
	struct brought *brought;
	size_t broughts;
	unsigned *waiting;
	size_t waitings;
};

/*
 * `gives`: a process that contributes no bytes gives nothing. `takes`: a process that names no
 * bytes gets nothing. Which pairs of an Alltoallv exchange nothing is not known, so it counts as
 * none at all.
 */
static const struct kind {
	const char *name;
	enum graph_sync sync;
	bool gives, takes;
} kinds[] = {
	{"barrier", GRAPH_SYNC_ALL, false, false},
	{"bcast", GRAPH_SYNC_FROM_ROOT, true, true},
	{"gather", GRAPH_SYNC_TO_ROOT, true, false},
	{"gatherv", GRAPH_SYNC_TO_ROOT, true, false},
	{"scatter", GRAPH_SYNC_FROM_ROOT, false, true},
	{"scatterv", GRAPH_SYNC_FROM_ROOT, false, true},
	{"allgather", GRAPH_SYNC_ALL, true, false},
	{"allgatherv", GRAPH_SYNC_ALL, true, false},
	{"alltoall", GRAPH_SYNC_ALL, true, true},
	{"allreduce", GRAPH_SYNC_ALL, true, true},
	{"reduce", GRAPH_SYNC_TO_ROOT, true, false},
	{"reduce_scatter_block", GRAPH_SYNC_ALL, true, true},
	{"scan", GRAPH_SYNC_FROM_LOWER, true, true},
	{"exscan", GRAPH_SYNC_FROM_LOWER, true, true},
	{"neighbor_allgather", GRAPH_SYNC_NEIGHBOURS, true, false},
	{"neighbor_allgatherv", GRAPH_SYNC_NEIGHBOURS, true, false},
	{"neighbor_alltoall", GRAPH_SYNC_NEIGHBOURS, true, false},
	{"comm_dup", GRAPH_SYNC_BOTH, false, false},
	{"comm_dup_with_info", GRAPH_SYNC_BOTH, false, false},
	{"comm_idup", GRAPH_SYNC_BOTH, false, false},
	{"comm_idup_with_info", GRAPH_SYNC_BOTH, false, false},
	{"comm_create", GRAPH_SYNC_BOTH, false, false},
	{"comm_create_group", GRAPH_SYNC_BOTH, false, false},
	{"comm_split", GRAPH_SYNC_BOTH, false, false},
	{"comm_split_type", GRAPH_SYNC_BOTH, false, false},
	{"cart_create", GRAPH_SYNC_BOTH, false, false},
	{"cart_sub", GRAPH_SYNC_BOTH, false, false},
	{"graph_create", GRAPH_SYNC_BOTH, false, false},
	{"dist_graph_create", GRAPH_SYNC_BOTH, false, false},
	{"dist_graph_create_adjacent", GRAPH_SYNC_BOTH, false, false},
	{"intercomm_create", GRAPH_SYNC_BOTH, false, false},
	{"intercomm_merge", GRAPH_SYNC_BOTH, false, false},
};

static const struct kind none = {"", GRAPH_SYNC_NONE, false, false};

static bool ends(const char *name, size_t n, const char *suffix)
{
	size_t k = strlen(suffix);

	return n > k && !memcmp(name + n - k, suffix, k);
}

/* MPI_Ibcast_c, MPI_Bcast_init and MPI_Bcast are one kind. */
static const struct kind *find_kind(uint16_t call)
{
	const char *name = trace_call_name(call);
	size_t n;

	if (!strncmp(name, "MPI_", 4))
		name += 4;
	n = strlen(name);
	n -= ends(name, n, "_c") ? 2 : 0;
	n -= ends(name, n, "_init") ? 5 : 0;
	for (int nonblocking = 0; nonblocking <= (*name == 'I' ? 1 : 0); nonblocking++) {
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
			if (strlen(kinds[i].name) == n - (size_t)nonblocking &&
			    !strncasecmp(name + nonblocking, kinds[i].name,
					 n - (size_t)nonblocking))
				return &kinds[i];
		}
	}
	return &none;
}

static const struct kind *kind_of(uint16_t call)
{
	static const struct kind *known[UINT16_MAX + 1];

	if (!known[call])
		known[call] = find_kind(call);
	return known[call];
}

enum graph_sync graph_coll_sync(uint16_t call)
{
	return kind_of(call)->sync;
}

static struct graph_coll *open_coll(struct graph_colls *colls, struct graph_comm_here *here,
				    uint16_t call)
{
	uint64_t n = here->colls++;
	struct graph_coll *coll = rp_map_get(&colls->open, here->comm, n);

	if (coll)
		return coll;
	coll = rp_alloc(1, sizeof(*coll));
	coll->comm = here->comm;
	coll->n = n;
	coll->sync = graph_coll_sync(call);
	coll->expected = here->size + here->remote;
	rp_map_put(&colls->open, here->comm, n, coll);
	return coll;
}

static void add_sum(struct graph_coll *coll, unsigned side, unsigned ranks, unsigned rank,
		    const struct graph_clock_now *now, uint32_t index)
{
	if (!coll->sum[side])
		coll->sum[side] = rp_alloc(ranks, sizeof(*coll->sum[side]));
	graph_clock_max(coll->sum[side], now->entry, ranks);
	coll->sum[side][rank] = index;
}

static void add_gift(struct graph_coll *coll, unsigned rank, unsigned place, uint32_t index,
		     struct graph_clock *clock)
{
	coll->gift = rp_realloc(coll->gift, coll->gifts + 1, sizeof(*coll->gift));
	coll->gift[coll->gifts++] = (struct gift){rank, place, index, clock};
}

bool graph_coll_enter(struct graph_colls *colls, struct graph_comm_here *here, unsigned rank,
		      uint16_t call, int32_t root, uint64_t bytes, struct graph_clock_now *now,
		      uint32_t index, struct graph_coll_part *part)
{
	const struct kind *kind = kind_of(call);
	struct graph_coll *coll = open_coll(colls, here, call);
	unsigned side = here->side;
	bool gives = bytes || !kind->gives;

	*part = (struct graph_coll_part){coll, here, root, gives, bytes || !kind->takes, !bytes};
	coll->entered[side]++;
	switch (coll->sync) {
	case GRAPH_SYNC_NONE:
		return false;
	case GRAPH_SYNC_ALL:
	case GRAPH_SYNC_BOTH:
	case GRAPH_SYNC_TO_ROOT:
		if (gives)
			add_sum(coll, side, colls->ranks, rank, now, index);
		return coll->entered[side] == here->size;
	case GRAPH_SYNC_FROM_ROOT:
		if (root != (int32_t)rank)
			return false;
		break;
	default:
		break;
	}
	add_gift(coll, rank, here->place, index,
		 gives ? graph_clock_share(now, colls->ranks) : NULL);
	return true;
}

static const struct gift *gift_of(const struct graph_coll *coll, unsigned rank)
{
	for (size_t i = 0; i < coll->gifts; i++) {
		if (coll->gift[i].rank == rank)
			return &coll->gift[i];
	}
	return NULL;
}

static bool takes_from(const struct graph_coll_part *part, unsigned rank, unsigned place)
{
	if (part->coll->sync == GRAPH_SYNC_FROM_LOWER)
		return place < part->here->place;
	if (part->coll->sync == GRAPH_SYNC_FROM_ROOT)
		return part->root == (int32_t)rank;
	for (size_t i = 0; i < part->here->neighbours; i++) {
		if (part->here->neighbour[i] == rank)
			return true;
	}
	return false;
}

/* Does this process take anything from that side? */
static bool takes_side(const struct graph_coll_part *part, unsigned rank, unsigned side)
{
	const struct graph_comm_here *here = part->here;

	switch (part->coll->sync) {
	case GRAPH_SYNC_BOTH:
		return true;
	case GRAPH_SYNC_TO_ROOT:
		if (part->root != (int32_t)rank)
			return false;
		break;
	case GRAPH_SYNC_ALL:
		break;
	default:
		return false;
	}
	return here->remote ? side != here->side : side == here->side;
}

void graph_coll_bring(const struct graph_coll_part *part, unsigned rank, struct graph_hand *hand)
{
	struct graph_coll *coll = part->coll;

	if (!part->gives || coll->sync == GRAPH_SYNC_NONE) {
		graph_hand_drop(hand);
		return;
	}
	coll->brought = rp_realloc(coll->brought, coll->broughts + 1, sizeof(*coll->brought));
	coll->brought[coll->broughts++] =
		(struct brought){rank, part->here->place, part->here->side, hand};
}

static bool takes_brought(const struct graph_coll_part *part, unsigned rank,
			  const struct brought *b)
{
	switch (part->coll->sync) {
	case GRAPH_SYNC_ALL:
	case GRAPH_SYNC_BOTH:
	case GRAPH_SYNC_TO_ROOT:
		return takes_side(part, rank, b->side);
	default:
		return b->rank != rank && takes_from(part, b->rank, b->place);
	}
}

bool graph_coll_hand(const struct graph_coll_part *part, unsigned rank, size_t *i,
		     const struct graph_hand **hand)
{
	const struct graph_coll *coll = part->coll;

	while (part->takes && *i < coll->broughts) {
		const struct brought *b = &coll->brought[(*i)++];

		*hand = b->hand;
		if (takes_brought(part, rank, b))
			return true;
	}
	return false;
}

bool graph_coll_is_ready(const struct graph_coll_part *part, unsigned rank)
{
	const struct graph_coll *coll = part->coll;
	const struct graph_comm_here *here = part->here;
	size_t lower = 0;

	if (!part->takes)
		return true;
	for (unsigned side = 0; side < 2; side++) {
		unsigned size = side == here->side ? here->size : here->remote;

		if (takes_side(part, rank, side) && coll->entered[side] < size)
			return false;
	}
	switch (coll->sync) {
	case GRAPH_SYNC_FROM_ROOT:
		return part->root < 0 || part->root == (int32_t)rank ||
		       gift_of(coll, (unsigned)part->root);
	case GRAPH_SYNC_FROM_LOWER:
		for (size_t i = 0; i < coll->gifts; i++)
			lower += coll->gift[i].place < here->place;
		return lower >= here->place;
	case GRAPH_SYNC_NEIGHBOURS:
		for (size_t i = 0; i < here->neighbours; i++) {
			if (!gift_of(coll, here->neighbour[i]))
				return false;
		}
		return true;
	default:
		return true;
	}
}

void graph_coll_wait(struct graph_coll *coll, unsigned rank)
{
	coll->waiting = rp_realloc(coll->waiting, coll->waitings + 1, sizeof(rank));
	coll->waiting[coll->waitings++] = rank;
}

bool graph_coll_wake(struct graph_coll *coll, unsigned *rank)
{
	if (!coll->waitings)
		return false;
	*rank = coll->waiting[--coll->waitings];
	return true;
}

static void close_coll(struct graph_coll *coll)
{
	for (size_t i = 0; i < coll->gifts; i++)
		graph_clock_drop(coll->gift[i].clock);
	for (size_t i = 0; i < coll->broughts; i++)
		graph_hand_drop(coll->brought[i].hand);
	free(coll->gift);
	free(coll->brought);
	free(coll->sum[0]);
	free(coll->sum[1]);
	free(coll->waiting);
	free(coll);
}

static void take(struct graph_clock_now *now, unsigned ranks, unsigned rank, const uint32_t entry[],
		 unsigned from, uint32_t index, uint32_t *known)
{
	if (from != rank && entry[rank] > *known)
		*known = entry[rank];
	graph_clock_learn(now, ranks, entry, from, index);
}

void graph_coll_leave(struct graph_colls *colls, const struct graph_coll_part *part, unsigned rank,
		      struct graph_clock_now *now, uint32_t *known)
{
	struct graph_coll *coll = part->coll;

	*known = 0;
	for (unsigned side = 0; side < 2 && part->takes; side++) {
		const uint32_t *sum = coll->sum[side];

		if (!sum || !takes_side(part, rank, side))
			continue;
		/* Any entry that is news will do to say that there are news. */
		for (unsigned q = 0; q < colls->ranks; q++) {
			if (sum[q] > now->entry[q]) {
				graph_clock_learn(now, colls->ranks, sum, q, sum[q]);
				break;
			}
		}
		*known = sum[rank] > *known ? sum[rank] : *known;
	}
	for (size_t i = 0; i < coll->gifts && part->takes; i++) {
		const struct gift *gift = &coll->gift[i];

		if (gift->clock && gift->rank != rank && takes_from(part, gift->rank, gift->place))
			take(now, colls->ranks, rank, gift->clock->entry, gift->rank, gift->index,
			     known);
	}
	coll->left++;
	if (coll->left >= coll->expected && coll->left == coll->entered[0] + coll->entered[1]) {
		rp_map_remove(&colls->open, coll->comm, coll->n);
		close_coll(coll);
	}
}

void graph_colls_free(struct graph_colls *colls)
{
	struct graph_coll *coll;

	for (size_t place = 0; (coll = rp_map_next(&colls->open, &place));)
		close_coll(coll);
	rp_map_free(&colls->open);
}
